// SPDX-License-Identifier: MIT
/* Which name an address gets: aliases, nested and overlapping symbols, labels, gaps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "symbol/symbol.h"
#include "symbol/table.h"
#include "unit/elf/tiny.h"

/* The name at a place counted from the start of the text, "-" if it has none. */
static const char *at(const struct symbols *s, uint64_t place)
{
	uint64_t distance = UINT64_MAX;
	const char *name = symbols_find(s, TINY_TEXT + place, &distance);

	assert_true(!name || distance <= TINY_TEXT_SIZE);
	return name ? name : "-";
}

static struct symbols *load(const struct tiny_sym *syms, size_t n)
{
	struct symbols *s = NULL;
	struct tiny t;

	tiny_make(&t, syms, n);
	assert_int_equal(symbols_load_image(t.bytes, t.len, &s), 0);
	return s;
}

static void test_only_what_a_symbol_covers(void **state)
{
	static const struct tiny_sym syms[] = {
		{"beta", 0x40, 0x10, STT_FUNC, STB_LOCAL},
		{"alpha", 0x10, 0x20, STT_FUNC, STB_GLOBAL},
	};
	struct symbols *s = load(syms, 2);
	uint64_t distance;

	assert_int_equal(s->syms.n, 2);
	assert_string_equal(at(s, 0x0f), "-");
	assert_string_equal(at(s, 0x10), "alpha");
	assert_string_equal(at(s, 0x2f), "alpha");
	assert_string_equal(at(s, 0x30), "-"); /* not "the nearest below" */
	assert_string_equal(at(s, 0x40), "beta");
	assert_string_equal(at(s, 0x50), "-");
	assert_null(symbols_find(s, 0, NULL));
	assert_null(symbols_find(s, UINT64_MAX, NULL));
	assert_string_equal(symbols_find(s, TINY_TEXT + 0x14, &distance), "alpha");
	assert_int_equal(distance, 4);
	symbols_free(s);
}

static void test_aliases(void **state)
{
	static const struct tiny_sym syms[] = {
		{"__libc_write", 0x10, 8, STT_FUNC, STB_GLOBAL},
		{"w", 0x10, 8, STT_FUNC, STB_LOCAL},
		{"write", 0x10, 8, STT_FUNC, STB_WEAK},
		{"__write", 0x10, 8, STT_FUNC, STB_GLOBAL},
		{"label", 0x10, 0, STT_NOTYPE, STB_GLOBAL},
		/* the better name has no size of its own */
		{"long_name", 0x20, 8, STT_FUNC, STB_GLOBAL},
		{"short", 0x20, 0, STT_FUNC, STB_GLOBAL},
	};
	struct symbols *s = load(syms, 7);

	assert_string_equal(at(s, 0x10), "write");
	assert_string_equal(at(s, 0x17), "write");
	assert_string_equal(at(s, 0x27), "short");
	assert_string_equal(at(s, 0x28), "-");
	symbols_free(s);
}

static void test_inner_and_overlapping(void **state)
{
	static const struct tiny_sym syms[] = {
		{"outer", 0x10, 0x40, STT_FUNC, STB_GLOBAL},
		{"inner", 0x20, 0x10, STT_FUNC, STB_LOCAL},
		{"innermost", 0x24, 0x04, STT_FUNC, STB_LOCAL},
		{"crosses", 0x48, 0x20, STT_FUNC, STB_LOCAL},
	};
	struct symbols *s = load(syms, 4);

	assert_string_equal(at(s, 0x1f), "outer");
	assert_string_equal(at(s, 0x23), "inner");
	assert_string_equal(at(s, 0x27), "innermost");
	assert_string_equal(at(s, 0x28), "inner");
	assert_string_equal(at(s, 0x30), "outer");
	assert_string_equal(at(s, 0x48), "crosses");
	assert_string_equal(at(s, 0x67), "crosses");
	assert_string_equal(at(s, 0x68), "-");
	symbols_free(s);
}

static void test_labels_and_sizeless(void **state)
{
	static const struct tiny_sym syms[] = {
		{"function", 0x10, 0x20, STT_FUNC, STB_GLOBAL},
		{"loop", 0x18, 0, STT_NOTYPE, STB_GLOBAL},
		{"entry", 0x40, 0, STT_NOTYPE, STB_GLOBAL},
		{"next", 0x50, 4, STT_FUNC, STB_GLOBAL},
		{"local_label", 0x60, 0, STT_NOTYPE, STB_LOCAL},
		{"table", 0x70, 0x10, STT_OBJECT, STB_GLOBAL},
		{"last", 0x90, 0, STT_FUNC, STB_GLOBAL},
	};
	struct symbols *s = load(syms, 7);

	assert_string_equal(at(s, 0x18), "function");
	assert_string_equal(at(s, 0x2f), "function");
	assert_string_equal(at(s, 0x4f), "entry");
	assert_string_equal(at(s, 0x53), "next");
	assert_string_equal(at(s, 0x54), "-");
	assert_string_equal(at(s, 0x60), "-");
	assert_string_equal(at(s, 0x70), "-");
	assert_string_equal(at(s, TINY_TEXT_SIZE - 1), "last");
	symbols_free(s);
}

