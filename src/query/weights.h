/* SPDX-License-Identifier: MIT */
/*
 * How much each row of the tally has in a range: samples, and nanoseconds of waiting. Flame graphs
 * and lists of functions are made from these.
 */
#ifndef THAW_QUERY_WEIGHTS_H
#define THAW_QUERY_WEIGHTS_H

#include "query/sums.h"

struct pick {
	uint64_t from, to;   /* since the start of the recording */
	const bool *threads; /* by index; NULL: all */
	uint64_t reasons;    /* of waits: a bit each */
	bool samples, waits;
	uint64_t sample_ns; /* what a sample counts */
};

struct weights {
	uint64_t *sample, *wait; /* by row; NULL if not picked */
};

void weights_take(struct weights *w, const struct model *m, const struct columns *c,
		  const struct row_sums *s, const struct pick *p);
void weights_done(struct weights *w);

#endif
