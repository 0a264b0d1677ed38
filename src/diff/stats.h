/* SPDX-License-Identifier: MIT */
/*
 * How sure a difference is. docs/diff.md has the reasons; in short:
 *
 * Each side is cut into blocks of equal length, and how much the blocks differ from each other says
 * how much their sum would differ if it were recorded again: samples and waits come in bursts, and
 * what is close in time is alike. Blocks that are like their neighbours tell less than others, and
 * count for less. Where counts are small, a few blocks may be alike by chance: there the error is
 * at least that of independent events.
 *
 * Pure: numbers in, numbers out.
 */
#ifndef THAW_DIFF_STATS_H
#define THAW_DIFF_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STATS_BLOCKS_MAX = 32 };

/* The sum of a side's blocks, and how sure it is. */
struct stats_sum {
	double sum;
	double var; /* of the sum */
	double dof; /* degrees of freedom that var was made from */
};

/*
 * x[i] is what block i has. With `per` (what it is to be divided by, a block each) only what is out
 * of proportion to it is error. n is from 4 to STATS_BLOCKS_MAX.
 */
void stats_blocks(const double *x, const double *per, size_t n, struct stats_sum *ret);

/* The least that the variance of a count is taken for: its own size, a 16th of that if it is large.
 */
double stats_floor(double count);

/* One side of a comparison: a sum in its own unit, and what one of these is worth in the common
 * unit. */
struct stats_side {
	struct stats_sum s;
	double unit;
};

struct stats_result {
	double before, after; /* in the common unit */
	double error;	      /* standard error of after - before */
	double dof;	      /* UINT32_MAX or more: normal */
	double p;	      /* two-sided: such a difference, or a larger one, by chance */
};

/*
 * noise: by how much of it a value may differ from one recording to the next for reasons that
 * neither shows; unit: how wrong the unit of `after` may be. Both are relative, one sigma. before
 * and after: what a side may have more or less of whatever its value is, in the common unit.
 */
struct stats_doubt {
	double noise, unit;
	double before, after;
};

void stats_compare(const struct stats_side *before, const struct stats_side *after,
		   const struct stats_doubt *doubt, struct stats_result *ret);

/* The one in the middle, or between the two; v is put in order. n is not 0. */
double stats_median(double *v, size_t n);

/*
 * Two counts of independent events that were looked for with the shares `share` and 1 - share of
 * the effort: how probable is it that they are so far apart? Exact, two-sided.
 */
double stats_counts(uint64_t before, uint64_t after, double share);

/* Student's t: the probability of |t| or more, and the t that has the probability p. */
double stats_t_tail(double t, double dof);
double stats_t_at(double p, double dof);

/*
 * Holm's correction: p[i] becomes the least level at which row i differs if the chance that any row
 * is called different without being so shall be no more than that level.
 */
void stats_holm(double *p, size_t n);

#endif
