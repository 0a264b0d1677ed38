/* SPDX-License-Identifier: MIT */
/*
 * How sure a difference is. docs/diff.md has the reasons; in short:
 *
 * Each side is cut into blocks of equal length. How much the blocks differ from each other shows
 * how much their sum would differ in another recording: samples and waits come in bursts. Blocks
 * that are like their neighbours tell less, and count for less. Where counts are small, a few
 * blocks may be alike by chance: there the error is taken to be at least that of independent
 * events.
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
 * x[i] is the value of block i. With `per`, a divisor for each block, only what is out of
 * proportion to it counts as error. n is from 4 to STATS_BLOCKS_MAX.
 */
void stats_blocks(const double *x, const double *per, size_t n, struct stats_sum *ret);

/* The least variance of a count: its own size, a 16th of that if it is large. */
double stats_floor(double count);

/* One side of a comparison: a sum in its own unit, and that unit in terms of the common one. */
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
 * noise: how much a value may differ between recordings for reasons that neither shows; unit: how
 * wrong the unit of `after` may be. Both are relative, one sigma. before and after: by how much a
 * side may vary whatever its value is, in the common unit.
 */
struct stats_doubt {
	double noise, unit;
	double before, after;
};

void stats_compare(const struct stats_side *before, const struct stats_side *after,
		   const struct stats_doubt *doubt, struct stats_result *ret);

/* Sorts v. n is not 0. */
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
 * Holm's correction: p[i] becomes the least level at which row i differs, where the level bounds
 * the chance that any row is called different without being so.
 */
void stats_holm(double *p, size_t n);

#endif
