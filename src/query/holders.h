/* SPDX-License-Identifier: MIT */
/* Who held a lock when, from what was seen of it: by the rules of model/charge.c. */
#ifndef THAW_QUERY_HOLDERS_H
#define THAW_QUERY_HOLDERS_H

#include "query/columns.h"

struct held {
	uint64_t start, end;
	uint32_t thread; /* index + 1; 0: not known */
};

struct held_list {
	struct held *v;
	size_t n, room;
};

/*
 * In [from, to), as far as `waiter` (index + 1; 0: nobody) can tell: it never held what it waited
 * for. Neighbours with the same holder are one. At most `max` of them; the caller frees v.
 */
void holders_between(const struct columns *c, uint32_t lock, uint64_t from, uint64_t to,
		     uint32_t waiter, size_t max, struct held_list *ret);

#endif
