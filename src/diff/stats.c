// SPDX-License-Identifier: MIT
#include "diff/stats.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sort.h"

enum { SMALL_COUNT = 64, LARGE_SHARE = 16 };

/*
 * How alike neighbours are (the autocorrelation at lag 1), for `left`, whose squares sum up to
 * `squares`. With few blocks the estimate is too small and unsure. So its average bias is added,
 * and half of its error: too much of it only makes the test more careful.
 */
static double likeness(const double *left, size_t n, double squares)
{
	double both = 0, r;

	for (size_t i = 1; i < n; i++)
		both += left[i - 1] * left[i];
	r = squares > 0 ? both / squares : 0;
	r += (1 + 4 * (r > 0 ? r : 0)) / (double)n + 0.5 / sqrt((double)n);
	return r < 0 ? 0 : r > 0.9 ? 0.9 : r;
}

void stats_blocks(const double *x, const double *per, size_t n, struct stats_sum *ret)
{
	double left[STATS_BLOCKS_MAX], sum = 0, all = 0, mean = 0, squares = 0, r, more;

	for (size_t i = 0; i < n; i++) {
		sum += x[i];
		all += per ? per[i] : 0;
	}
	for (size_t i = 0; i < n; i++) {
		left[i] = x[i] - (all > 0 ? sum / all * per[i] : 0);
		mean += left[i] / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		left[i] -= mean;
		squares += left[i] * left[i];
	}
	r = likeness(left, n, squares);
	more = (1 + r) / (1 - r);
	ret->sum = sum;
	ret->var = (double)n * squares / (double)(n - 1) * more;
	ret->dof = (double)(n - 1) / more;
}

double stats_floor(double count)
{
	double least = count < SMALL_COUNT ? count : SMALL_COUNT;

	return count / LARGE_SHARE > least ? count / LARGE_SHARE : least;
}

void stats_compare(const struct stats_side *a, const struct stats_side *b,
		   const struct stats_doubt *doubt, struct stats_result *ret)
{
	double va = a->s.var * a->unit * a->unit, vb = b->s.var * b->unit * b->unit;
	double before = a->s.sum * a->unit, after = b->s.sum * b->unit;
	double var = va + vb + doubt->noise * doubt->noise * (before * before + after * after) +
		     doubt->unit * doubt->unit * after * after + doubt->before * doubt->before +
		     doubt->after * doubt->after;
	double parts = va * va / a->s.dof + vb * vb / b->s.dof;

	ret->before = before;
	ret->after = after;
	ret->error = sqrt(var);
	ret->dof = parts > 0 ? var * var / parts : INFINITY;
	if (before == after)
		ret->p = 1;
	else
		ret->p = var > 0 ? stats_t_tail((after - before) / ret->error, ret->dof) : 0;
}

/* The continued fraction of the incomplete beta function, by Lentz's method. */
static double beta_fraction(double a, double b, double x)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	h = d;
	for (int m = 1; m < 10000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		for (int k = 0; k < 2; k++) {
			double f = k ? odd : even;

			d = 1 + f * d;
			c = 1 + f / c;
			d = 1 / (fabs(d) < tiny ? tiny : d);
			c = fabs(c) < tiny ? tiny : c;
			step = d * c;
			h *= step;
		}
		if (fabs(step - 1) < 1e-12)
			break;
	}
	return h;
}

/* The regularised incomplete beta function I_x(a, b). */
static double beta(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats_t_tail(double t, double dof)
{
	if (!(dof < 1e6))
		return erfc(fabs(t) / sqrt(2));
	return beta(dof / 2, 0.5, dof / (dof + t * t));
}

double stats_t_at(double p, double dof)
{
	double low = 0, high = 1;

	while (stats_t_tail(high, dof) > p && high < 1e12)
		high *= 2;
	for (int i = 0; i < 100; i++) {
		double mid = (low + high) / 2;

		if (stats_t_tail(mid, dof) > p)
			low = mid;
		else
			high = mid;
	}
	return high;
}

double stats_counts(uint64_t before, uint64_t after, double share)
{
	double k = (double)before, n = (double)before + (double)after;
	double most = before ? beta(k, n - k + 1, share) : 1;	  /* as many or more before */
	double least = after ? beta(n - k, k + 1, 1 - share) : 1; /* as many or fewer */
	double p = 2 * (most < least ? most : least);

	return p < 1 ? p : 1;
}

static int by_value(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;

	return (a > b) - (a < b);
}

double stats_median(double *v, size_t n)
{
	sort_by(v, n, sizeof(*v), by_value);
	return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

static int ascending(const void *pa, const void *pb)
{
	double a = **(double *const *)pa, b = **(double *const *)pb;

	return (a > b) - (a < b);
}

void stats_holm(double *p, size_t n)
{
	double **order = mem_alloc((n + 1) * sizeof(*order)), most = 0;

	for (size_t i = 0; i < n; i++)
		order[i] = &p[i];
	sort_by(order, n, sizeof(*order), ascending);
	for (size_t i = 0; i < n; i++) {
		double level = *order[i] * (double)(n - i);

		most = level > most ? level : most;
		*order[i] = most < 1 ? most : 1;
	}
	free(order);
}
