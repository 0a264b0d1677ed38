/* SPDX-License-Identifier: MIT */
/* Chance that is the same each time. */
#ifndef TEST_DIFF_CHANCE_H
#define TEST_DIFF_CHANCE_H

#include <math.h>
#include <stdint.h>

struct chance {
	uint64_t state;
};

/* [0, 1) */
static inline double chance(struct chance *c)
{
	c->state ^= c->state << 13;
	c->state ^= c->state >> 7;
	c->state ^= c->state << 17;
	return (double)(c->state >> 11) * 0x1p-53;
}

static inline double chance_normal(struct chance *c)
{
	return sqrt(-2 * log(chance(c) + 1e-300)) * cos(2 * M_PI * chance(c));
}

/* How many of n trials may succeed at most, if the rate is p: four sigmas above. */
static inline double chance_most(double p, double n)
{
	return n * p + 4 * sqrt(n * p * (1 - p));
}

#endif
