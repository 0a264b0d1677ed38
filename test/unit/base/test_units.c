// SPDX-License-Identifier: MIT
/* Durations, sizes and counts as people write and read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/units.h"

static void test_parse_duration(void **state)
{
	static const struct {
		const char *s;
		uint64_t ns;
	} good[] = {
		{"50us", 50000},       {"10ms", 10000000}, {"2s", 2000000000},
		{"1.5m", 90000000000}, {"0", 0},	   {"3", 3000000},
		{"1h", 3600000000000}, {"0.5us", 500},	   {"2min", 120000000000},
		{".5ms", 500000},      {"7ns", 7},
	};
	static const char *const bad[] = {"",	  "ms",	   "-1s", "1 s", "1x",
					  "0x10", "1e3ms", "inf", "nan", "1.2.3s",
					  ".",	  "10mss", "+1s", "1s ", "99999999999999h"};
	uint64_t ns;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(units_parse_duration(good[i].s, NSEC_PER_MSEC, &ns), 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ns = 42;
		if (!units_parse_duration(bad[i], NSEC_PER_MSEC, &ns))
			fail_msg("'%s' was taken for a duration", bad[i]);
		assert_int_equal(ns, 42);
		assert_non_null(strstr(err_msg(), bad[i]));
	}
}

static void test_parse_size_and_number(void **state)
{
	uint64_t v;

	assert_int_equal(units_parse_size("4096", &v), 0);
	assert_int_equal(v, 4096);
	assert_int_equal(units_parse_size("64K", &v), 0);
	assert_int_equal(v, 65536);
	assert_int_equal(units_parse_size("1.5g", &v), 0);
	assert_int_equal(v, 3ull << 29);
	assert_int_equal(units_parse_size("1T", &v), -EINVAL);
	assert_int_equal(units_parse_size("0x10", &v), -EINVAL);
	assert_int_equal(units_parse_u64("18446744073709551615", &v), 0);
	assert_true(v == UINT64_MAX);
	assert_int_equal(units_parse_u64("18446744073709551616", &v), -EINVAL);
	assert_int_equal(units_parse_u64("-1", &v), -EINVAL);
	assert_int_equal(units_parse_u64("", &v), -EINVAL);
	assert_int_equal(units_parse_u64("12x", &v), -EINVAL);
	assert_int_equal(units_parse_u64(" 12", &v), -EINVAL);
}

static void test_write_duration(void **state)
{
	static const struct {
		uint64_t ns;
		const char *s;
	} rows[] = {
		{0, "0ns"},
		{999, "999ns"},
		{1000, "1.00us"},
		{9994, "9.99us"},
		{9995, "10.0us"},
		{99949, "99.9us"},
		{99950, "100us"},
		{999499, "999us"},
		{999500, "1.00ms"},
		{999999, "1.00ms"},
		{80123456, "80.1ms"},
		{999499999, "999ms"},
		{999500000, "1.00s"},
		{2500000000, "2.50s"},
		{99949999999, "99.9s"},
		{99950000000, "1m40s"},
		{723000000000, "12m03s"},
		{3599499999999, "59m59s"},
		{3599500000000, "1h00m"},
		{7384000000000, "2h03m"},
		{UINT64_MAX - NSEC_PER_SEC, "5124095h"},
	};
	char out[16];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(units_duration(out, sizeof(out), rows[i].ns), rows[i].s);
}

/* Nobody writes 1000us: not at any edge, and never more than eight characters. */
static void test_durations_are_short(void **state)
{
	char out[32];

	for (uint64_t ns = 1; ns < 1ull << 62; ns += ns / 1000 + 1) {
		units_duration(out, sizeof(out), ns);
		if (strlen(out) > 8 || strstr(out, "m60s") ||
		    (!strncmp(out, "1000", 4) && !strchr(out, 'h')))
			fail_msg("%llu ns became '%s'", (unsigned long long)ns, out);
	}
	/* All of it: also past the point where adding half a second would wrap. */
	assert_string_equal(units_duration(out, sizeof(out), UINT64_MAX), "5124095h");
}

static void test_write_size_and_count(void **state)
{
	char out[32];

	assert_string_equal(units_size(out, sizeof(out), 0), "0 B");
	assert_string_equal(units_size(out, sizeof(out), 1023), "1023 B");
	assert_string_equal(units_size(out, sizeof(out), 1024), "1.0 KiB");
	assert_string_equal(units_size(out, sizeof(out), 1048575), "1.0 MiB");
	assert_string_equal(units_size(out, sizeof(out), 300ull << 20), "300 MiB");
	assert_string_equal(units_count(out, sizeof(out), 999), "999");
	assert_string_equal(units_count(out, sizeof(out), 1000), "1.0k");
	assert_string_equal(units_count(out, sizeof(out), 99949), "99.9k");
	assert_string_equal(units_count(out, sizeof(out), 99950), "100k");
	assert_string_equal(units_count(out, sizeof(out), 999499), "999k");
	assert_string_equal(units_count(out, sizeof(out), 999500), "1.0M");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_duration),
		cmocka_unit_test(test_parse_size_and_number),
		cmocka_unit_test(test_write_duration),
		cmocka_unit_test(test_durations_are_short),
		cmocka_unit_test(test_write_size_and_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
