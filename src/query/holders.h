/* SPDX-License-Identifier: MIT */
/* Who held a lock when, from what was seen of it. */
#ifndef THAW_QUERY_HOLDERS_H
#define THAW_QUERY_HOLDERS_H

#include "model/charge/held.h"
#include "query/columns.h"

struct held_list {
	struct held *v;
	size_t n, room;
};

/*
 * Holders in [from, to), but not `waiter` (index + 1; 0: none), which never held what it waited
 * for. Adjacent pieces of one holder are merged. At most `max` pieces; the caller frees v.
 */
void holders_between(const struct columns *c, uint32_t lock, uint64_t from, uint64_t to,
		     uint32_t waiter, size_t max, struct held_list *ret);

#endif
