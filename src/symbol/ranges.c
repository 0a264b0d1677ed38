// SPDX-License-Identifier: MIT
#include "symbol/ranges.h"

#include "base/search.h"
#include "base/sort.h"

void ranges_add(struct symbol_ranges *r, uint64_t begin, uint64_t end, uint32_t id)
{
	struct symbol_range x = {.begin = begin, .end = end, .id = id, .order = (uint32_t)r->in.n};

	if (begin < end)
		vec_push(&r->in, x);
}

static int by_begin(const void *va, const void *vb)
{
	const struct symbol_range *a = va, *b = vb;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Most come nearly in order, and few at a time. */
static void ranges_sort(struct symbol_range *v, size_t n)
{
	size_t moves = 0;

	for (size_t i = 1; i < n && moves <= 8 * n; i++) {
		struct symbol_range x = v[i];
		size_t k = i;

		for (; k && by_begin(&v[k - 1], &x) > 0; k--)
			v[k] = v[k - 1];
		moves += i - k;
		v[k] = x;
	}
	if (moves > 8 * n)
		sort_by(v, n, sizeof(*v), by_begin);
}

static void ranges_emit(struct symbol_ranges *r, uint64_t begin, uint64_t end, uint32_t id)
{
	struct symbol_range x = {.begin = begin, .end = end, .id = id};

	if (begin < end)
		vec_push(&r->out, x);
}

/* `open` holds the ranges that began before `at` and may not have ended, the last one on top. */
void ranges_build(struct symbol_ranges *r)
{
	VEC(uint32_t) open = {0};
	uint64_t at = 0;

	ranges_sort(r->in.v, r->in.n);
	for (size_t i = 0; i <= r->in.n; i++) {
		uint64_t next = i < r->in.n ? r->in.v[i].begin : UINT64_MAX;

		while (open.n) {
			const struct symbol_range *top = &r->in.v[open.v[open.n - 1]];

			ranges_emit(r, at, top->end < next ? top->end : next, top->id);
			if (top->end > next)
				break;
			at = top->end > at ? top->end : at;
			open.n--;
		}
		at = next;
		if (i < r->in.n)
			vec_push(&open, (uint32_t)i);
	}
	vec_done(&open);
	vec_done(&r->in);
}

/* The first range that ends after `at`, from `lo` on. */
static size_t ranges_search(const struct symbol_ranges *r, size_t lo, uint64_t at)
{
	return SEARCH(lo, r->out.n, mid, r->out.v[mid].end <= at);
}

static const struct symbol_range *range_at(const struct symbol_ranges *r, size_t i, uint64_t at,
					   uint64_t *ret_next)
{
	if (i < r->out.n && r->out.v[i].begin <= at)
		return &r->out.v[i];
	if (ret_next)
		*ret_next = i < r->out.n ? r->out.v[i].begin : UINT64_MAX;
	return NULL;
}

const struct symbol_range *ranges_find(const struct symbol_ranges *r, uint64_t at,
				       uint64_t *ret_next)
{
	return range_at(r, ranges_search(r, 0, at), at, ret_next);
}

const struct symbol_range *ranges_find_from(const struct symbol_ranges *r, size_t *hint,
					    uint64_t at, uint64_t *ret_next)
{
	const struct symbol_range *v = r->out.v;
	size_t i = *hint, n = r->out.n;

	if (i && v[i - 1].end > at)
		i = ranges_search(r, 0, at);
	else if (i < n && v[i].end <= at && ++i < n && v[i].end <= at)
		i = ranges_search(r, i, at);
	*hint = i;
	return range_at(r, i, at, ret_next);
}

void ranges_done(struct symbol_ranges *r)
{
	vec_done(&r->in);
	vec_done(&r->out);
}
