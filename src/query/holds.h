/* SPDX-License-Identifier: MIT */
/*
 * Who held a lock while others waited for it. A lock's holder shows only when another thread wants
 * the lock, so time without waiters has no holder here.
 */
#ifndef THAW_QUERY_HOLDS_H
#define THAW_QUERY_HOLDS_H

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

/* A piece of a wait in which the holder did not change. */
struct held_piece {
	uint64_t start, end;
	uint32_t waiter;
	uint32_t holder; /* thread index + 1; 0: not known */
};

/* A sleep on the lock, cut to the range. */
struct lock_wait {
	uint64_t start, end;
	size_t pieces; /* past its last piece */
	uint32_t waiter;
};

struct holds {
	VEC(struct lock_wait) waits;   /* by thread, then time */
	VEC(struct held_piece) pieces; /* of the waits, in that order; none without holders */
	/*
	 * Too many waits behind too many holders to keep pieces: `held` has the lock's holders over
	 * time instead, the same for all waiters.
	 */
	bool crowd;
	VEC(struct held) held; /* in the order of time */
};

/* The pieces of all waits of one thread: w is the first of n. */
void holds_cut(struct holds *h, const struct lock_wait *w, size_t n, void *arg,
	       void (*piece)(void *arg, uint32_t holder, uint64_t ns));

/* lock: index in the model, under its proper address. */
void holds_take(struct holds *h, const struct model *m, const struct columns *c, uint32_t lock,
		uint64_t from, uint64_t to);
void holds_done(struct holds *h);

#endif
