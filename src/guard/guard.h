/* SPDX-License-Identifier: MIT */
/* The guard: looks at the machine once, before anything attaches, and says what may be done. */
#ifndef THAW_GUARD_GUARD_H
#define THAW_GUARD_GUARD_H

#include "guard/verdict.h"

struct guard {
	struct guard_facts facts;
	struct guard_features features;
	struct guard_verdict verdict;
	uint32_t accepted;
};

/* `all`: also find out what takes time and matters only to a reader. */
void guard_look(struct guard *g, uint32_t accepted, bool all);

/* The rate to sample at when `hz` is wanted. */
uint64_t guard_rate(const struct guard *g, uint64_t hz);

#endif
