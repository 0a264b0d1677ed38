// SPDX-License-Identifier: MIT
#include "ring/order.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* How many records a lane keeps room for; it frees what a burst needed beyond that. */
enum { LANE_KEEPS = 1 << 16 };
/* The data of a record is fetched into the cache that many records before it is needed. */
enum { AHEAD = 4 };

/* The position of a record whose data is in the stash, not in its source. */
#define STASHED SOURCE_ALL

struct order_lane {
	struct source *src;
	record_vec q;
	size_t head;	  /* passed on up to here */
	record_vec later; /* pulled while q was being passed on: all in the stash */
	bool moved;	  /* the rest of q is in the stash */
};

/* A lane in the heap, with the time of its head: comparing needs no look at the lane. */
struct order_head {
	uint64_t ts;
	struct order_lane *lane;
};

struct order {
	struct order_lane *lanes;
	size_t n;
	struct order_head *heap; /* of lanes with something to pass on */
	size_t heap_n;
	uint64_t window_ns;
	uint64_t last_ts;
	uint64_t late;
	uint64_t looked_ns, gap_ns;
	VEC(void *) stash; /* freed when the last record in it was passed on */
	size_t stash_bytes, stashed;
};

struct order *order_new(struct source **sources, size_t n, uint64_t window_ns)
{
	struct order *o = mem_zalloc(sizeof(*o));

	o->lanes = mem_zalloc(n * sizeof(*o->lanes));
	o->heap = mem_zalloc((n + 1) * sizeof(*o->heap));
	o->n = n;
	o->window_ns = window_ns;
	for (size_t i = 0; i < n; i++)
		o->lanes[i].src = sources[i];
	return o;
}

static void empty_stash(struct order *o)
{
	for (size_t i = 0; i < o->stash.n; i++)
		free(o->stash.v[i]);
	o->stash.n = 0;
	o->stash_bytes = 0;
}

void order_free(struct order *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->n; i++) {
		vec_done(&o->lanes[i].q);
		vec_done(&o->lanes[i].later);
	}
	empty_stash(o);
	vec_done(&o->stash);
	free(o->lanes);
	free(o->heap);
	free(o);
}

/* Sorts in what has just been pulled; equal times keep the order of the source. */
static void sort_tail(struct order_lane *l, size_t from)
{
	for (size_t i = from; i < l->q.n; i++) {
		struct record rec;
		size_t j = i;

		if (i == l->head || l->q.v[i - 1].ts <= l->q.v[i].ts)
			continue;
		rec = l->q.v[i];
		while (j > l->head && l->q.v[j - 1].ts > rec.ts) {
			l->q.v[j] = l->q.v[j - 1];
			j--;
		}
		l->q.v[j] = rec;
	}
}

/* Behind the last of the heap comes one that is later than any: each has two kids, or none. */
static void heap_end(struct order *o)
{
	o->heap[o->heap_n].ts = UINT64_MAX;
}

static void sift_down(struct order *o, size_t i)
{
	struct order_head *heap = o->heap, head = heap[i];
	size_t kid;

	for (; (kid = 2 * i + 1) < o->heap_n; i = kid) {
		/* No branch: nobody can predict which is earlier. */
		kid += heap[kid + 1].ts < heap[kid].ts;
		if (heap[kid].ts >= head.ts)
			break;
		heap[i] = heap[kid];
	}
	heap[i] = head;
}

/* The earliest head of all lanes but the first of the heap. */
static uint64_t second_ts(const struct order *o)
{
	uint64_t ts = UINT64_MAX;

	for (size_t i = 1; i < o->heap_n && i < 3; i++)
		if (o->heap[i].ts < ts)
			ts = o->heap[i].ts;
	return ts;
}

/* Passes on what is first in a lane, up to `until` and before the horizon. */
static void pass_on(struct order *o, struct order_lane *l, uint64_t until, uint64_t horizon,
		    order_fn *fn, void *ctx)
{
	const struct record *rec = &l->q.v[l->head], *end = l->q.v + l->q.n;

	do {
		if (end - rec > AHEAD)
			__builtin_prefetch(rec[AHEAD].data);
		if (rec->ts < o->last_ts)
			o->late++;
		else
			o->last_ts = rec->ts;
		o->stashed -= rec->pos == STASHED;
		l->head++;
		/* It may stash, which moves the data of what follows, but no record. */
		fn(ctx, rec);
		rec++;
	} while (rec < end && rec->ts <= until && rec->ts < horizon);
}

