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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_names_made_later),
	};

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
