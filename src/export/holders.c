// SPDX-License-Identifier: MIT
#include "export/holders.h"

void holders_event(struct holders *h, const struct event *ev)
{
	h->going = ev->kind == EV_FUTEX ? ev->futex.tid : ev->kind == EV_KLOCK ? ev->klock.tid : 0;
}

/* This sign decides who held the lock since the one before. */
static void holders_settle(struct holders *h, const struct seen *seen)
{
	uint64_t *place = map_get(&h->by_lock, seen->lock);
	struct holder_wait *w = place && *place ? &h->waits.v[*place - 1] : NULL;

	if (w)
		w->holder = chain_holder_between(&w->sign, seen);
	if (place)
		*place = 0;
}

/* The slot for a thread's next wait: it overwrites the last but one. */
static size_t place_for(struct holders *h, uint32_t tid)
{
	bool fresh;
	uint64_t *place = map_put(&h->by_tid, tid, &fresh), *of;

	if (fresh) {
		vec_add(&h->waits);
		vec_add(&h->waits);
		*place = h->waits.n - 1;
		return *place;
	}
	*place = ((*place - 1) ^ 1) + 1;
	of = map_get(&h->by_lock, h->waits.v[*place - 1].sign.lock);
	if (of && *of == *place)
		*of = 0;
	return *place;
}

void holders_seen(struct holders *h, const struct seen *seen)
{
	size_t place;

	holders_settle(h, seen);
	if (!h->going)
		return;
	place = place_for(h, h->going);
	h->waits.v[place - 1] = (struct holder_wait){
		.sign = *seen,
		.holder = chain_holder_between(seen, NULL),
	};
	*map_put(&h->by_lock, seen->lock, NULL) = place;
}

uint32_t holders_interval(const struct holders *h, const struct interval *iv)
{
	uint64_t *place = map_get(&h->by_tid, iv->thread->tid);
	const struct holder_wait *w = place ? &h->waits.v[*place - 1] : NULL;

	/* The later of the two that had begun by then. */
	if (w && w->sign.ts > iv->start)
		w = &h->waits.v[(*place - 1) ^ 1];
	if (!w || !w->sign.ts || w->sign.ts > iv->start || w->sign.lock + 1 != iv->lock)
		return 0;
	return w->holder == iv->thread->index + 1 ? 0 : w->holder;
}

void holders_done(struct holders *h)
{
	vec_done(&h->waits);
	map_done(&h->by_tid);
	map_done(&h->by_lock);
}
