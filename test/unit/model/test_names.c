// SPDX-License-Identifier: MIT
/* What data is called: a lock by its name wherever in it the address is, the rest with an offset.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/names.h"
#include "store/types.h"

static const struct data_symbol *fake_data(void *arg, uint32_t module, uint64_t address)
{
	static const struct data_symbol lock = {"server.lock", 0x1040, 40, true},
					server = {"server", 0x1000, 0x100, false};

	if (module != 2 || address < 0x1000 || address >= 0x1100)
		return NULL;
	return address >= 0x1040 && address < 0x1068 ? &lock : &server;
}

static void test_data(void **state)
{
	struct frame_source source = {.data = fake_data};
	struct names n;

	names_init(&n, &source);
	assert_string_equal(names_data(&n, 2, 0x1040), "server.lock");
	assert_string_equal(names_data(&n, 2, 0x1048), "server.lock");
	assert_string_equal(names_data(&n, 2, 0x1000), "server");
	assert_string_equal(names_data(&n, 2, 0x1070), "server+0x70");
	assert_null(names_data(&n, 1, 0x1040));
	assert_null(names_data(&n, 2, 0x1100));
	names_done(&n);
}

static void test_nobody_knows(void **state)
{
	struct names n;

	names_init(&n, NULL);
	assert_null(names_data(&n, 2, 0x1040));
	names_done(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_nobody_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
