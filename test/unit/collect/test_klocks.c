// SPDX-License-Identifier: MIT
/* What an address says of a lock of the kernel, and what it must not be taken for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "collect/klocks.h"
#include "wire/state.h"

/* Two CPUs, whose runqueues lie where per-CPU variables do. */
static int runqueue(struct engine *e, uint64_t lock)
{
	return lock == 0xffff88810a000000 ? 0 : lock == 0xffff88810a100000 ? 1 : -1;
}

static const struct engine_ops ops = {.runqueue = runqueue}, blind;

static void check(const struct engine_ops *with, uint64_t addr, uint32_t flags, uint32_t told,
		  uint64_t told_of, uint32_t want, uint64_t want_of)
{
	struct engine e = {.ops = with};

	klock_settle(&e, addr, flags, &told, &told_of);
	assert_int_equal(told, want);
	assert_int_equal(told_of, want_of);
}

static void test_runqueues(void **state)
{
	check(&ops, 0xffff88810a000000, KLOCK_SPIN, KLOCK_ANY, 0, KLOCK_RUNQUEUE, 0);
	check(&ops, 0xffff88810a100000, KLOCK_SPIN, KLOCK_ANY, 0, KLOCK_RUNQUEUE, 1);
	check(&ops, 0xffff88810a100000, KLOCK_SPIN | KLOCK_IN_INTERRUPT, KLOCK_ANY, 0,
	      KLOCK_RUNQUEUE, 1);
	check(&ops, 0xffff88810a100040, KLOCK_SPIN, KLOCK_ANY, 0, KLOCK_ANY, 0);
	/* A lock that sleeps is none, wherever it lies. */
	check(&ops, 0xffff88810a000000, KLOCK_MUTEX, KLOCK_ANY, 0, KLOCK_ANY, 0);
	check(&blind, 0xffff88810a000000, KLOCK_SPIN, KLOCK_ANY, 0, KLOCK_ANY, 0);
}

static void test_globals(void **state)
{
	/* The kernel's own data; a module's. */
	check(&ops, 0xffffffff82a01234, KLOCK_SPIN, KLOCK_ANY, 0, KLOCK_GLOBAL, 0xffffffff82a01234);
	check(&ops, 0xffffffffc0a01000, KLOCK_MUTEX, KLOCK_ANY, 0, KLOCK_GLOBAL,
	      0xffffffffc0a01000);
	/* Allocated, mapped, the fixed mappings at the very end, and none at all. */
	check(&ops, 0xffff888100000000, KLOCK_MUTEX, KLOCK_ANY, 0, KLOCK_ANY, 0);
	check(&ops, 0xffffc90000123000, KLOCK_WRITE, KLOCK_ANY, 0, KLOCK_ANY, 0);
	check(&ops, 0xffffffff7fffffff, KLOCK_SPIN, KLOCK_ANY, 0, KLOCK_ANY, 0);
	check(&ops, 0xffffffffff5ff000, KLOCK_SPIN, KLOCK_ANY, 0, KLOCK_ANY, 0);
	check(&ops, 0, 0, KLOCK_ANY, 0, KLOCK_ANY, 0);
}

/* What the probes have seen stays: init_mm's lock is a global too. */
static void test_told(void **state)
{
	check(&ops, 0xffffffff82a01234, KLOCK_WRITE, KLOCK_MMAP_LOCK, 17, KLOCK_MMAP_LOCK, 17);
	check(&ops, 0xffff88810a000000, KLOCK_SPIN, KLOCK_SIGHAND, 17, KLOCK_SIGHAND, 17);
	check(&ops, 0xffff888100000000, KLOCK_READ, KLOCK_INODE, 4711, KLOCK_INODE, 4711);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runqueues),
		cmocka_unit_test(test_globals),
		cmocka_unit_test(test_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
