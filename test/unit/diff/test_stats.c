// SPDX-License-Identifier: MIT
/* The statistics of a comparison, against tables and against chance itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/mem.h"
#include "diff/stats.h"
#include "unit/diff/chance.h"

static void near(double got, double want, double share)
{
	if (fabs(got - want) > share * fabs(want) + 1e-12)
		fail_msg("%.12g is not %.12g", got, want);
}

/* Any textbook's table of Student's t. */
static void test_t_is_the_tables(void **state)
{
	static const struct {
		double t, dof, p;
	} rows[] = {
		{12.706, 1, 0.05},  {63.657, 1, 0.01},	{4.303, 2, 0.05},    {2.228, 10, 0.05},
		{3.169, 10, 0.01},  {4.587, 10, 0.001}, {2.042, 30, 0.05},   {2.750, 30, 0.01},
		{1.960, 1e9, 0.05}, {2.576, 1e9, 0.01}, {3.291, 1e9, 0.001}, {0, 5, 1},
		{2.626, 100, 0.01},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		near(stats_t_tail(rows[i].t, rows[i].dof), rows[i].p, 2e-3);
		near(stats_t_tail(-rows[i].t, rows[i].dof), rows[i].p, 2e-3);
		if (rows[i].t > 0)
			near(stats_t_at(rows[i].p, rows[i].dof), rows[i].t, 1e-3);
	}
	/* With one degree of freedom it is Cauchy's: exact, far out too. */
	near(stats_t_tail(1e6, 1), 2 / M_PI * atan(1e-6), 1e-6);
}

/* By counting the ways in which coins fall. */
static void test_counts_are_exact(void **state)
{
	near(stats_counts(0, 5, 0.5), 2.0 / 32, 1e-9);
	near(stats_counts(5, 0, 0.5), 2.0 / 32, 1e-9);
	near(stats_counts(3, 9, 0.5), 2 * 299.0 / 4096, 1e-9);
	near(stats_counts(9, 3, 0.5), 2 * 299.0 / 4096, 1e-9);
	near(stats_counts(7, 7, 0.5), 1, 1e-9);
	near(stats_counts(0, 0, 0.5), 1, 1e-9);
	/* Four times as long a look: two of two in the shorter one. */
	near(stats_counts(2, 0, 0.2), 2 * 0.04, 1e-9);
	near(stats_counts(20, 0, 0.5), 2 * pow(0.5, 20), 1e-6);
}

static void test_holm(void **state)
{
	double p[] = {0.01, 0.04, 0.03, 0.005}, one[] = {0.3}, many[] = {0.9, 0.8};

	stats_holm(p, 4);
	near(p[3], 0.02, 1e-12);
	near(p[0], 0.03, 1e-12);
	near(p[2], 0.06, 1e-12);
	near(p[1], 0.06, 1e-12);
	stats_holm(one, 1);
	near(one[0], 0.3, 1e-12);
	stats_holm(many, 2);
	near(many[0], 1, 1e-12);
	stats_holm(many, 0);
}

static void test_median(void **state)
{
	double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2};

	near(stats_median(odd, 3), 2, 1e-12);
	near(stats_median(even, 4), 2.5, 1e-12);
}

/* What is in proportion to the divisor is no error; what is not is. */
static void test_blocks(void **state)
{
	double flat[8] = {5, 5, 5, 5, 5, 5, 5, 5}, per[8] = {1, 2, 3, 4, 5, 6, 7, 8};
	double twice[8] = {2, 4, 6, 8, 10, 12, 14, 16}, burst[8] = {0, 0, 0, 40, 0, 0, 0, 0};
	struct stats_sum s;

	stats_blocks(flat, NULL, 8, &s);
	near(s.sum, 40, 1e-12);
	near(s.var, 0, 1e-12);
	stats_blocks(twice, per, 8, &s);
	near(s.sum, 72, 1e-12);
	near(s.var, 0, 1e-12);
	stats_blocks(twice, NULL, 8, &s);
	assert_true(s.var > 8 * 24); /* the variance of its blocks is 24 */
	/* All of it at once: as likely never. */
	stats_blocks(burst, NULL, 8, &s);
	assert_true(s.var >= 40 * 40);
	assert_true(stats_floor(10) == 10 && stats_floor(64) == 64 && stats_floor(100) == 64 &&
		    stats_floor(16000) == 1000);
}

enum { BLOCKS = 32, ROWS = 12 };

/* What a block has. */
enum scene {
	EVEN,	 /* counts of events that have nothing to do with each other */
	ALIKE,	 /* values that are half like those before */
	BURSTS,	 /* mostly nothing, and then a lot */
	CLUSTERS /* events that come in tens */
};

