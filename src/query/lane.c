// SPDX-License-Identifier: MIT
#include "query/lane.h"

#define SLAB_BYTES (2u << 20) /* a large page */
#define BLOCK_BYTES (LANE_BLOCK * sizeof(struct stretch))

static struct stretch *arena_block(struct arena *a)
{
	if (!a->slabs.n || a->used + BLOCK_BYTES > SLAB_BYTES) {
		vec_push(&a->slabs, mem_slab(SLAB_BYTES));
		a->used = 0;
	}
	a->used += BLOCK_BYTES;
	return (struct stretch *)((char *)a->slabs.v[a->slabs.n - 1] + a->used - BLOCK_BYTES);
}

void arena_done(struct arena *a)
{
	for (size_t i = 0; i < a->slabs.n; i++)
		free(a->slabs.v[i]);
	vec_done(&a->slabs);
	a->used = 0;
}

/*
 * Where there are many threads, most do next to nothing: their first block is small, and not from
 * the arena.
 */
static void grow_first(struct lane *l)
{
	enum { FEWEST = 4 };

	if (!l->n) {
		l->room = 1;
		l->blocks = mem_alloc(sizeof(*l->blocks));
		l->blocks[0] = mem_alloc(FEWEST * sizeof(struct stretch));
	} else if (l->n >= FEWEST && !(l->n & (l->n - 1))) {
		l->blocks[0] = mem_grow(l->blocks[0], l->n * 2, sizeof(struct stretch));
	}
}

static void add_block(struct lane *l, struct arena *a)
{
	size_t block = l->n / LANE_BLOCK;

	if (block == l->room) {
		l->room *= 2;
		l->blocks = mem_grow(l->blocks, l->room, sizeof(*l->blocks));
	}
	l->blocks[block] = arena_block(a);
}

static void lane_append(struct lane *l, struct arena *a, uint64_t start, unsigned class,
			uint32_t row, uint32_t by)
{
	if (l->n < LANE_BLOCK)
		grow_first(l);
	else if (l->n % LANE_BLOCK == 0)
		add_block(l, a);
	l->blocks[l->n / LANE_BLOCK][l->n % LANE_BLOCK] =
		(struct stretch){.at = start << 8 | class, .row = row, .by = by};
	l->n++;
	if (class != CLASS_WAIT)
		l->slots |= 1ull << class_slot(class);
}

void lane_push(struct lane *l, struct arena *a, uint64_t start, uint64_t end, unsigned class,
	       uint32_t row, uint32_t by)
{
	if (end > LANE_TIME_MAX)
		end = LANE_TIME_MAX;
	if (l->n && start < l->end)
		start = l->end;
	if (start >= end)
		return;
	if (l->n && start > l->end)
		lane_append(l, a, l->end, CLASS_GONE, 0, 0);
	lane_append(l, a, start, class, row, by);
	l->end = end;
}

void lane_seal(struct lane *l)
{
	uint64_t now[SLOTS] = {0};
	size_t blocks = (l->n + LANE_BLOCK - 1) / LANE_BLOCK, at = 0;

	l->slots &= ~(1ull << SLOT_GONE);
	l->starts = mem_alloc(blocks * sizeof(*l->starts));
	l->sums = mem_alloc(blocks * (size_t)__builtin_popcountll(l->slots) * sizeof(*l->sums));
	for (size_t b = 0; b < blocks; b++) {
		const struct stretch *s = l->blocks[b];
		size_t n = b + 1 < blocks ? LANE_BLOCK : l->n - b * LANE_BLOCK;
		uint64_t end = b + 1 < blocks ? l->blocks[b + 1][0].at >> 8 : l->end;

		l->starts[b] = s[0].at >> 8;
		for (uint64_t left = l->slots; left; left &= left - 1)
			l->sums[at++] = now[__builtin_ctzll(left)];
		for (size_t k = 0; k + 1 < n; k++)
			now[class_slot(s[k].at & 0xff)] += (s[k + 1].at >> 8) - (s[k].at >> 8);
		now[class_slot(s[n - 1].at & 0xff)] += end - (s[n - 1].at >> 8);
	}
}

void lane_done(struct lane *l)
{
	if (l->n)
		free(l->blocks[0]);
	free(l->blocks);
	free(l->starts);
	free(l->sums);
	*l = (struct lane){0};
}

