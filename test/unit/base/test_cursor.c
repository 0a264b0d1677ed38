// SPDX-License-Identifier: MIT
/* The cursor at all its limits, and what buf writes read back through it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/cursor.h"

static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

static void test_reads_up_to_the_last_byte(void **state)
{
	struct cursor c = cur_init(bytes, 9);

	assert_int_equal(cur_u64(&c), 0x0807060504030201);
	assert_int_equal(cur_left(&c), 1);
	assert_false(cur_end(&c));
	assert_int_equal(cur_u8(&c), 9);
	assert_true(cur_end(&c));
	assert_true(cur_ok(&c));
	assert_non_null(cur_bytes(&c, 0));
	assert_true(cur_ok(&c));
}

static void test_error_sticks(void **state)
{
	struct cursor c = cur_init(bytes, 7);

	assert_int_equal(cur_u32(&c), 0x04030201);
	assert_int_equal(cur_u32(&c), 0); /* three bytes are left */
	assert_false(cur_ok(&c));
	assert_true(cur_end(&c));
	assert_int_equal(cur_left(&c), 0);
	assert_int_equal(cur_u8(&c), 0); /* although there is one */
	assert_null(cur_bytes(&c, 0));
	cur_seek(&c, 0);
	assert_int_equal(cur_u8(&c), 0);
}

static void test_sizes_that_would_wrap(void **state)
{
	struct cursor c = cur_init(bytes, 9);

	cur_skip(&c, 4);
	assert_null(cur_bytes(&c, SIZE_MAX));
	assert_false(cur_ok(&c));
}

static void test_seek_and_take(void **state)
{
	struct cursor c = cur_init(bytes, 9), part;

	cur_seek(&c, 3);
	part = cur_take(&c, 2);
	assert_int_equal(cur_u16(&part), 0x0504);
	assert_true(cur_end(&part));
	assert_int_equal(cur_u8(&part), 0);
	assert_false(cur_ok(&part));
	assert_int_equal(cur_u8(&c), 6);
	cur_seek(&c, 9);
	assert_true(cur_ok(&c));
	cur_seek(&c, 10);
	assert_false(cur_ok(&c));
	part = cur_take(&c, 0);
	assert_false(cur_ok(&part));
}

static void test_empty_and_null(void **state)
{
	struct cursor c = cur_init(NULL, 0), part;

	assert_true(cur_ok(&c) && cur_end(&c));
	part = cur_take(&c, 0);
	assert_true(cur_ok(&part));
	assert_int_equal(cur_u8(&c), 0);
	assert_false(cur_ok(&c));
}

static void test_copy_zeroes_what_is_missing(void **state)
{
	struct cursor c = cur_init(bytes, 3);
	uint8_t out[4] = {9, 9, 9, 9};

	cur_copy(&c, out, 4);
	assert_false(cur_ok(&c));
	assert_memory_equal(out, "\0\0\0\0", 4);
}

static void test_varint_round_trip(void **state)
{
	struct buf b = {0};
	struct cursor c;

	for (int bit = 0; bit < 64; bit++)
		for (int delta = -1; delta <= 1; delta++)
			buf_put_varint(&b, (1ull << bit) + (uint64_t)delta);
	buf_put_varint(&b, 0);
	buf_put_varint(&b, UINT64_MAX);
	c = cur_init(b.p, b.len);
	for (int bit = 0; bit < 64; bit++)
		for (int delta = -1; delta <= 1; delta++)
			assert_int_equal(cur_varint(&c), (1ull << bit) + (uint64_t)delta);
	assert_int_equal(cur_varint(&c), 0);
	assert_int_equal(cur_varint(&c), UINT64_MAX);
	assert_true(cur_ok(&c) && cur_end(&c));
	buf_done(&b);
}

static void test_varint_damaged(void **state)
{
	uint8_t endless[16];
	struct cursor c;

	memset(endless, 0xff, sizeof(endless));
	for (size_t n = 0; n <= sizeof(endless); n++) {
		c = cur_init(endless, n);
		assert_int_equal(cur_varint(&c), 0);
		assert_false(cur_ok(&c));
		assert_true(c.pos <= 10);
	}
	endless[9] = 0x01; /* the 64th bit */
	c = cur_init(endless, 10);
	assert_true(cur_varint(&c) == UINT64_MAX && cur_ok(&c));
	endless[9] = 0x02; /* a 65th */
	c = cur_init(endless, 10);
	(void)cur_varint(&c);
	assert_false(cur_ok(&c));
}

static void test_zigzag(void **state)
{
	static const int64_t values[] = {0, -1, 1, -2, 1000, -1000, INT64_MAX, INT64_MIN};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_true(unzigzag(zigzag(values[i])) == values[i]);
	assert_int_equal(zigzag(-1), 1); /* small either way is small */
	assert_int_equal(zigzag(1), 2);
}

static void test_strings(void **state)
{
	struct buf b = {0};
	struct cursor c;
	size_t n;

	buf_put_str(&b, "");
	buf_put_str(&b, "xy");
	c = cur_init(b.p, b.len);
	cur_str_ref(&c, &n);
	assert_int_equal(n, 0);
	assert_memory_equal(cur_str_ref(&c, &n), "xy", 2);
	assert_int_equal(n, 2);
	assert_true(cur_ok(&c) && cur_end(&c));
	/* A length that is longer than the rest, and one that is longer than memory. */
	c = cur_init("\5abc", 4);
	assert_null(cur_str_ref(&c, &n));
	assert_int_equal(n, 0);
	assert_false(cur_ok(&c));
	buf_clear(&b);
	buf_put_varint(&b, UINT64_MAX);
	c = cur_init(b.p, b.len);
	assert_null(cur_str_ref(&c, &n));
	assert_int_equal(n, 0);
	buf_done(&b);
}

static void test_buffer_grows(void **state)
{
	struct buf b = {0};

	assert_string_equal(buf_cstr(&b), "");
	for (int i = 0; i < 1000; i++)
		buf_printf(&b, "%03d,", i);
	assert_int_equal(b.len, 4000);
	assert_memory_equal(b.p + 3996, "999,", 4);
	assert_int_equal(strlen(buf_cstr(&b)), 4000);
	buf_clear(&b);
	buf_put(&b, NULL, 0);
	assert_string_equal(buf_cstr(&b), "");
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_up_to_the_last_byte),
		cmocka_unit_test(test_error_sticks),
		cmocka_unit_test(test_sizes_that_would_wrap),
		cmocka_unit_test(test_seek_and_take),
		cmocka_unit_test(test_empty_and_null),
		cmocka_unit_test(test_copy_zeroes_what_is_missing),
		cmocka_unit_test(test_varint_round_trip),
		cmocka_unit_test(test_varint_damaged),
		cmocka_unit_test(test_zigzag),
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_buffer_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