static void test_sizeless_limit(void **state)
{
	struct buf names = {0};
	struct symbols *s;

	buf_put(&names, "\0f\0g", 5);
	s = table_new(&names);
	table_add(s, &(struct table_sym){.begin = 0x10000, .end = 0x10000, .name = 1});
	table_add(s,
		  &(struct table_sym){.begin = UINT64_MAX - 2, .end = UINT64_MAX - 2, .name = 3});
	table_build(s, TABLE_SIZELESS_MAX);
	assert_string_equal(symbols_find(s, 0x10fff, NULL), "f");
	assert_null(symbols_find(s, 0x11000, NULL));
	assert_string_equal(symbols_find(s, UINT64_MAX - 1, NULL), "g");
	symbols_free(s);
}

/* A symbol that claims the rest of the world is cut at its segment and hides nobody. */
static void test_huge_symbol(void **state)
{
	static const struct tiny_sym syms[] = {
		{"liar", 0x0, UINT64_MAX, STT_FUNC, STB_GLOBAL},
		{"honest", 0x40, 0x10, STT_FUNC, STB_GLOBAL},
	};
	struct symbols *s = load(syms, 2);

	assert_string_equal(at(s, 0x44), "honest");
	assert_string_equal(at(s, TINY_TEXT_SIZE - 1), "liar");
	assert_null(symbols_find(s, TINY_TEXT + TINY_TEXT_SIZE, NULL));
	symbols_free(s);
}

static void test_names_cannot_drive_a_terminal(void **state)
{
	static const struct tiny_sym syms[] = {
		{"\033[2Jevil\n", 0x10, 0x10, STT_FUNC, STB_GLOBAL},
	};
	struct symbols *s = load(syms, 1);

	assert_string_equal(at(s, 0x10), "?[2Jevil?");
	symbols_free(s);
}

static void test_endless_name_is_cut(void **state)
{
	struct buf names = {0};
	struct symbols *s;

	for (int i = 0; i < 100000; i++)
		buf_put_u8(&names, 'x');
	s = table_new(&names);
	table_add(s, &(struct table_sym){.begin = 1, .end = 2, .name = 5});
	table_build(s, 1);
	assert_int_equal(strlen(symbols_find(s, 1, NULL)), TABLE_NAME_MAX - 1);
	symbols_free(s);
}

#define WORLD 64

/* The rule in its plainest form: of the symbols that cover a place, the one that begins last. */
static void check_world(const struct table_sym *syms, size_t n, const struct symbols *s)
{
	for (uint64_t place = 0; place < WORLD + 32; place++) {
		const struct table_sym *best = NULL;
		uint64_t distance = 0;
		const char *name = symbols_find(s, place, &distance);

		for (size_t i = 0; i < n; i++)
			if (syms[i].begin <= place && place < syms[i].end &&
			    (!best || syms[i].begin > best->begin))
				best = &syms[i];
		assert_int_equal(!!name, !!best);
		if (best)
			assert_int_equal(distance, place - best->begin);
	}
}

static void test_random_overlaps(void **state)
{
	uint32_t r = 7;

	for (int round = 0; round < 2000; round++) {
		struct table_sym syms[12];
		struct buf names = {0};
		struct symbols *s;
		size_t n = (size_t)round % 12 + 1;

		buf_put(&names, "f", 2);
		s = table_new(&names);
		for (size_t i = 0; i < n; i++) {
			r = r * 1664525 + 1013904223;
			syms[i] =
				(struct table_sym){.begin = r >> 8 & (WORLD - 1), .is_func = true};
			syms[i].end = syms[i].begin + 1 + (r >> 20) % 31;
			/* One symbol an address: aliases have a test of their own. */
			for (size_t k = 0; k < i; k++)
				if (syms[k].begin == syms[i].begin)
					syms[i] = syms[k];
			table_add(s, &syms[i]);
		}
		table_build(s, 16);
		check_world(syms, n, s);
		symbols_free(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_what_a_symbol_covers),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_inner_and_overlapping),
		cmocka_unit_test(test_labels_and_sizeless),
		cmocka_unit_test(test_sizeless_limit),
		cmocka_unit_test(test_huge_symbol),
		cmocka_unit_test(test_names_cannot_drive_a_terminal),
		cmocka_unit_test(test_endless_name_is_cut),
		cmocka_unit_test(test_random_overlaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