/*
 * The last block from lo on that begins at or before ts; lo itself does. The search spreads out
 * from a guess, because the edges of a picture's columns are about equally many blocks apart, and
 * blocks near the guess are in the cache with it.
 */
static size_t find_block(const struct lane *l, size_t lo, size_t guess, uint64_t ts)
{
	size_t hi = (l->n + LANE_BLOCK - 1) / LANE_BLOCK, step = 1;

	if (guess < lo || guess >= hi)
		guess = lo;
	if (l->starts[guess] <= ts) {
		lo = guess;
		for (; lo + step < hi && l->starts[lo + step] <= ts; step *= 2)
			lo += step;
		hi = lo + step < hi ? lo + step : hi;
	} else {
		hi = guess;
		for (; hi - lo > step && l->starts[hi - step] > ts; step *= 2)
			hi -= step;
		lo = hi - lo > step ? hi - step : lo;
	}
	/* As in lane_find(), not SEARCH(): heat, which asks most, took a tenth longer by that. */
	while (lo + 1 < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->starts[mid] <= ts)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

size_t lane_find(const struct lane *l, uint64_t ts)
{
	size_t lo, hi;

	if (!l->n || ts < lane_start(l, 0) || ts >= l->end)
		return SIZE_MAX;
	lo = find_block(l, 0, 0, ts) * LANE_BLOCK;
	hi = lo + LANE_BLOCK < l->n ? lo + LANE_BLOCK : l->n;
	while (lo + 1 < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (lane_start(l, mid) <= ts)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

void lane_walk_init(struct lane_walk *w, const struct lane *l)
{
	*w = (struct lane_walk){.lane = l};
	for (unsigned s = 0; s < SLOTS; s++)
		if (l->slots >> s & 1)
			w->slots[w->n++] = (uint8_t)s;
}

static void lane_jump(struct lane_walk *w, uint64_t ts)
{
	const struct lane *l = w->lane;
	size_t block = w->at / LANE_BLOCK, next = block + 1;

	if (next * LANE_BLOCK >= l->n || l->starts[next] > ts)
		return;
	next = find_block(l, next, block + w->stride, ts);
	w->stride = next - block;
	block = next;
	w->at = block * LANE_BLOCK;
	for (unsigned i = 0; i < w->n; i++)
		w->before[w->slots[i]] = l->sums[block * w->n + i];
}

void lane_walk_soon(struct lane_walk *w, uint64_t ts)
{
	const struct lane *l = w->lane;
	size_t block;

	if (!l->n || l->starts[w->ahead] > ts)
		return;
	block = find_block(l, w->ahead, w->ahead + w->ahead_stride, ts);
	w->ahead_stride = block - w->ahead;
	w->ahead = block;
	if (!w->ahead_stride)
		return;
	__builtin_prefetch(&l->sums[block * w->n]);
	for (unsigned i = 0; i < LANE_BLOCK; i += 8)
		__builtin_prefetch(l->blocks[block] + i);
}

void lane_walk_to(struct lane_walk *w, uint64_t ts, uint64_t sums[SLOTS])
{
	const struct lane *l = w->lane;
	uint64_t start, end;
	unsigned class;

	if (!l->n)
		return;
	lane_jump(w, ts);
	start = lane_start(l, w->at);
	class = lane_class(l, w->at);
	while (w->at + 1 < l->n) {
		uint64_t next = lane_at(l, w->at + 1)->at;

		if (next >> 8 > ts)
			break;
		w->before[class_slot(class)] += (next >> 8) - start;
		start = next >> 8;
		class = next & 0xff;
		w->at++;
	}
	end = w->at + 1 < l->n ? ts : l->end;
	for (unsigned i = 0; i < w->n; i++)
		sums[w->slots[i]] = w->before[w->slots[i]];
	if (ts > start && class != CLASS_GONE)
		sums[class_slot(class)] += (ts < end ? ts : end) - start;
}

void lane_sums(const struct lane *l, uint64_t from, uint64_t to, uint64_t sums[SLOTS])
{
	uint64_t a[SLOTS] = {0}, b[SLOTS] = {0};
	struct lane_walk w;

	lane_walk_init(&w, l);
	lane_walk_to(&w, from, a);
	lane_walk_to(&w, to, b);
	for (unsigned i = 0; i < w.n; i++)
		sums[w.slots[i]] += b[w.slots[i]] - a[w.slots[i]];
}
