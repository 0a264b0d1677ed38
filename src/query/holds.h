/* SPDX-License-Identifier: MIT */
/*
 * Who held a lock while others waited for it. What is known of a lock's holder is known only at
 * moments when somebody wanted it, so the time in which nobody waits has no holder here.
 */
#ifndef THAW_QUERY_HOLDS_H
#define THAW_QUERY_HOLDS_H

#include "query/columns.h"

/* A piece of a wait in which the holder did not change. */
struct held_piece {
	uint64_t start, end;
	uint32_t waiter;
	uint32_t holder; /* thread index + 1; 0: not known */
};

/* A sleep on the lock, cut to the range. */
struct lock_wait {
	uint64_t start, end;
	size_t pieces; /* behind its last piece */
	uint32_t waiter;
};

struct holds {
	VEC(struct lock_wait) waits; /* by thread, then time */
	VEC(struct held_piece)
	pieces; /* of them, in that order; none if it is no lock that is held
		 */
};

/* lock: index in the model, under its proper address. */
void holds_take(struct holds *h, const struct model *m, const struct columns *c, uint32_t lock,
		uint64_t from, uint64_t to);
void holds_done(struct holds *h);

#endif
