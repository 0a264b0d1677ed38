/* SPDX-License-Identifier: MIT */
/*
 * Which thread held a lock for the largest part of a wait, asked for many waits, from all signs of
 * the lock. For a wait with more than MAIN_HOLDER_SIGNS signs the answer is the thread that held it
 * for more than half of the time, if any: with so many holders no other means much, and this one is
 * found without looking at each sign.
 */
#ifndef THAW_MODEL_MAIN_HOLDER_H
#define THAW_MODEL_MAIN_HOLDER_H

#include "model/charge/chain.h"
#include "model/charge/majority.h"

#define MAIN_HOLDER_SIGNS 256

struct main_holders {
	const struct seen *seen; /* in the order of time */
	size_t n;
	bool sealed; /* `of` is made, which is only needed for long waits */
	struct majority of;
};

/*
 * Index + 1 of the thread that held it for the largest part of [from, to); 0: not known. It is
 * never `waiter` (index + 1), which did not hold what it waited for.
 */
uint32_t main_holder(struct main_holders *h, uint64_t from, uint64_t to, uint32_t waiter);
/* The signs are their owner's. */
void main_holders_done(struct main_holders *h);

#endif
