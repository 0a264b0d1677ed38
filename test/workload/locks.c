// SPDX-License-Identifier: MIT
/*
 * User-space locks with a known truth: `locks CASE [threads] [seconds] [--log FILE]`. Every wait
 * and every hold is logged by the program's own clock (lib/locklog.h); the truth has the totals of
 * each lock, the log everything.
 */
#include "locks/locks.h"

#define ARGS(threads)                                                                              \
	{                                                                                          \
		{                                                                                  \
			{"threads", threads}, {"seconds", "1"}, {"log", ""},                       \
		}                                                                                  \
	}

static const struct workload_case cases[] = {
	{"normal", case_normal, ARGS("4"), "a mutex"},
	{"recursive", case_recursive, ARGS("4"), "a recursive one, taken twice every second time"},
	{"errorcheck", case_errorcheck, ARGS("4"), "one that checks for errors"},
#ifdef __GLIBC__
	{"adaptive", case_adaptive, ARGS("4"), "one that spins by itself first"},
#endif
	{"pi", case_pi, ARGS("4"), "with priority inheritance"},
	{"robust", case_robust, ARGS("4"), "one that survives its holder"},
	{"spinning", case_spinning, ARGS("4"), "tried for 50 us first"},
	{"rwlock", case_rwlock, ARGS("5"), "readers and writers"},
	{"semaphore", case_semaphore, ARGS("4"), "a semaphore of one"},
	{"pool",
	 case_pool,
	 {{{"threads", "4"}, {"seconds", "1"}, {"log", ""}, {"every-us", "1250"}}},
	 "workers at a condition variable, with something to do every so often"},
	{"condition", case_condition, ARGS("4"), "waiters of a condition and lockers of its mutex"},
	{"join", case_join, ARGS("1"), "a thread that joins others"},
	{"shared", case_shared, ARGS("4"), "two processes, the lock at two addresses"},
	{"nested", case_nested, ARGS("3"), "clients, broker, keeper: two locks and a disk"},
	{"heap", case_heap, ARGS("4"), "a lock on the heap"},
	{"member", case_member, ARGS("4"), "in a struct"},
	{"inner", case_inner, ARGS("4"), "in a struct in a struct"},
	{"array", case_array, ARGS("4"), "in an array of structs"},
	{"stack", case_stack, ARGS("4"), "on a stack"},
	{"function", case_function, ARGS("4"), "static, in a function"},
	{"twins", case_twins, ARGS("4"), "two, from two functions that look alike on the stack"},
};

int main(int argc, char **argv)
{
	return cases_main(cases, ARRAY_LEN(cases), argc, argv);
}
