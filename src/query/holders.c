// SPDX-License-Identifier: MIT
#include "query/holders.h"

static size_t first_after(const struct seen *seen, size_t n, uint64_t ts)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (seen[mid].ts <= ts)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void add(struct held_list *l, uint64_t start, uint64_t end, uint32_t thread)
{
	if (start >= end)
		return;
	if (l->n && l->v[l->n - 1].thread == thread && l->v[l->n - 1].end == start)
		l->v[l->n - 1].end = end;
	else
		vec_push(l, (struct held){start, end, thread});
}

void holders_between(const struct columns *c, uint32_t lock, uint64_t from, uint64_t to,
		     uint32_t waiter, size_t max, struct held_list *ret)
{
	size_t n, at;
	const struct seen *seen = columns_seen(c, lock, &n), *before, *next;

	*ret = (struct held_list){0};
	at = first_after(seen, n, from);
	before = at ? &seen[at - 1] : NULL;
	while (from < to && ret->n < max) {
		uint64_t until;
		uint32_t thread;

		next = at < n && seen[at].ts <= to ? &seen[at] : NULL;
		until = next ? next->ts : to;
		thread = chain_holder_between(before, next);
		add(ret, from, until, thread == waiter ? 0 : thread);
		from = until > from ? until : from;
		before = next;
		at++;
		if (!next)
			break;
	}
}
