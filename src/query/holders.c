// SPDX-License-Identifier: MIT
#include "query/holders.h"

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
