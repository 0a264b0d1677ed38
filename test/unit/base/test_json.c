// SPDX-License-Identifier: MIT
/* The JSON writer: by the exact text, and by a parser that is not ours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>
#include <unistd.h>

#include "base/json.h"

static char text[8192];

static FILE *begin(struct json *j)
{
	FILE *f = fmemopen(text, sizeof(text), "w");

	assert_non_null(f);
	json_init(j, f);
	return f;
}

static void test_shape(void **state)
{
	struct json j;
	FILE *f = begin(&j);

	json_obj(&j, NULL);
	json_u64(&j, "max", UINT64_MAX);
	json_i64(&j, "min", INT64_MIN);
	json_arr(&j, "list");
	json_bool(&j, NULL, true);
	json_null(&j, NULL);
	json_obj(&j, NULL);
	json_obj_end(&j);
	json_arr(&j, NULL);
	json_arr_end(&j);
	json_arr_end(&j);
	json_f64(&j, "half", 0.5);
	json_f64(&j, "nan", NAN);
	json_f64(&j, "inf", INFINITY);
	json_str(&j, "none", NULL);
	json_obj_end(&j);
	fclose(f);
	assert_string_equal(text, "{\n"
				  " \"max\": 18446744073709551615,\n"
				  " \"min\": -9223372036854775808,\n"
				  " \"list\": [\n"
				  "  true,\n"
				  "  null,\n"
				  "  {},\n"
				  "  []\n"
				  " ],\n"
				  " \"half\": 0.5,\n"
				  " \"nan\": null,\n"
				  " \"inf\": null,\n"
				  " \"none\": null\n"
				  "}\n");
}

static const char *decimal_of(uint64_t val, unsigned digits)
{
	struct json j;
	FILE *f = begin(&j);

	json_decimal(&j, NULL, val, digits);
	fclose(f);
	return text;
}

static void test_decimals(void **state)
{
	assert_string_equal(decimal_of(0, 3), "0");
	assert_string_equal(decimal_of(1, 3), "0.001");
	assert_string_equal(decimal_of(1500, 3), "1.5");
	assert_string_equal(decimal_of(1000000, 3), "1000");
	assert_string_equal(decimal_of(1020304, 6), "1.020304");
	assert_string_equal(decimal_of(UINT64_MAX, 6), "18446744073709.551615");
}

static const char *string_of(const char *s)
{
	struct json j;
	FILE *f = begin(&j);

	json_str(&j, NULL, s);
	fclose(f);
	return text;
}

static void test_strings(void **state)
{
	assert_string_equal(string_of("a\"b\\c/"), "\"a\\\"b\\\\c/\"");
	assert_string_equal(string_of("\1\n\t\x1f\x7f"), "\"\\u0001\\u000a\\u0009\\u001f\\u007f\"");
	assert_string_equal(string_of("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
			    "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80\"");
	/* What a terminal would obey, as numbers: those beyond 16 bits as pairs. */
	assert_string_equal(string_of("\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81"),
			    "\"\\u009b\\u202e\\udb40\\udc41\"");
}

#define FFFD "\xef\xbf\xbd"

/* A thread may be named anything: half a character, a surrogate, more bytes than it needs. */
static void test_invalid_utf8(void **state)
{
	assert_string_equal(string_of("\xff"), "\"" FFFD "\"");
	assert_string_equal(string_of("a\xc3"), "\"a" FFFD "\"");
	assert_string_equal(string_of("\xe2\x82"), "\"" FFFD FFFD "\"");
	assert_string_equal(string_of("\xc3\"x"), "\"" FFFD "\\\"x\"");
	assert_string_equal(string_of("\xc0\x80"), "\"" FFFD FFFD "\"");
	assert_string_equal(string_of("\xed\xa0\x80"), "\"" FFFD FFFD FFFD "\"");
	assert_string_equal(string_of("\xe0\x80\xaf"), "\"" FFFD FFFD FFFD "\"");
	assert_string_equal(string_of("\xf4\x90\x80\x80"), "\"" FFFD FFFD FFFD FFFD "\"");
	assert_string_equal(string_of("\xf8\x88\x80\x80\x80"), "\"" FFFD FFFD FFFD FFFD FFFD "\"");
}

static void test_into_a_buffer(void **state)
{
	struct buf b = {0};
	struct json j;

	buf_printf(&b, "> ");
	json_init_buf(&j, &b);
	j.tight = true;
	json_obj(&j, NULL);
	json_u64(&j, "zero", 0);
	json_arr(&j, "list");
	json_str(&j, NULL, "a b");
	json_null(&j, NULL);
	json_raw(&j, NULL, "[1,2]", 5);
	json_arr_end(&j);
	json_obj_end(&j);
	assert_string_equal(buf_cstr(&b), "> {\"zero\":0,\"list\":[\"a b\",null,[1,2]]}\n");
	buf_done(&b);
}

static void test_a_real_parser_reads_it(void **state)
{
	char path[] = "/tmp/thaw-json-XXXXXX", command[256];
	uint32_t r = 1;
	struct json j;
	FILE *f;

	if (system("command -v python3 >/dev/null 2>&1") != 0)
		skip();
	f = fdopen(mkstemp(path), "w");
	assert_non_null(f);
	json_init(&j, f);
	json_arr(&j, NULL);
	for (int i = 0; i < 2000; i++) {
		char s[9] = "";

		for (int k = 0; k < 8; k++) {
			r = r * 1664525 + 1013904223;
			s[k] = (char)(r >> 24);
		}
		json_obj(&j, NULL);
		json_str(&j, s, s);
		json_obj_end(&j);
	}
	json_arr_end(&j);
	fclose(f);
	snprintf(command, sizeof(command),
		 "python3 -c 'import json,sys; d = json.load(open(sys.argv[1], "
		 "encoding=\"utf-8\")); "
		 "sys.exit(not (len(d) == 2000 and all(k == v for o in d for k, v in o.items())))' "
		 "%s",
		 path);
	assert_int_equal(system(command), 0);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shape),	      cmocka_unit_test(test_decimals),
		cmocka_unit_test(test_strings),	      cmocka_unit_test(test_invalid_utf8),
		cmocka_unit_test(test_into_a_buffer), cmocka_unit_test(test_a_real_parser_reads_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
