// SPDX-License-Identifier: MIT
#include "symbol/ranges.h"

void ranges_add(struct ranges *r, uint64_t begin, uint64_t end, uint32_t id)
{
	struct range x = {.begin = begin, .end = end, .id = id, .order = (uint32_t)r->in.n};

	if (begin < end)
		vec_push(&r->in, x);
}

static int by_begin(const void *va, const void *vb)
{
	const struct range *a = va, *b = vb;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Most come nearly in order, and few at a time. */
static void sort(struct range *v, size_t n)
{
	size_t moves = 0;

	for (size_t i = 1; i < n && moves <= 8 * n; i++) {
		struct range x = v[i];
		size_t k = i;

		for (; k && by_begin(&v[k - 1], &x) > 0; k--)
			v[k] = v[k - 1];
		moves += i - k;
		v[k] = x;
	}
	if (moves > 8 * n)
		qsort(v, n, sizeof(*v), by_begin);
}

static void emit(struct ranges *r, uint64_t begin, uint64_t end, uint32_t id)
{
	struct range x = {.begin = begin, .end = end, .id = id};

	if (begin < end)
		vec_push(&r->out, x);
}

/* `open` holds the ranges that began before `at` and may not have ended, the last one on top. */
void ranges_build(struct ranges *r)
{
	VEC(uint32_t) open = {0};
	uint64_t at = 0;

	sort(r->in.v, r->in.n);
	for (size_t i = 0; i <= r->in.n; i++) {
		uint64_t next = i < r->in.n ? r->in.v[i].begin : UINT64_MAX;

		while (open.n) {
			const struct range *top = &r->in.v[open.v[open.n - 1]];

			emit(r, at, top->end < next ? top->end : next, top->id);
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

/* The first range that ends behind `at`, from `lo` on. */
static size_t search(const struct ranges *r, size_t lo, uint64_t at)
{
	size_t hi = r->out.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->out.v[mid].end <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static const struct range *range_at(const struct ranges *r, size_t i, uint64_t at,
				    uint64_t *ret_next)
{
	if (i < r->out.n && r->out.v[i].begin <= at)
		return &r->out.v[i];
	if (ret_next)
		*ret_next = i < r->out.n ? r->out.v[i].begin : UINT64_MAX;
	return NULL;
}

const struct range *ranges_find(const struct ranges *r, uint64_t at, uint64_t *ret_next)
{
	return range_at(r, search(r, 0, at), at, ret_next);
}

const struct range *ranges_find_from(const struct ranges *r, size_t *hint, uint64_t at,
				     uint64_t *ret_next)
{
	const struct range *v = r->out.v;
	size_t i = *hint, n = r->out.n;

	if (i && v[i - 1].end > at)
		i = search(r, 0, at);
	else if (i < n && v[i].end <= at && ++i < n && v[i].end <= at)
		i = search(r, i, at);
	*hint = i;
	return range_at(r, i, at, ret_next);
}

void ranges_done(struct ranges *r)
{
	vec_done(&r->in);
	vec_done(&r->out);
}
