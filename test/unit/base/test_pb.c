// SPDX-License-Identifier: MIT
/* The protobuf writer: by bytes that its specification names, and by protoc's own reading of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <unistd.h>

#include "base/pb.h"

static void expect(struct buf *b, const void *bytes, size_t n)
{
	assert_int_equal(b->len, n);
	assert_memory_equal(b->p, bytes, n);
	buf_clear(b);
}

#define EXPECT(b, ...)                                                                             \
	do {                                                                                       \
		static const uint8_t want[] = {__VA_ARGS__};                                       \
		expect(b, want, sizeof(want));                                                     \
	} while (0)

/* The examples of the encoding's own documentation, and the ends of each type. */
static void test_known_bytes(void **state)
{
	static const uint64_t packed[] = {3, 270, 86942};
	struct buf b = {0};

	pb_u64(&b, 1, 150);
	EXPECT(&b, 0x08, 0x96, 0x01);
	pb_str(&b, 2, "testing");
	EXPECT(&b, 0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g');
	pb_packed(&b, 6, packed, 3);
	EXPECT(&b, 0x32, 0x06, 0x03, 0x8e, 0x02, 0x9e, 0xa7, 0x05);
	pb_u64(&b, 1, (uint64_t)-2);
	EXPECT(&b, 0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
	pb_fixed64(&b, 3, 0x0102030405060708);
	EXPECT(&b, 0x19, 8, 7, 6, 5, 4, 3, 2, 1);
	pb_u64(&b, 135, 0);
	EXPECT(&b, 0xb8, 0x08, 0x00);
	pb_u64(&b, 536870911, 1);
	EXPECT(&b, 0xf8, 0xff, 0xff, 0xff, 0x0f, 0x01);
	pb_bytes(&b, 1, NULL, 0);
	EXPECT(&b, 0x0a, 0x00);
	pb_some(&b, 1, 0);
	pb_packed(&b, 1, NULL, 0);
	assert_int_equal(b.len, 0);
	pb_some(&b, 1, 1);
	EXPECT(&b, 0x08, 0x01);
	buf_done(&b);
}

static void test_varint_len(void **state)
{
	struct buf b = {0};

	for (unsigned bit = 0; bit < 64; bit++) {
		for (int less = 0; less < 2; less++) {
			uint64_t v = ((uint64_t)1 << bit) - (uint64_t)less;

			buf_clear(&b);
			buf_put_varint(&b, v);
			assert_int_equal(pb_varint_len(v), b.len);
		}
	}
	assert_int_equal(pb_varint_len(UINT64_MAX), 10);
	buf_done(&b);
}

/* A message's length takes as many bytes as it needs, and what was written before stays. */
static void test_messages(void **state)
{
	static const size_t lengths[] = {0, 1, 125, 126, 127, 16380, 16381, 16382, 3000000};
	static uint8_t filler[3000000];

	memset(filler, 'x', sizeof(filler));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct buf b = {0}, inner = {0}, outer = {0}, want = {0};
		size_t a, c;

		pb_u64(&b, 1, 7);
		a = pb_begin(&b, 3);
		c = pb_begin(&b, 1);
		pb_bytes(&b, 2, filler, lengths[i]);
		pb_end(&b, c);
		pb_u64(&b, 4, 1);
		pb_end(&b, a);
		pb_u64(&b, 1, 8);

		pb_bytes(&inner, 2, filler, lengths[i]);
		pb_bytes(&outer, 1, inner.p, inner.len);
		pb_u64(&outer, 4, 1);
		pb_u64(&want, 1, 7);
		pb_bytes(&want, 3, outer.p, outer.len);
		pb_u64(&want, 1, 8);
		expect(&b, want.p, want.len);
		buf_done(&b);
		buf_done(&inner);
		buf_done(&outer);
		buf_done(&want);
	}
}

static const char *decode_raw(const struct buf *b)
{
	static char text[4096];
	char path[] = "/tmp/thaw-pb-XXXXXX", command[128];
	int fd = mkstemp(path);
	size_t n;
	FILE *f;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, b->p, b->len), b->len);
	close(fd);
	snprintf(command, sizeof(command), "protoc --decode_raw < %s", path);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	assert_int_equal(pclose(f), 0);
	unlink(path);
	return text;
}

static void test_protoc_reads_it(void **state)
{
	static const uint64_t packed[] = {1, 2, 300};
	struct buf b = {0};
	size_t a, c;

	if (system("command -v protoc >/dev/null 2>&1") != 0)
		skip();
	pb_u64(&b, 1, UINT64_MAX);
	pb_fixed64(&b, 2, 0x1234);
	pb_u64(&b, 3, 0x99);
	pb_str(&b, 4, "a \"name\"");
	a = pb_begin(&b, 5);
	pb_u64(&b, 1, 1);
	c = pb_begin(&b, 2);
	pb_fixed64(&b, 1, 0x3fe0000000000000);
	pb_end(&b, c);
	c = pb_begin(&b, 2);
	pb_end(&b, c);
	pb_end(&b, a);
	pb_packed(&b, 6, packed, 3);
	assert_string_equal(decode_raw(&b), "1: 18446744073709551615\n"
					    "2: 0x0000000000001234\n"
					    "3: 153\n"
					    "4: \"a \\\"name\\\"\"\n"
					    "5 {\n"
					    "  1: 1\n"
					    "  2 {\n"
					    "    1: 0x3fe0000000000000\n"
					    "  }\n"
					    "  2: \"\"\n"
					    "}\n"
					    "6: \"\\001\\002\\254\\002\"\n");
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_bytes),
		cmocka_unit_test(test_varint_len),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_protoc_reads_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
