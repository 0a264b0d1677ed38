// SPDX-License-Identifier: MIT
/*
 * Damaged ELF files: every truncation of a small one, every byte overwritten with values that hurt,
 * and random flips. Each goes through the fuzz target, which asks for everything and checks the
 * promises of elf.h; the sanitizers watch. Each input is a heap block of its exact size, so that a
 * read past its end is seen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "fuzz/elf/fuzz_elf.c"
#include "unit/elf/tiny.h"

static const struct tiny_sym some[] = {
	{"alpha", 0x10, 0x20, STT_FUNC, STB_GLOBAL},
	{"beta", 0x40, 0x10, STT_FUNC, STB_LOCAL},
	{"label", 0x80, 0, STT_NOTYPE, STB_GLOBAL},
};

static void feed(const uint8_t *bytes, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);

	memcpy(copy, bytes, len);
	(void)LLVMFuzzerTestOneInput(copy, len);
	free(copy);
}

static void test_every_truncation(void **state)
{
	struct tiny t;

	tiny_make(&t, some, 3);
	for (size_t len = 0; len <= t.len; len++)
		feed(t.bytes, len);
}

static void test_every_byte(void **state)
{
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	struct tiny t;

	tiny_make(&t, some, 3);
	for (size_t i = 0; i < t.len; i++) {
		uint8_t was;

		if (i == TINY_TEXT) /* code is not parsed */
			i += TINY_TEXT_SIZE;
		was = t.bytes[i];
		for (size_t v = 0; v < sizeof(values); v++) {
			t.bytes[i] = values[v];
			feed(t.bytes, t.len);
		}
		t.bytes[i] = was;
	}
}

static void test_every_word_huge(void **state)
{
	static const uint64_t values[] = {UINT64_MAX, INT64_MAX, UINT32_MAX, 1ull << 32,
					  1ull << 63};
	struct tiny t, x;

	tiny_make(&t, some, 3);
	for (size_t i = 0; i + 8 <= t.len; i += 4) {
		if (i == TINY_TEXT)
			i += TINY_TEXT_SIZE;
		for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
			x = t;
			memcpy(x.bytes + i, &values[v], 8);
			feed(x.bytes, x.len);
		}
	}
}

static void test_random_flips(void **state)
{
	struct tiny t, x;
	uint32_t r = 1;

	tiny_make(&t, some, 3);
	for (int round = 0; round < 5000; round++) {
		x = t;
		for (int flips = round % 8; flips >= 0; flips--) {
			r = r * 1664525 + 1013904223;
			x.bytes[(r >> 8) % x.len] ^= (uint8_t)(1u << (r >> 4 & 7));
		}
		feed(x.bytes, x.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_every_word_huge),
		cmocka_unit_test(test_random_flips),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
