// SPDX-License-Identifier: MIT
/* Names in memory and in the file. */
#include "store_test.h"

#include "store/symtab.h"

static void add(struct symtab *st, uint32_t module, uint64_t offset)
{
	char name[32], file[32];
	struct symbol s[2] = {{.name = name, .file = file, .line = 7, .inlined = true},
			      {.name = "outer", .line = 9}};

	snprintf(name, sizeof(name), "f_%u_%llx", module, (unsigned long long)offset);
	snprintf(file, sizeof(file), "src/%u.c", module);
	symtab_add(st, module, offset, s, 1 + offset % 2);
}

static void check(size_t n, const struct symbol *s, uint32_t module, uint64_t offset)
{
	char name[32];

	snprintf(name, sizeof(name), "f_%u_%llx", module, (unsigned long long)offset);
	assert_int_equal(n, 1 + offset % 2);
	assert_string_equal(s[0].name, name);
	assert_int_equal(s[0].line, 7);
	assert_true(s[0].inlined);
	assert_int_equal(s[0].file[0], 's');
	if (n == 2) {
		assert_string_equal(s[1].name, "outer");
		assert_null(s[1].file);
		assert_false(s[1].inlined);
	}
}

static void test_table(void **state)
{
	struct symtab *st = symtab_new();
	const struct symbol *s = NULL, *first = NULL;

	assert_int_equal(symtab_find(st, 1, 1, &s), 0);
	add(st, 1, 0);
	assert_int_equal(symtab_find(st, 1, 0, &first), 1);
	for (uint32_t m = 1; m < 5; m++)
		for (uint64_t o = 0; o < 3000; o++)
			add(st, m, o * 16 + (o & 1));
	assert_int_equal(symtab_count(st), 12000);
	/* What was returned before the table grew is still there. */
	check(1, first, 1, 0);
	assert_int_equal(symtab_find(st, 4, 16 * 2999 + 1, &s), 2);
	check(2, s, 4, 16 * 2999 + 1);
	assert_int_equal(symtab_find(st, 5, 0, &s), 0);
	assert_int_equal(symtab_find(st, 4, 1, &s), 0);
	/* The first name of an address stays. */
	symtab_add(st, 4, 0, &(struct symbol){.name = "late"}, 1);
	assert_int_equal(symtab_find(st, 4, 0, &s), 1);
	check(1, s, 4, 0);
	symtab_free(st);
	symtab_free(NULL);
}

static void test_file(void **state)
{
	struct symtab *st = symtab_new();
	struct writer *w = open_writer(0);
	struct reader *r;
	const struct symbol *s = NULL;

	for (uint32_t m = 1; m < 40; m++)
		for (uint64_t o = 0; o < 2000; o++)
			add(st, m, (o * 7919) << (m % 40));
	writer_symbols(w, st);
	assert_int_equal(writer_close(w, END_DONE), 0);
	r = open_reader(0);
	assert_true(reader_info(r)->has_symbols);
	assert_int_equal(reader_symbols(r), symtab_count(st));
	for (uint32_t m = 1; m < 40; m++)
		for (uint64_t o = 0; o < 2000; o += 11) {
			size_t n = reader_symbol(r, m, (o * 7919) << (m % 40), &s);

			check(n, s, m, (o * 7919) << (m % 40));
		}
	assert_int_equal(reader_verify(r), 0);
	reader_close(r);
	symtab_free(st);
}

static void test_names_made_later(void **state)
{
	struct writer *w = open_writer(0);
	struct symtab *st = symtab_new();
	const struct symbol *s;
	struct reader *r;

	assert_int_equal(writer_close(w, END_DONE), 0);
	r = open_reader(0);
	assert_false(reader_info(r)->has_symbols);
	assert_int_equal(reader_symbol(r, 1, 5, &s), 0);
	add(st, 1, 5);
	reader_set_symtab(r, st);
	assert_true(reader_info(r)->has_symbols);
	assert_int_equal(reader_symbol(r, 1, 5, &s), 2);
	reader_close(r);
}

