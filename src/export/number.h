/* SPDX-License-Identifier: MIT */
/*
 * What an export uses of a model's tables (functions, modules, addresses), numbered 1, 2, ... in
 * the order of first use: a file holds only what it refers to, and small numbers for it.
 */
#ifndef THAW_EXPORT_NUMBER_H
#define THAW_EXPORT_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct numbers {
	VEC(uint32_t) ids;   /* by place in the model's table; 0: not used */
	VEC(uint32_t) order; /* by number - 1: that place */
};

static inline uint32_t numbers_of(struct numbers *n, uint32_t place)
{
	if (n->ids.n <= place) {
		vec_reserve(&n->ids, place + 1);
		memset(n->ids.v + n->ids.n, 0, (place + 1 - n->ids.n) * sizeof(*n->ids.v));
		n->ids.n = place + 1;
	}
	if (!n->ids.v[place]) {
		vec_push(&n->order, place);
		n->ids.v[place] = (uint32_t)n->order.n;
	}
	return n->ids.v[place];
}

static inline void numbers_done(struct numbers *n)
{
	vec_done(&n->ids);
	vec_done(&n->order);
}

#endif
