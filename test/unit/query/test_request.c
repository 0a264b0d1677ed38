// SPDX-License-Identifier: MIT
/* Requests as a page sends them, and as nobody should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/err.h"
#include "query/request.h"

static void test_pairs(void **state)
{
	struct request r;

	assert_int_equal(
		request_parse(&r, "flame?kind=cpu&name=a%26b%3Dc+%C3%a9&empty=&flag&&x=%zz%4"), 0);
	assert_string_equal(r.name, "flame");
	assert_int_equal(r.n, 5);
	assert_string_equal(request_str(&r, "kind"), "cpu");
	assert_string_equal(request_str(&r, "name"), "a&b=c \xc3\xa9");
	assert_string_equal(request_str(&r, "empty"), "");
	assert_string_equal(request_str(&r, "flag"), "");
	assert_string_equal(request_str(&r, "x"), "%zz%4");
	assert_null(request_str(&r, "Kind"));
	request_done(&r);
}

static void refused(const char *text)
{
	struct request r;

	assert_true(request_parse(&r, text) < 0);
	request_done(&r);
}

static void test_refused(void **state)
{
	char *many = mem_zalloc(REQUEST_BYTES + 2);

	refused("at?x=%00");
	refused("at?%00=x");
	memset(many, 'a', REQUEST_BYTES + 1);
	refused(many);
	strcpy(many, "at?");
	for (unsigned i = 0; i <= REQUEST_KEYS; i++)
		strcat(many, "k=1&");
	refused(many);
	free(many);
}

static void test_numbers(void **state)
{
	static const char *const bad[] = {"-1",
					  "",
					  "+1",
					  "1+",
					  "0x1",
					  "1e3",
					  "101",
					  "18446744073709551616",
					  "99999999999999999999999"};
	struct request r;
	uint64_t n;

	assert_int_equal(request_parse(&r, "at?a=100&b=007"), 0);
	assert_int_equal(request_need(&r, "a", 100, &n), 0);
	assert_int_equal(n, 100);
	assert_int_equal(request_u64(&r, "b", 100, 5, &n), 0);
	assert_int_equal(n, 7);
	assert_int_equal(request_u64(&r, "c", 100, 5, &n), 0);
	assert_int_equal(n, 5);
	assert_true(request_need(&r, "c", 100, &n) < 0);
	assert_string_equal(err_msg(), "c is missing");
	request_done(&r);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char text[64];

		snprintf(text, sizeof(text), "at?a=%s", bad[i]);
		assert_int_equal(request_parse(&r, text), 0);
		assert_true(request_need(&r, "a", 100, &n) < 0);
		request_done(&r);
	}
}

static int range(const char *text, uint64_t duration, uint64_t *from, uint64_t *to)
{
	struct request r;
	int rc = request_parse(&r, text);

	rc = rc ? rc : request_range(&r, "from", "to", duration, from, to);
	request_done(&r);
	return rc;
}

static void test_ranges(void **state)
{
	uint64_t from, to;

	assert_int_equal(range("x", 50, &from, &to), 0);
	assert_true(from == 0 && to == 50);
	assert_int_equal(range("x?from=10&to=1000", 50, &from, &to), 0);
	assert_true(from == 10 && to == 1000);
	assert_int_equal(range("x", 0, &from, &to), 0);
	assert_true(range("x?from=10&to=10", 50, &from, &to) < 0);
	assert_true(range("x?from=11&to=10", 50, &from, &to) < 0);
	assert_true(range("x?from=60", 50, &from, &to) < 0);
	assert_true(range("x?to=18446744073709551615", 50, &from, &to) < 0);
}

static void test_lists(void **state)
{
	static const char *const bad[] = {"1,,2", ",", "1;2", "10", "-1", "1,x"};
	struct number_list l = {0};
	struct request r;

	assert_int_equal(request_parse(&r, "x?a=9,0,3&b=1,&c="), 0);
	assert_int_equal(request_list(&r, "a", 10, &l), 0);
	assert_true(l.n == 3 && l.v[0] == 9 && l.v[1] == 0 && l.v[2] == 3);
	free(l.v);
	assert_int_equal(request_list(&r, "b", 10, &l), 0);
	assert_int_equal(l.n, 1);
	free(l.v);
	assert_int_equal(request_list(&r, "c", 10, &l), 0);
	assert_int_equal(l.n, 0);
	assert_int_equal(request_list(&r, "d", 0, &l), 0);
	assert_int_equal(l.n, 0);
	assert_true(request_list(&r, "a", 0, &l) < 0);
	request_done(&r);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char text[64];

		snprintf(text, sizeof(text), "x?a=%s", bad[i]);
		assert_int_equal(request_parse(&r, text), 0);
		assert_true(request_list(&r, "a", 10, &l) < 0);
		request_done(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),	cmocka_unit_test(test_refused),
		cmocka_unit_test(test_numbers), cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