static void add_data(struct symtab *st, uint32_t module, const char *name, uint64_t begin,
		     uint64_t size, bool whole)
{
	symtab_add_data(
		st, module,
		&(struct data_symbol){.name = name, .begin = begin, .size = size, .whole = whole});
}

static const char *data_at(const struct reader *r, uint32_t module, uint64_t at)
{
	const struct data_symbol *d = reader_data(r, module, at);

	return d ? d->name : "-";
}

/* The innermost piece counts, in whatever order they came. */
static void test_data(void **state)
{
	struct symtab *st = symtab_new();
	struct writer *w = open_writer(0);
	struct reader *r;

	add_data(st, 2, "server.lock", 0x1040, 40, true);
	add_data(st, 1, "other", 0x1000, 0x1000, false);
	add_data(st, 2, "server", 0x1000, 0x100, false);
	add_data(st, 2, "server.in", 0x1080, 0x40, false);
	add_data(st, 2, "server.in.lock", 0x1088, 40, true);
	add_data(st, 2, "server", 0x1000, 0x100, false);
	add_data(st, 2, "last", UINT64_MAX - 8, 8, false);
	add_data(st, 2, "empty", 0x3000, 0, false);
	add_data(st, 2, "beyond", UINT64_MAX - 8, 16, false);
	assert_int_equal(symtab_data_count(st), 6);
	writer_symbols(w, st);
	assert_int_equal(writer_close(w, END_DONE), 0);
	r = open_reader(0);
	assert_int_equal(reader_verify(r), 0);
	/* It is no reason to think that the frames have names. */
	assert_false(reader_info(r)->has_symbols);
	assert_string_equal(data_at(r, 2, 0x1000), "server");
	assert_string_equal(data_at(r, 2, 0x1040), "server.lock");
	assert_string_equal(data_at(r, 2, 0x1067), "server.lock");
	assert_string_equal(data_at(r, 2, 0x1068), "server");
	assert_string_equal(data_at(r, 2, 0x1080), "server.in");
	assert_string_equal(data_at(r, 2, 0x10af), "server.in.lock");
	assert_string_equal(data_at(r, 2, 0x10b0), "server.in");
	assert_string_equal(data_at(r, 2, 0x10ff), "server");
	assert_string_equal(data_at(r, 2, 0x1100), "-");
	assert_string_equal(data_at(r, 2, 0xfff), "-");
	assert_string_equal(data_at(r, 1, 0x1040), "other");
	assert_string_equal(data_at(r, 3, 0x1040), "-");
	assert_string_equal(data_at(r, 2, UINT64_MAX - 1), "last");
	assert_true(reader_data(r, 2, 0x1040)->whole);
	assert_false(reader_data(r, 2, 0x1000)->whole);
	reader_close(r);
	symtab_free(st);
}

/* More than fits into one chunk. */
static void test_much_data(void **state)
{
	struct symtab *st = symtab_new();
	struct writer *w = open_writer(0);
	struct reader *r;
	char name[64];

	for (uint32_t i = 0; i < 200000; i++) {
		snprintf(name, sizeof(name), "variable_number_%u", i);
		add_data(st, 1 + i % 3, name, 64ull * i, 64, i % 2);
	}
	writer_symbols(w, st);
	assert_int_equal(writer_close(w, END_DONE), 0);
	r = open_reader(0);
	assert_int_equal(reader_verify(r), 0);
	for (uint32_t i = 0; i < 200000; i += 7) {
		snprintf(name, sizeof(name), "variable_number_%u", i);
		assert_string_equal(data_at(r, 1 + i % 3, 64ull * i + 63), name);
		assert_string_equal(data_at(r, 1 + (i + 1) % 3, 64ull * i + 63), "-");
	}
	reader_close(r);
	symtab_free(st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_names_made_later),
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_much_data),
	};

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
