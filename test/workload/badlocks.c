// SPDX-License-Identifier: MIT
/*
 * Locks about which it is easy to be wrong: `badlocks CASE [args] [--log FILE]`. A profiler may say
 * little about them, but it must not fail, and must not blame a thread that did not hold the lock.
 */
#include "badlocks/badlocks.h"

#define ARGS                                                                                       \
	{                                                                                          \
		{                                                                                  \
			{"threads", "4"}, {"seconds", "1"}, {"log", ""},                           \
		}                                                                                  \
	}

static const struct workload_case cases[] = {
	{"handmade", case_handmade, ARGS, "a lock that is not libc's, and garbage behind it"},
	{"mimic", case_mimic, ARGS, "the same, and the garbage looks exactly like libc's"},
	{"bitset", case_bitset, ARGS, "the same with FUTEX_WAIT_BITSET"},
	{"waitv", case_waitv, ARGS, "the same with futex_waitv"},
	{"futex2", case_futex2, ARGS, "the same with futex_wait"},
	{"edge", case_edge, ARGS, "its word is the last one of the memory"},
	{"unmapped",
	 case_unmapped,
	 {{{"seconds", "1"}, {"log", ""}}},
	 "its memory goes while it is waited for"},
	{"killed", case_killed, {{{"children", "23"}}}, "as a mutex: children that die of it"},
	{"reused", case_reused, ARGS, "mutex, semaphore and condition variable at one address"},
	{"dead_owner",
	 case_dead_owner,
	 {{{"seconds", "1"}, {"log", ""}}},
	 "holders that end without letting go"},
	{"tids", case_tids, {{{"pairs", "41"}, {"log", ""}}}, "the numbers of threads come round"},
};

int main(int argc, char **argv)
{
	return cases_main(cases, ARRAY_LEN(cases), argc, argv);
}
