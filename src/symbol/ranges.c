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

	if (r->in.n)
		qsort(r->in.v, r->in.n, sizeof(*r->in.v), by_begin);
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

const struct range *ranges_find(const struct ranges *r, uint64_t at, uint64_t *ret_next)
{
	size_t lo = 0, hi = r->out.n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->out.v[mid].end <= at)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < r->out.n && r->out.v[lo].begin <= at)
		return &r->out.v[lo];
	if (ret_next)
		*ret_next = lo < r->out.n ? r->out.v[lo].begin : UINT64_MAX;
	return NULL;
}

void ranges_done(struct ranges *r)
{
	vec_done(&r->in);
	vec_done(&r->out);
}
