// SPDX-License-Identifier: MIT
/*
 * The pace of a machine. Two runs of one program do the same work, but hardly ever in the same
 * time: a CPU's clock, a neighbour on the same core, a hypervisor make all of it slower or faster.
 * Nothing in a recording says so; but it is the same for all functions, and a change of the program
 * is not.
 *
 * So the pace is the median of the functions' ratios of after to before. It stays right as long as
 * fewer than half of the functions have changed, however much these did. With too few functions to
 * tell, it is the ratio of all time on a CPU.
 */
#include <math.h>

#include "diff/diff.h"

enum { ENOUGH_FUNCTIONS = 3, ENOUGH_SAMPLES = 50 };
#define ENOUGH_SHARE 0.01

/* The variance of the logarithm of a sum. */
static double relative(const struct stats_sum *s)
{
	return s->var / (s->sum * s->sum);
}

static double noise(const struct diff *d)
{
	return 2 * d->opts.noise * d->opts.noise;
}

/* The error of a median of values with these variances: that of their mean, times a factor. */
static double median_error(double vars, size_t n)
{
	return sqrt(M_PI / 2 * vars) / (double)n;
}

void diff_pace_take(struct diff *d)
{
	double *ratios = mem_alloc((d->rows.n + 1) * sizeof(*ratios)), vars = 0, found;
	struct diff_pace *p = &d->pace;
	size_t n = 0;

	for (size_t i = 0; i < d->rows.n; i++) {
		const struct diff_row *r = &d->rows.v[i];
		struct stats_sum a, b;

		if (r->kind != DIFF_SELF || !r->a || !r->b || r->a->sum < ENOUGH_SAMPLES ||
		    r->b->sum < ENOUGH_SAMPLES ||
		    (double)r->a->sum < ENOUGH_SHARE * (double)d->a->s->samples)
			continue;
		diff_sum(d, d->a, r->kind, r->a, stats_floor((double)r->a->sum), &a);
		diff_sum(d, d->b, r->kind, r->b, stats_floor((double)r->b->sum), &b);
		ratios[n++] = log(b.sum * d->b->period / (a.sum * d->a->period));
		vars += relative(&a) + relative(&b);
	}
	if (n >= ENOUGH_FUNCTIONS) {
		p->functions = n;
		p->ratio = exp(stats_median(ratios, n));
		p->error = median_error(vars, n);
	} else if (d->a->cpu_sum > 0 && d->b->cpu_sum > 0) {
		p->ratio = d->b->cpu_sum / d->a->cpu_sum;
	}
	found = sqrt(p->error * p->error + noise(d));
	p->differs = found > 0 && erfc(fabs(log(p->ratio)) / found / sqrt(2)) <= d->opts.alpha;
	free(ratios);
}
