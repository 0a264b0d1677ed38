// SPDX-License-Identifier: MIT
/* Which runs of the probes are timed, and when they are found to be slow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire/fuse.h"

#define US 1000ull
#define FAST (300ull)
#define STOLEN (20 * 1000 * US)

static void test_one_slow_run_is_the_hypervisor(void **state)
{
	__u64 row = 0;

	for (int i = 0; i < 1000; i++)
		assert_false(fuse_slow(&row, i % 7 ? FAST : STOLEN));
	/* Even a bad hour: all but one in FUSE_ROW. */
	for (unsigned i = 0; i < 1000; i++)
		assert_false(fuse_slow(&row, (i + 1) % FUSE_ROW ? STOLEN : FAST));
}

static void test_slow_again_and_again(void **state)
{
	__u64 row = 0;

	for (unsigned i = 0; i < FUSE_ROW - 1; i++)
		assert_false(fuse_slow(&row, FUSE_SLOW_NS));
	assert_true(fuse_slow(&row, FUSE_SLOW_NS));
	/* Just below the limit is not slow, however often. */
	row = 0;
	for (unsigned i = 0; i < 1000; i++)
		assert_false(fuse_slow(&row, FUSE_SLOW_NS - 1));
}

/* So many of n runs that are `step` ns apart are timed. */
static double picked(uint64_t begin, uint64_t step, unsigned n)
{
	unsigned count = 0;

	for (unsigned i = 0; i < n; i++)
		count += fuse_picks(begin + i * step) != 0;
	return (double)count / n;
}

/*
 * One in FUSE_TIMED stands for all, so it has to be one in FUSE_TIMED: whatever the clock's grain,
 * and however regular the runs are.
 */
static void test_one_in_so_many(void **state)
{
	static const uint64_t steps[] = {1,    2,    4,	   10,	 16,   64,    100,
					 1000, 1400, 2800, 4096, 3001, 40000, 1000000};
	static const uint64_t begins[] = {0, 12345678901ull, 26756148724615ull};

	for (size_t b = 0; b < sizeof(begins) / sizeof(begins[0]); b++) {
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
			double share = picked(begins[b], steps[i], 200000) * FUSE_TIMED;

			if (share < 0.9 || share > 1.1)
				fail_msg("from %llu, every %llu ns: %.2f of what it should be",
					 (unsigned long long)begins[b],
					 (unsigned long long)steps[i], share);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_slow_run_is_the_hypervisor),
		cmocka_unit_test(test_slow_again_and_again),
		cmocka_unit_test(test_one_in_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
