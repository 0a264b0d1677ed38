// SPDX-License-Identifier: MIT
/*
 * Contended locks of the kernel: `klocks CASE [threads] [seconds]`. The truth counts the
 * operations; how long they waited is not for a program to know: `perf lock` in the same run is the
 * measure.
 */
#include "klocks/klocks.h"

#define ARGS                                                                                       \
	{                                                                                          \
		{                                                                                  \
			{"threads", "6"}, {"seconds", "1"},                                        \
		}                                                                                  \
	}

static const struct workload_case cases[] = {
	{"pipe", case_pipe, ARGS, "threads that write to and read from one pipe"},
	{"rename", case_rename, ARGS, "threads that rename files in one directory"},
	{"mmap", case_mmap, ARGS, "threads that map, touch and unmap memory"},
	{"replace", case_replace, ARGS, "the same, beside one (hand-0) that gives much of it back"},
	{"populate", case_populate, ARGS,
	 "the same, beside one (hand-0) that has much of it filled"},
};

int main(int argc, char **argv)
{
	return cases_main(cases, ARRAY_LEN(cases), argc, argv);
}
