// SPDX-License-Identifier: MIT
/* Which file systems are left alone, and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/sysmacros.h>
#include <cmocka.h>

#include "scout/silent.h"

static void test_spared(void **state)
{
	struct silent s = {0};
	uint64_t now = 100 * NSEC_PER_SEC;

	assert_false(silent_is(&s, 7, now));
	silent_note(&s, 7, now);
	assert_true(silent_is(&s, 7, now + SILENT_SPARE_NS - 1));
	assert_false(silent_is(&s, 8, now));
	assert_false(silent_is(&s, 7, now + SILENT_SPARE_NS));
	/* An unknown device cannot be told from others. */
	silent_note(&s, 0, now);
	assert_false(silent_is(&s, 0, now));
	silent_done(&s);
}

/* Slow is not silent; but whoever is slow again and again is left alone like the others. */
static void test_excused(void **state)
{
	struct silent s = {0};
	uint64_t now = 100 * NSEC_PER_SEC;
	unsigned excused = 0;

	silent_excuse(&s, 7);
	for (int i = 0; i < 100; i++) {
		silent_note(&s, 7, now);
		assert_true(silent_is(&s, 7, now));
		silent_excuse(&s, 7);
		excused += !silent_is(&s, 7, now);
	}
	assert_true(excused > 0 && excused < 10);
	assert_true(silent_is(&s, 7, now));
	silent_done(&s);
}

/* However many there are, the last ones are known. */
static void test_many(void **state)
{
	struct silent s = {0};

	for (uint64_t i = 1; i <= 100000; i++)
		silent_note(&s, i, i);
	assert_true(s.devices.n < 1000);
	for (uint64_t i = 100000 - 100; i <= 100000; i++)
		assert_true(silent_is(&s, i, 100000));
	silent_done(&s);
}

static void test_disk(void **state)
{
	assert_true(silent_is_disk(makedev(8, 1)));
	assert_false(silent_is_disk(makedev(0, 52)));
	assert_false(silent_is_disk(0));
}

/* A slow disk is waited for, whatever others did; who claims to be one is not for ever. */
static void test_patience(void **state)
{
	const struct silent_patience p = {
		.disk_ns = 40, .other_ns = 10, .impatient_ns = 2, .stalls = 3};
	uint64_t disk = makedev(8, 1), served = makedev(0, 52);

	for (unsigned stalls = 0; stalls < 10; stalls++) {
		bool patient = stalls < 3;

		assert_int_equal(silent_patience(&p, disk, true, stalls), 40);
		assert_int_equal(silent_patience(&p, disk, false, stalls), patient ? 40 : 2);
		for (int certain = 0; certain < 2; certain++) {
			assert_int_equal(silent_patience(&p, served, certain, stalls),
					 patient ? 10 : 2);
			assert_int_equal(silent_patience(&p, 0, certain, stalls), patient ? 10 : 2);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spared),	 cmocka_unit_test(test_excused),
		cmocka_unit_test(test_many),	 cmocka_unit_test(test_disk),
		cmocka_unit_test(test_patience),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
