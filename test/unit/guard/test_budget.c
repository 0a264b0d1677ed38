// SPDX-License-Identifier: MIT
/* When thaw uses too much, and what it gives up then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "guard/budget.h"

#define MS 1000000ull
#define S 1000000000ull
#define T0 (77 * S)

/* Feeds `share` (millionths of `cpus` CPUs) for `ns` in steps of 250 ms; how often it was over. */
struct feed {
	struct budget b;
	uint64_t now, used, cpus;
	uint64_t last_share;
};

static void begin(struct feed *f, uint64_t limit, uint64_t cpus)
{
	*f = (struct feed){.now = T0, .used = 5 * S, .cpus = cpus};
	budget_init(&f->b, limit, cpus, f->now);
}

static unsigned feed(struct feed *f, uint64_t ns, uint64_t share)
{
	unsigned over = 0;

	for (uint64_t done = 0; done < ns; done += 250 * MS) {
		f->now += 250 * MS;
		f->used += 250 * MS / 1000 * f->cpus * share / 1000;
		over += budget_over(&f->b, f->now, f->used, &f->last_share);
	}
	return over;
}

static void test_share_of_the_machine(void **state)
{
	struct feed f;

	/* 3% of 64 CPUs are nearly two CPUs. */
	begin(&f, 30000, 64);
	assert_int_equal(feed(&f, 30 * S, 29900), 0);
	assert_in_range(f.last_share, 29800, 30000);
	assert_int_equal(feed(&f, 30 * S, 30300), 7);
	/* The same CPU time on one CPU is far too much. */
	begin(&f, 30000, 1);
	assert_true(feed(&f, 30 * S, 500000) > 0);
}

static void test_start_does_not_count(void **state)
{
	struct feed f;

	begin(&f, 30000, 2);
	assert_int_equal(feed(&f, BUDGET_START_NS, 900000), 0);
	assert_int_equal(feed(&f, 20 * S, 10000), 0);
	assert_in_range(f.last_share, 9900, 10100);
}

/* A burst within a window counts for what it is over the window. */
static void test_bursts(void **state)
{
	struct feed f;
	unsigned over = 0;

	begin(&f, 30000, 2);
	feed(&f, BUDGET_START_NS, 0);
	for (int i = 0; i < 20; i++) {
		over += feed(&f, 250 * MS, 200000);
		over += feed(&f, BUDGET_WINDOW_NS - 250 * MS, 10000);
	}
	assert_int_equal(over, 0);
}

static void test_no_limit(void **state)
{
	struct feed f;

	begin(&f, BUDGET_WHOLE, 2);
	assert_int_equal(feed(&f, 60 * S, 1000000), 0);
	begin(&f, 1, 2);
	assert_true(feed(&f, 60 * S, 100) > 10);
}

/* A whole window passes after a restart, and what was used before it is forgotten. */
static void test_restart(void **state)
{
	struct feed f;

	begin(&f, 30000, 2);
	feed(&f, BUDGET_START_NS + BUDGET_WINDOW_NS - 500 * MS, 500000);
	budget_restart(&f.b, f.now, f.used);
	assert_int_equal(feed(&f, BUDGET_WINDOW_NS - 250 * MS, 500000), 0);
	assert_int_equal(feed(&f, 250 * MS, 500000), 1);
	/* Nobody looked for an hour, and CPU time that was counted twice was taken back. */
	f.now += 3600 * S;
	f.used -= S;
	assert_false(budget_over(&f.b, f.now, f.used, &f.last_share));
	assert_int_equal(f.last_share, 0);
}

/* Building tables is free at first, and counts then like everything else. */
static void test_building(void **state)
{
	uint64_t other = 3 * S, free = 8 * S, last = 0;

	for (uint64_t build = 0; build <= 20 * S; build += S / 4) {
		uint64_t counted = budget_counted(other + build, build, free);

		assert_int_equal(counted, other + (build > free ? build - free : 0));
		/* A builder that goes on and on uses the budget up. */
		assert_true(build <= free || counted == last + S / 4);
		last = counted;
	}
	assert_int_equal(budget_counted(S, 2 * S, free), 0);
}

static void test_ladder(void **state)
{
	struct ladder l;

	ladder_init(&l, true, true, true);
	assert_int_equal(ladder_next(&l, ALARM_NOTE), STEP_NOTED);
	assert_int_equal(ladder_next(&l, ALARM_LOAD), STEP_RATE);
	assert_int_equal(ladder_next(&l, ALARM_LOAD), STEP_WAIT_STACKS);
	assert_int_equal(ladder_next(&l, ALARM_LOAD), STEP_SAMPLES);
	assert_int_equal(ladder_next(&l, ALARM_LOAD), STEP_DETACH);
	assert_int_equal(ladder_next(&l, ALARM_LOAD), STEP_NOTED);
	assert_int_equal(ladder_next(&l, ALARM_GRAVE), STEP_NOTED);
}

static void test_ladder_of_samples(void **state)
{
	struct ladder l;

	/* Slow interrupts cost the samples, not the recording. */
	ladder_init(&l, true, true, true);
	assert_int_equal(ladder_next(&l, ALARM_SAMPLING), STEP_RATE);
	assert_int_equal(ladder_next(&l, ALARM_SAMPLING), STEP_SAMPLES);
	assert_int_equal(ladder_next(&l, ALARM_SAMPLING), STEP_NOTED);
	assert_int_equal(ladder_next(&l, ALARM_LOAD), STEP_WAIT_STACKS);
	assert_int_equal(ladder_next(&l, ALARM_LOAD), STEP_DETACH);
	/* Slow enough already. */
	ladder_init(&l, false, true, true);
	assert_int_equal(ladder_next(&l, ALARM_SAMPLING), STEP_SAMPLES);
	/* There are none. */
	ladder_init(&l, false, false, false);
	assert_int_equal(ladder_next(&l, ALARM_SAMPLING), STEP_NOTED);
	assert_int_equal(ladder_next(&l, ALARM_LOAD), STEP_DETACH);
}

static void test_ladder_in_an_emergency(void **state)
{
	struct ladder l;

	ladder_init(&l, true, true, true);
	assert_int_equal(ladder_next(&l, ALARM_GRAVE), STEP_DETACH);
	assert_int_equal(ladder_next(&l, ALARM_SAMPLING), STEP_NOTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share_of_the_machine),
		cmocka_unit_test(test_start_does_not_count),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_no_limit),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_building),
		cmocka_unit_test(test_ladder),
		cmocka_unit_test(test_ladder_of_samples),
		cmocka_unit_test(test_ladder_in_an_emergency),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
