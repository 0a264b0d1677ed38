/* SPDX-License-Identifier: MIT */
/*
 * How long each row of waits lasted in a range, without visiting every wait in it: each thread has
 * running sums by row at every `step` stretches. A long recording has millions of stretches, but a
 * thread has few rows, so the sums take a fraction of the stretches' memory.
 */
#ifndef THAW_QUERY_SUMS_H
#define THAW_QUERY_SUMS_H

#include "query/columns.h"

struct thread_sums {
	size_t first, n; /* its rows, in sums.rows */
	size_t step;	 /* stretches from one to the next, whole blocks of a lane; 0: none */
	uint64_t *at;	 /* n each: of the first step stretches, of 2 * step, ... */
};

struct row_sums {
	struct thread_sums *threads;
	size_t n;
	uint32_t *rows;	 /* of the tally's waits, by thread */
	uint32_t *place; /* by row: its place among those of its thread */
};

/* The columns must be sealed. */
struct row_sums *sums_new(const struct model *m, const struct columns *c);
void sums_free(struct row_sums *s);

/* Adds to out, by row, what a thread waited in [from, to). */
void sums_waits(const struct row_sums *s, const struct model *m, const struct columns *c,
		uint32_t thread, uint64_t from, uint64_t to, uint64_t *out);

/* A stretch of waiting, of which `row` is a row of the tally's waits. */
static inline bool class_is_wait(unsigned class)
{
	return class < CLASS_REASONS && class != REASON_RUN_QUEUE && class != REASON_THROTTLED;
}

#endif
