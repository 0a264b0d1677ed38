// SPDX-License-Identifier: MIT
/* The rule for who holds a lock between two signs of it is the model's: chain_holder_between(). */
#include "query/holds.h"

#include <stdlib.h>

#include "model/parts.h"
#include "query/sums.h"

void holds_cut(const struct columns *c, uint32_t lock, uint32_t waiter, uint64_t from, uint64_t to,
	       void (*fn)(void *arg, const struct held_piece *p), void *arg)
{
	size_t n, lo = 0, hi;
	const struct seen *seen = columns_seen(c, lock, &n), *before;

	for (hi = n; lo < hi;) {
		size_t mid = lo + (hi - lo) / 2;

		if (seen[mid].ts <= from)
			lo = mid + 1;
		else
			hi = mid;
	}
	before = lo ? &seen[lo - 1] : NULL;
	while (from < to) {
		const struct seen *next = lo < n && seen[lo].ts <= to ? &seen[lo] : NULL;
		struct held_piece p = {from, next ? next->ts : to, waiter,
				       chain_holder_between(before, next)};

		/* A thread does not wait for itself. */
		if (p.holder == waiter + 1)
			p.holder = 0;
		if (p.end > p.start)
			fn(arg, &p);
		from = p.end;
		before = next;
		lo++;
	}
}

struct taking {
	struct holds *h;
	size_t first; /* piece of the wait */
};

static void take_piece(void *arg, const struct held_piece *p)
{
	struct taking *t = arg;
	struct holds *h = t->h;
	struct held_piece *last = h->pieces.n > t->first ? &h->pieces.v[h->pieces.n - 1] : NULL;

	if (last && last->holder == p->holder)
		last->end = p->end;
	else
		vec_push(&h->pieces, *p);
}

static void take_thread(struct holds *h, const struct columns *c, uint32_t thread,
			const bool *wanted, uint64_t from, uint64_t to)
{
	const struct lane *l = &c->threads.v[thread];
	size_t i = l->n ? lane_find(l, from) : 0;

	if (i == SIZE_MAX)
		i = from < lane_start(l, 0) ? 0 : l->n;
	for (; i < l->n && lane_start(l, i) < to; i++) {
		const struct stretch *s = lane_at(l, i);
		struct lock_wait w = {
			.start = lane_start(l, i), .end = lane_end(l, i), .waiter = thread};

		if (!class_is_wait(s->at & 0xff) || !wanted[s->row])
			continue;
		w.start = w.start > from ? w.start : from;
		w.end = w.end < to ? w.end : to;
		if (w.start < w.end)
			vec_push(&h->waits, w);
	}
}

void holds_take(struct holds *h, const struct model *m, const struct columns *c, uint32_t lock,
		uint64_t from, uint64_t to)
{
	const struct lock *l = &m->locks.list.v[lock];
	bool *wanted = mem_zalloc(m->tally.waits.n + 1);
	bool *waits = mem_zalloc(m->timeline.threads.n + 1);

	*h = (struct holds){0};
	for (size_t i = 0; i < m->tally.waits.n; i++) {
		const struct wait_row *r = &m->tally.waits.v[i];

		if (!r->lock || locks_index(&m->locks, r->lock) != lock)
			continue;
		wanted[i] = waits[r->thread->index] = true;
	}
	for (uint32_t i = 0; i < c->threads.n; i++)
		if (waits[i])
			take_thread(h, c, i, wanted, from, to);
	for (size_t i = 0; i < h->waits.n; i++) {
		struct lock_wait *w = &h->waits.v[i];
		struct taking t = {h, h->pieces.n};

		if (lock_has_holders(l))
			holds_cut(c, lock, w->waiter, w->start, w->end, take_piece, &t);
		w->pieces = h->pieces.n;
	}
	free(wanted);
	free(waits);
}

void holds_done(struct holds *h)
{
	vec_done(&h->waits);
	vec_done(&h->pieces);
}
