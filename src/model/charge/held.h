/* SPDX-License-Identifier: MIT */
/* Who held a lock when, from what was seen of it: by the rules at the head of follow.c. */
#ifndef THAW_MODEL_HELD_H
#define THAW_MODEL_HELD_H

#include "model/charge/chain.h"

struct held {
	uint64_t start, end;
	uint32_t thread; /* index + 1; 0: not known */
};

/* The time of one lock, cut where something was seen of it. */
struct held_walk {
	const struct seen *seen, *before;
	size_t n, at;
	uint64_t from, to;
	bool ended;
};

/* How many signs, in the order of time, are at or before that moment. */
size_t held_signs(const struct seen *seen, size_t n, uint64_t ts);

/* Over [from, to), with all that was seen of the lock. */
struct held_walk held_walk(const struct seen *seen, size_t n, uint64_t from, uint64_t to);
/*
 * Moves to the next piece of the lock's time in which its holder did not change; false: there is
 * none.
 */
bool held_next(struct held_walk *w, struct held *ret);

#endif
