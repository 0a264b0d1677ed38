// SPDX-License-Identifier: MIT
#include "query/holds.h"

#include <stdlib.h>

#include "base/search.h"
#include "model/summary/parts.h"
#include "query/sums.h"

void holders_between(const struct columns *c, uint32_t lock, uint64_t from, uint64_t to,
		     uint32_t waiter, size_t max, struct held_list *ret)
{
	size_t n;
	const struct seen *seen = columns_seen(c, lock, &n);
	struct held_walk w = held_walk(seen, n, from, to);
	struct held held;

	*ret = (struct held_list){0};
	while (ret->n < max && held_next(&w, &held)) {
		struct held *last = ret->n ? &ret->v[ret->n - 1] : NULL;

		if (held.thread == waiter)
			held.thread = 0;
		if (last && last->thread == held.thread && last->end == held.start)
			last->end = held.end;
		else
			vec_push(ret, held);
	}
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

/* With more pieces it is a crowd. */
#define PIECES_MAX (1u << 21)

/* How many pieces there would be, at most. */
static uint64_t count_pieces(const struct holds *h, const struct columns *c, uint32_t lock)
{
	uint64_t n = 0;
	size_t signs;
	const struct seen *seen = columns_seen(c, lock, &signs);

	for (size_t i = 0; i < h->waits.n; i++)
		n += 1 + held_signs(seen, signs, h->waits.v[i].end) -
		     held_signs(seen, signs, h->waits.v[i].start);
	return n;
}

void holds_cut(struct holds *h, const struct lock_wait *w, size_t n, void *arg,
	       void (*piece)(void *arg, uint32_t holder, uint64_t ns))
{
	for (size_t i = 0, at = 0; i < n; i++) {
		at = SEARCH(at, h->held.n, mid, h->held.v[mid].end <= w[i].start);
		for (; at < h->held.n && h->held.v[at].start < w[i].end; at++) {
			const struct held *one = &h->held.v[at];
			uint64_t from = one->start > w[i].start ? one->start : w[i].start;
			uint64_t to = one->end < w[i].end ? one->end : w[i].end;

			piece(arg, one->thread == w[i].waiter + 1 ? 0 : one->thread, to - from);
			if (one->end > w[i].end)
				break;
		}
	}
}

static void holds_query_cut(struct holds *h, const struct columns *c, uint32_t lock,
			    const struct lock_wait *w)
{
	struct held_list list;

	holders_between(c, lock, w->start, w->end, w->waiter + 1, SIZE_MAX, &list);
	for (size_t i = 0; i < list.n; i++) {
		const struct held *one = &list.v[i];

		vec_push(&h->pieces,
			 (struct held_piece){one->start, one->end, w->waiter, one->thread});
	}
	free(list.v);
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
	if (lock_has_holders(l) && count_pieces(h, c, lock) > PIECES_MAX) {
		struct held_list list;

		holders_between(c, lock, from, to, 0, SIZE_MAX, &list);
		h->crowd = true;
		h->held.v = list.v;
		h->held.n = list.n;
		h->held.room = list.n;
	}
	for (size_t i = 0; i < h->waits.n && !h->crowd; i++) {
		if (lock_has_holders(l))
			holds_query_cut(h, c, lock, &h->waits.v[i]);
		h->waits.v[i].pieces = h->pieces.n;
	}
	free(wanted);
	free(waits);
}

void holds_done(struct holds *h)
{
	vec_done(&h->waits);
	vec_done(&h->pieces);
	vec_done(&h->held);
}
