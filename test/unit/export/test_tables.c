// SPDX-License-Identifier: MIT
/* What exports number: strings, things by use, and modules as ranges of addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "export/mappings.h"
#include "export/strings.h"
#include "store/types.h"

static void test_strings(void **state)
{
	struct strings s;
	char text[32];

	strings_init(&s);
	assert_int_equal(strings_of(&s, ""), 0);
	assert_int_equal(strings_of(&s, NULL), 0);
	assert_int_equal(strings_of(&s, "cpu"), 1);
	assert_int_equal(strings_of(&s, "a\xff"
					"b"),
			 2);
	assert_int_equal(strings_of(&s, "cpu"), 1);
	assert_int_equal(strings_of(&s, "a\xef\xbf\xbd"
					"b"),
			 2);
	assert_int_equal(strings_printf(&s, "c%s", "pu"), 1);
	assert_string_equal(strings_at(&s, 2), "a\xef\xbf\xbd"
					       "b");
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 20000; i++) {
			snprintf(text, sizeof(text), "f%u", i);
			assert_int_equal(strings_of(&s, text), 3 + i);
		}
	assert_string_equal(strings_at(&s, 3 + 12345), "f12345");
	assert_int_equal(s.at.n, 20003);
	strings_done(&s);
}

static void test_numbers(void **state)
{
	struct numbers n = {0};

	assert_int_equal(numbers_of(&n, 7), 1);
	assert_int_equal(numbers_of(&n, 100000), 2);
	assert_int_equal(numbers_of(&n, 0), 3);
	assert_int_equal(numbers_of(&n, 7), 1);
	assert_int_equal(n.order.n, 3);
	assert_int_equal(n.order.v[1], 100000);
	numbers_done(&n);
}

static const struct module modules[] = {
	{.kind = MODULE_FILE, .path = "/srv/app", .build_id_len = 3, .build_id = {0xab, 0, 0x1f}},
	{.kind = MODULE_FILE, .path = "/srv/wild"},
	{.kind = MODULE_KERNEL},
	{.kind = MODULE_ANON, .pid = 412},
	{.kind = MODULE_VDSO},
	{.kind = MODULE_UNKNOWN},
	{.kind = MODULE_FILE, .path = NULL},
};

static const struct module *module_at(void *arg, uint32_t index)
{
	return index && index <= sizeof(modules) / sizeof(*modules) ? &modules[index - 1] : NULL;
}

static size_t no_symbol(void *arg, uint32_t module, uint64_t offset, const struct symbol **ret)
{
	return 0;
}

static const struct {
	uint32_t module, number;
	uint64_t offset;
} used[] = {
	{1, 1, 0x1010},
	{1, 1, 0x2fff},
	{2, 2, UINT64_MAX}, /* a file that lies */
	{2, 2, 0},
	{3, 3, 0xffffffff81000010},
	{3, 3, 0xffffffff82000010},
	{4, 4, 0x7f0000001234},
	{5, 5, 0x40},
	{6, 0, 0xdead},
	{7, 6, 0x10},
	{99, 0, 0x10},
};

/* Each address is in its mapping's range; ranges of files do not touch each other. */
static void test_mappings(void **state)
{
	static struct named_frame none;
	struct frame_source source = {.module = module_at, .symbol = no_symbol};
	struct mappings m;
	struct names names;
	uint32_t number;

	names_init(&names, &source);
	vec_push(&names.functions, (struct function){0});
	mappings_init(&m, &names);
	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		assert_int_equal(mappings_add(&m, &(struct known_frame){.module = used[i].module,
									.offset = used[i].offset,
									.frames = &none,
									.n = 1}),
				 used[i].number);
	mappings_place(&m);
	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++) {
		struct known_frame k = {.module = used[i].module, .offset = used[i].offset};
		uint64_t address = mappings_address(&m, &k, &number);

		assert_int_equal(number, used[i].number);
		if (!number) {
			assert_int_equal(address, k.offset);
			continue;
		}
		assert_true(address >= m.list.v[number - 1].start);
		assert_true(address < m.list.v[number - 1].limit || address == UINT64_MAX);
	}
	assert_int_equal(m.list.v[2].start, 0xffffffff81000000);
	assert_int_equal(m.list.v[2].shift, 0);
	assert_int_equal(m.list.v[3].start, 0x7f0000001000);
	assert_int_equal(m.list.v[0].limit - m.list.v[0].start, 0x3000);
	assert_true(m.list.v[4].start > m.list.v[0].limit);
	assert_true(m.list.v[5].start > m.list.v[4].limit);
	mappings_done(&m);
	names_done(&names);
}

static const char *name_of(size_t i)
{
	static struct buf b;

	buf_clear(&b);
	mapping_name(&(struct profile_mapping){.module = &modules[i]}, &b);
	return buf_cstr(&b);
}

static void test_names(void **state)
{
	struct buf b = {0};

	assert_string_equal(name_of(0), "/srv/app");
	assert_string_equal(name_of(2), "[kernel]");
	assert_string_equal(name_of(3), "[jit 412]");
	assert_string_equal(name_of(4), "[vdso]");
	assert_string_equal(name_of(6), "[unknown]");
	assert_true(mapping_build_id(&(struct profile_mapping){.module = &modules[0]}, &b));
	assert_string_equal(buf_cstr(&b), "ab001f");
	assert_false(mapping_build_id(&(struct profile_mapping){.module = &modules[1]}, &b));
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strings),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
