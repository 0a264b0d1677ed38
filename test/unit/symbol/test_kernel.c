// SPDX-License-Identifier: MIT
/* Kernel symbols: from a text with a known truth, and from the running kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "base/err.h"
#include "symbol/symbol.h"
#include "symbol/table.h"

static struct symbols *parse(const char *text)
{
	struct symbols *s = NULL;
	struct buf b = {0};

	buf_put(&b, text, strlen(text));
	assert_int_equal(kallsyms_parse(&b, &s), 0);
	return s;
}

static void test_functions_and_modules(void **state)
{
	struct symbols *s = parse("ffffffff81000000 T _text\n"
				  "ffffffff81000000 T startup_64\n"
				  "ffffffff81000200 t local_one\n"
				  "ffffffff81000200 W weak_one\n"
				  "ffffffff81001000 D data_here\n"
				  "ffffffff82000000 T last\n"
				  "ffffffffc0201000 t ext4_read\t[ext4]\n"
				  "ffffffffc0200000 t ext4_write\t[ext4]\n");
	uint64_t distance = 0;

	assert_int_equal(symbols_count(s), 5);
	assert_string_equal(symbols_find(s, 0xffffffff81000010, &distance), "startup_64");
	assert_int_equal(distance, 0x10);
	assert_string_equal(symbols_find(s, 0xffffffff81000200, NULL), "weak_one");
	assert_string_equal(symbols_find(s, 0xffffffffc0200fff, NULL), "ext4_write [ext4]");
	assert_string_equal(symbols_find(s, 0xffffffffc0201004, NULL), "ext4_read [ext4]");
	assert_null(symbols_find(s, 0xffffffff80ffffff, NULL));
	/* Between the kernel and its modules lies nothing. */
	assert_null(symbols_find(s, 0xffffffffa0000000, NULL));
	symbols_free(s);
}

static void test_hidden_addresses(void **state)
{
	struct symbols *s = NULL;
	struct buf b = {0};

	buf_printf(&b, "0000000000000000 T _text\n0000000000000000 t other\n");
	assert_int_equal(kallsyms_parse(&b, &s), -EPERM);
	assert_non_null(strstr(err_msg(), "kptr_restrict"));
	assert_null(s);
}

static void test_odd_lines_are_skipped(void **state)
{
	struct symbols *s = parse("\n\nfffffffffffffffff T too_long\nxyz T a\n10 T\n10\n"
				  "10 T \n20 t whole\n30 t");

	assert_int_equal(symbols_count(s), 1);
	assert_string_equal(symbols_find(s, 0x21, NULL), "whole");
	symbols_free(s);
}

/*
 * About 60 ms, and five times that under the sanitizers: the limit is there for a mistake of
 * degree. CPU time, because the machine may have other things to do.
 */
static void test_two_hundred_thousand_lines(void **state)
{
	struct symbols *s = NULL;
	struct buf b = {0};
	clock_t started;

	for (unsigned i = 0; i < 200000; i++)
		buf_printf(&b, "%016llx t some_function_with_a_name_%u\n",
			   0xffffffff81000000ull + i * 64ull * 7919 % (200000 * 64), i);
	started = clock();
	assert_int_equal(kallsyms_parse(&b, &s), 0);
	assert_true(clock() - started < 2 * CLOCKS_PER_SEC);
	assert_int_equal(symbols_count(s), 200000);
	symbols_free(s);
}

/* Every function of the file itself must be found by its address, or an alias at that address. */
static void test_running_kernel(void **state)
{
	struct symbols *s = NULL;
	uint64_t address, distance;
	char line[512], type;
	size_t checked = 0;
	int rc = symbols_load_kernel(&s);
	FILE *f;

	if (rc) {
		print_message("no kernel symbols here: %s\n", err_msg());
		skip();
	}
	f = fopen("/proc/kallsyms", "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %c", &address, &type) != 2 || !strchr("tT", type))
			continue;
		if (strchr(line, '[')) /* modules and BPF programs come and go */
			continue;
		assert_non_null(symbols_find(s, address, &distance));
		assert_int_equal(distance, 0);
		if (checked++ > 50000)
			break;
	}
	fclose(f);
	assert_true(checked > 1000);
	assert_null(symbols_find(s, 0x1000, NULL));
	symbols_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_and_modules),
		cmocka_unit_test(test_hidden_addresses),
		cmocka_unit_test(test_odd_lines_are_skipped),
		cmocka_unit_test(test_two_hundred_thousand_lines),
		cmocka_unit_test(test_running_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
