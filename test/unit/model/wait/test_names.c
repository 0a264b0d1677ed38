// SPDX-License-Identifier: MIT
/* What data is called: a lock by its name wherever in it the address is, the rest with an offset.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model/wait/names.h"
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

/* What every program has is told by its module, or by where its source lies. */
static void test_everywhere(void **state)
{
	const struct function libc = {"write", "libc.so.6", NULL, 0, false, true};
	const struct function lock = {"__gthread_mutex_lock",
				      "app",
				      "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h",
				      749,
				      false,
				      true};
	const struct function guard = {"lock_guard", "app", "/usr/include/c++/12/bits/std_mutex.h",
				       229,	     false, true};
	const struct function rust = {"core::ops::call_once",
				      "app",
				      "/rustc/90b35a6/library/core/src/ops/function.rs",
				      250,
				      false,
				      true};
	const struct function own = {"serve", "app", "/src/app/c++/serve.cpp", 7, false, true};

	assert_true(names_of_system(&libc) && !names_of_standard(&libc));
	assert_true(names_of_standard(&lock) && !names_of_system(&lock));
	assert_true(names_of_standard(&guard));
	assert_true(names_of_standard(&rust));
	assert_false(names_everywhere(&own));
}

static void test_nobody_knows(void **state)
{
	struct names n;

	names_init(&n, NULL);
	assert_null(names_data(&n, 2, 0x1040));
	names_done(&n);
}

static const struct module kernel = {.kind = MODULE_KERNEL, .path = "[kernel]"},
			   app = {.kind = MODULE_FILE, .path = "/srv/app"};

static size_t fake_stack(void *arg, uint32_t index, const struct frame **ret)
{
	static const struct frame k[] = {{1, 0x10}, {1, 0x20}, {1, 0x30}};
	static const struct frame u[] = {{2, 0x100}, {2, 0x200}, {2, 0x100}};

	*ret = index == 1 ? k : u;
	return index == 1 || index == 2 ? 3 : 0;
}

static const struct module *fake_module(void *arg, uint32_t index)
{
	return index == 1 ? &kernel : index == 2 ? &app : NULL;
}

static size_t fake_symbol(void *arg, uint32_t module, uint64_t offset, const struct symbol **ret)
{
	static const struct symbol trace = {"bpf_trace_run3", NULL, 0, false},
				   sched = {"__schedule", NULL, 0, false},
				   two[] = {{"match", "app.c", 10, true},
					    {"compress", "app.c", 11, false}};

	if (module == 2)
		*ret = two;
	else
		*ret = offset == 0x20 ? &trace : &sched;
	return module == 2 && offset == 0x100 ? 2 : module == 1 && offset != 0x10;
}

static const struct frame_source source = {
	.stack = fake_stack, .module = fake_module, .symbol = fake_symbol};

/* A stack by its addresses is the same stack as by its names, without the same probe's frames. */
static void same_stack(uint32_t kstack, uint32_t ustack, bool probed, size_t addresses)
{
	const struct named_frame *f;
	const uint32_t *known;
	size_t n, got, at = 0;
	struct names names;

	names_init(&names, &source);
	n = names_addresses(&names, kstack, ustack, probed, &known);
	assert_int_equal(n, addresses);
	got = (probed ? names_probed_stack : names_stack)(&names, kstack, ustack, &f);
	for (size_t i = 0; i < n; i++) {
		const struct known_frame *k = &names.known.v[known[i]];

		for (uint32_t j = 0; j < k->n; j++, at++) {
			assert_true(at < got);
			assert_int_equal(f[at].function, k->frames[j].function);
			assert_int_equal(f[at].line, k->frames[j].line);
		}
	}
	assert_int_equal(at, got);
	names_done(&names);
}

static void test_addresses(void **state)
{
	same_stack(1, 2, false, 6);
	same_stack(1, 2, true, 4);
	same_stack(0, 2, true, 3);
	same_stack(1, 0, true, 1);
	same_stack(0, 0, false, 0);
	same_stack(9, 9, true, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data),
		cmocka_unit_test(test_everywhere),
		cmocka_unit_test(test_nobody_knows),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