static double poisson(struct chance *c, double mean)
{
	double left = exp(-mean), n = -1;

	for (double p = 1; p > left; n++)
		p *= chance(c);
	return n;
}

static void scene_fill(enum scene scene, struct chance *c, double *x)
{
	double z = chance_normal(c);

	for (size_t i = 0; i < BLOCKS; i++) {
		z = i ? 0.5 * z + sqrt(0.75) * chance_normal(c) : z;
		if (scene == EVEN)
			x[i] = poisson(c, 20);
		else if (scene == ALIKE)
			x[i] = 100 + 10 * z;
		else if (scene == BURSTS)
			x[i] = chance(c) < 0.15 ? -100 * log(chance(c) + 1e-300) : 0;
		else
			x[i] = 10 * poisson(c, 3);
	}
}

/* Families of rows in which nothing has changed: in how many is any called different? */
static size_t false_alarms(enum scene scene, double alpha, size_t trials)
{
	struct chance c = {.state = 0x9e3779b97f4a7c15ull + scene};
	struct stats_doubt none = {0};
	size_t alarms = 0;

	for (size_t t = 0; t < trials; t++) {
		double p[ROWS];
		bool any = false;

		for (size_t k = 0; k < ROWS; k++) {
			struct stats_side a = {.unit = 1}, b = {.unit = 1};
			double x[BLOCKS], y[BLOCKS];
			struct stats_result r;

			scene_fill(scene, &c, x);
			scene_fill(scene, &c, y);
			stats_blocks(x, NULL, BLOCKS, &a.s);
			stats_blocks(y, NULL, BLOCKS, &b.s);
			stats_compare(&a, &b, &none, &r);
			p[k] = r.p;
		}
		stats_holm(p, ROWS);
		for (size_t k = 0; k < ROWS; k++)
			any |= p[k] <= alpha;
		alarms += any;
	}
	return alarms;
}

static void test_false_alarms(void **state)
{
	static const enum scene scenes[] = {EVEN, ALIKE, BURSTS, CLUSTERS};
	static const double alphas[] = {0.01, 0.05};
	const size_t trials = 3000;

	for (size_t i = 0; i < ARRAY_LEN(scenes); i++)
		for (size_t k = 0; k < ARRAY_LEN(alphas); k++) {
			size_t n = false_alarms(scenes[i], alphas[k], trials);

			if ((double)n > chance_most(alphas[k], (double)trials))
				fail_msg("scene %d: %zu of %zu at %g", scenes[i], n, trials,
					 alphas[k]);
		}
}

/* Values of a known error, and a change of six of them: it must be found nearly always. */
static void test_power(void **state)
{
	struct chance c = {.state = 0x2545f4914f6cdd1dull};
	struct stats_doubt none = {0};
	size_t found = 0, trials = 3000;

	for (size_t t = 0; t < trials; t++) {
		double x[BLOCKS], y[BLOCKS], error = 10 * sqrt(2.0 / BLOCKS);
		struct stats_side a = {.unit = 1}, b = {.unit = 1};
		struct stats_result r;

		for (size_t i = 0; i < BLOCKS; i++) {
			x[i] = 100 + 10 * chance_normal(&c);
			y[i] = 100 + 10 * chance_normal(&c) + 6 * error;
		}
		stats_blocks(x, NULL, BLOCKS, &a.s);
		stats_blocks(y, NULL, BLOCKS, &b.s);
		stats_compare(&a, &b, &none, &r);
		found += r.p * ROWS <= 0.01;
	}
	if ((double)found < 0.9 * (double)trials)
		fail_msg("%zu of %zu", found, trials);
}

/* Noise between runs, and a unit that is not known well, make it less sure. */
static void test_doubt(void **state)
{
	struct stats_side a = {{1000, 1, 31}, 1}, b = {{1050, 1, 31}, 1};
	struct stats_doubt none = {0}, noise = {.noise = 0.05}, unit = {.unit = 0.05};
	struct stats_doubt of_all = {.before = 30, .after = 40};
	struct stats_result r;

	stats_compare(&a, &b, &none, &r);
	assert_true(r.p < 1e-6);
	stats_compare(&a, &b, &noise, &r);
	assert_true(r.p > 0.3);
	near(r.error, 0.05 * sqrt(1000.0 * 1000 + 1050.0 * 1050), 1e-3);
	stats_compare(&a, &b, &unit, &r);
	assert_true(r.p > 0.2);
	stats_compare(&a, &b, &of_all, &r);
	near(r.error, 50, 0.1);
	b.unit = 1000.0 / 1050;
	stats_compare(&a, &b, &none, &r);
	near(r.p, 1, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_t_is_the_tables),
		cmocka_unit_test(test_counts_are_exact),
		cmocka_unit_test(test_holm),
		cmocka_unit_test(test_median),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_false_alarms),
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_doubt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
