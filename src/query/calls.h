/* SPDX-License-Identifier: MIT */
/*
 * Every stack of a capture as a path in one tree of calls, made once: the frames with their inlined
 * functions from the root to the leaf, and after the leaf of a wait its reason. A row of the tally
 * is then one number, its last call, and the values of a range can be summed up along the callers
 * without looking at a name.
 *
 * Upside down, the paths go from the reason and the leaf to the root.
 */
#ifndef THAW_QUERY_CALLS_H
#define THAW_QUERY_CALLS_H

#include "query/what.h"

struct call {
	uint32_t caller; /* index, smaller than its own */
	uint32_t what;
	bool again; /* the same function is among its callers */
};

struct calls {
	VEC(struct call) list; /* 0 is the root */
	uint32_t *of_sample;   /* by row of the tally: its last call */
	uint32_t *of_wait;
};

/* m must be finished. */
struct calls *calls_new(struct model *m, bool upside_down);
void calls_free(struct calls *c);

/* The calls from the root (left out) to one, as many as there is room for. */
size_t calls_path(const struct calls *c, uint32_t call, uint32_t *ret, size_t room);

#endif
