/* SPDX-License-Identifier: MIT */
/*
 * Which of very many owners had something for more than half of a range. Spans are in the order of
 * time, each with its owner; an answer takes the logarithm of their number.
 */
#ifndef THAW_MODEL_MAJORITY_H
#define THAW_MODEL_MAJORITY_H

#include "base/vec.h"

#include <stdint.h>

struct majority_span {
	uint64_t start, end;
	uint32_t key; /* whose; 0: nobody's */
};

/*
 * The most by which the time of `key` may exceed that of all others together: a majority is never
 * outvoted.
 */
struct majority_vote {
	uint64_t surplus;
	uint32_t key;
};

struct majority {
	VEC(struct majority_span) spans; /* none overlaps another */
	struct majority_vote *tree;
	VEC(struct majority_of) by_key; /* spans by key and time */
};

struct majority_of {
	uint32_t key, span;
	uint64_t before; /* the time of those before it with this key */
};

/* Push spans before this, not after. */
void majority_seal(struct majority *m);
void majority_done(struct majority *m);

void majority_add(struct majority_vote *v, uint32_t key, uint64_t weight);
/* Adds the votes of [from, to): after that, only the vote's key can have the majority. */
void majority_vote(const struct majority *m, uint64_t from, uint64_t to, struct majority_vote *v);
/* The time of this one in [from, to). */
uint64_t majority_time(const struct majority *m, uint32_t key, uint64_t from, uint64_t to);

#endif
