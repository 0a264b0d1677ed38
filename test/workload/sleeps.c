// SPDX-License-Identifier: MIT
/*
 * Every sleep is known: `sleeps CASE`. A case is a list of sleepers, each a thread that goes to
 * sleep exactly so many times in one system call, on one thing, while main ends each of the sleeps,
 * or has them end by themselves. The truth is a list: who, in which call, on what, how often, and
 * the thread's own count of voluntary switches.
 *
 *   calls   descriptors of all kinds, a call of the 32-bit table, and a page fault
 *   futex   every way to sleep on a futex, with known words behind it; ended by a call on the same
 *           futex, or by a timeout
 *   kernel  the lock of a file, and that of the address space, with a known holder
 */
#include "sleeps/sleeps.h"

static const struct workload_case cases[] = {
	{"calls", case_calls, {{{"count", "7"}}}, "descriptors of all kinds"},
	{"futex", case_futex, {{{"count", "7"}}}, "every way to sleep on a futex"},
	{"kernel", case_kernel, {{{"seconds", "1"}}}, "locks of the kernel with a known holder"},
};

int main(int argc, char **argv)
{
	return cases_main(cases, ARRAY_LEN(cases), argc, argv);
}