static void order_merge(struct order *o, uint64_t horizon, order_fn *fn, void *ctx)
{
	o->heap_n = 0;
	for (size_t i = 0; i < o->n; i++) {
		struct order_lane *l = &o->lanes[i];

		if (l->head < l->q.n)
			o->heap[o->heap_n++] = (struct order_head){l->q.v[l->head].ts, l};
	}
	heap_end(o);
	for (size_t i = o->heap_n / 2; i-- > 0;)
		sift_down(o, i);
	while (o->heap_n && o->heap[0].ts < horizon) {
		struct order_lane *l = o->heap[0].lane;

		pass_on(o, l, second_ts(o), horizon, fn, ctx);
		if (l->head < l->q.n) {
			o->heap[0].ts = l->q.v[l->head].ts;
		} else {
			o->heap[0] = o->heap[--o->heap_n];
			heap_end(o);
		}
		if (o->heap_n)
			sift_down(o, 0);
	}
}

/* Gives back the space up to the first record that has not been passed on. */
static void order_release(struct order_lane *l)
{
	uint64_t pos = SOURCE_ALL;

	for (size_t i = l->head; i < l->q.n; i++)
		if (l->q.v[i].pos < pos)
			pos = l->q.v[i].pos;
	source_release(l->src, pos);
	/* Not before half of them are done with: so none is moved more than once. */
	if (l->head < l->q.n / 2)
		return;
	if (l->head < l->q.n)
		memmove(l->q.v, l->q.v + l->head, (l->q.n - l->head) * sizeof(*l->q.v));
	l->q.n -= l->head;
	l->head = 0;
	if (l->q.room > LANE_KEEPS && l->q.n < LANE_KEEPS / 2) {
		l->q.room = LANE_KEEPS;
		l->q.v = mem_grow(l->q.v, l->q.room, sizeof(*l->q.v));
	}
	if (l->later.room > LANE_KEEPS && !l->later.n)
		vec_done(&l->later);
}

static void order_take_run(struct order *o, uint64_t horizon, order_fn *fn, void *ctx)
{
	for (size_t i = 0; i < o->n; i++) {
		struct order_lane *l = &o->lanes[i];
		size_t from = l->q.n;

		for (size_t k = 0; k < l->later.n; k++)
			vec_push(&l->q, l->later.v[k]);
		l->later.n = 0;
		l->moved = false;
		source_pull(l->src, &l->q);
		sort_tail(l, from);
	}
	order_merge(o, horizon, fn, ctx);
	for (size_t i = 0; i < o->n; i++)
		order_release(&o->lanes[i]);
	if (!o->stashed)
		empty_stash(o);
}

/* In the stash, as in their sources, records begin at multiples of 8. */
static size_t room_of(const struct record *rec)
{
	return rec->pos == STASHED ? 0 : (rec->len + 7) & ~(size_t)7;
}

static void order_move(struct order *o, record_vec *q, size_t from)
{
	size_t bytes = 0;
	uint8_t *to;

	for (size_t i = from; i < q->n; i++)
		bytes += room_of(&q->v[i]);
	if (from == q->n)
		return;
	to = mem_alloc(bytes + 1);
	vec_push(&o->stash, to);
	o->stash_bytes += bytes;
	for (size_t i = from; i < q->n; i++) {
		struct record *rec = &q->v[i];
		size_t room = room_of(rec);

		if (rec->pos == STASHED)
			continue;
		if (rec->len)
			memcpy(to, rec->data, rec->len);
		rec->data = to;
		rec->pos = STASHED;
		to += room;
		o->stashed++;
	}
}

static void stash_lane(struct order *o, struct order_lane *l)
{
	size_t from = l->later.n;

	if (!l->moved)
		order_move(o, &l->q, l->head);
	l->moved = true;
	/* Not into q, which is being passed on. */
	source_pull(l->src, &l->later);
	order_move(o, &l->later, from);
	source_release(l->src, SOURCE_ALL);
}

static void note_look(struct order *o, uint64_t now_ns)
{
	if (o->looked_ns && now_ns > o->looked_ns && now_ns - o->looked_ns > o->gap_ns)
		o->gap_ns = now_ns - o->looked_ns;
	o->looked_ns = now_ns;
}

void order_run(struct order *o, uint64_t now_ns, order_fn *fn, void *ctx)
{
	note_look(o, now_ns);
	order_take_run(o, now_ns > o->window_ns ? now_ns - o->window_ns : 0, fn, ctx);
}

void order_drain(struct order *o, order_fn *fn, void *ctx)
{
	order_take_run(o, UINT64_MAX, fn, ctx);
}

bool order_stash(struct order *o, uint64_t now_ns, size_t max)
{
	if (o->stash_bytes >= max)
		return false;
	note_look(o, now_ns);
	for (size_t i = 0; i < o->n; i++)
		stash_lane(o, &o->lanes[i]);
	return true;
}

size_t order_stashed(const struct order *o)
{
	return o->stash_bytes;
}

uint64_t order_late(const struct order *o)
{
	return o->late;
}

uint64_t order_gap_ns(const struct order *o)
{
	return o->gap_ns;
}
