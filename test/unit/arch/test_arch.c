// SPDX-License-Identifier: MIT
/* The numbers of system calls are those of the kernel: libseccomp has its own table of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <seccomp.h>

#include "arch/arch.h"

/* Newer than Debian 12's libseccomp: these have the same number on every architecture. */
#define NEWER 450

static void test_calls(void **state)
{
	const struct arch *a = arch_find("x86_64");
	uint32_t machine = seccomp_arch_resolve_name(a->name);

	for (unsigned nr = 0; nr < NEWER; nr++) {
		char *want = seccomp_syscall_resolve_num_arch(machine, (int)nr);

		if (want)
			assert_string_equal(arch_call(a, nr), want);
		else
			assert_null(arch_call(a, nr));
		free(want);
	}
	assert_null(arch_call(a, a->n_calls));
}

/* What wait.def calls a system call is one. */
static void test_names_in_rules(void **state)
{
	static const char *const names[] = {
#define CALLS(file, how, reason, ...) __VA_ARGS__,
#include "timeline/wait.def"
	};
	const struct arch *a = arch_find("x86_64");

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		unsigned nr = 0;

		while (nr < a->n_calls && (!a->calls[nr] || strcmp(a->calls[nr], names[i])))
			nr++;
		if (nr == a->n_calls)
			fail_msg("%s is no system call", names[i]);
	}
}

static void test_machines(void **state)
{
	assert_string_equal(arch_find("x86_64")->name, "x86_64");
	assert_ptr_equal(arch_find(NULL), arch_find("x86_64"));
	assert_ptr_equal(arch_find(""), arch_find("x86_64"));
	assert_null(arch_find("riscv64"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_names_in_rules),
		cmocka_unit_test(test_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
