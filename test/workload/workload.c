// SPDX-License-Identifier: MIT
/*
 * Programs with a known truth: `workload CASE [args]` does one exactly known thing and then prints
 * what it did, by its own clocks, as one line of JSON (lib/truth.h). Tests hold a recording against
 * that line.
 *
 * Counts are exact: a case that cannot do what it was asked to do says so on stderr and fails.
 * Nothing here needs privileges.
 */
#include "lib/base.h"
#include "workload/workload.h"

static const struct workload_case cases[] = {
	{"spin", case_spin, {{{"threads", "2"}, {"seconds", "1"}}}, "threads that only compute"},
	{"sleep",
	 case_sleep,
	 {{{"count", "23"}, {"ms", "10"}}},
	 "a thread that sleeps count times"},
	{"pingpong",
	 case_pingpong,
	 {{{"trips", "10007"}, {"mode", "p"}, {"cpu", "-1"}, {"seconds", "0"}, {"every", "0"}}},
	 "a byte to and fro; mode p: processes, t: threads; seconds overrides trips; every: "
	 "the floor of each so many seconds"},
	{"pingpong2",
	 case_pingpong2,
	 {{{"trips", "10007"}, {"mode", "p"}, {"seconds", "0"}}},
	 "a pair of them on every CPU at once"},
	{"forks", case_forks, {{{"count", "101"}}}, "children that exit at once"},
	{"execs", case_execs, {{{"count", "53"}}}, "children that execute true"},
	{"threads",
	 case_threads,
	 {{{"count", "503"}, {"alive", "7"}}},
	 "a storm of short threads, so many alive at a time"},
	{"manythreads",
	 case_manythreads,
	 {{{"count", "2003"}, {"seconds", "3"}}},
	 "a crowd of threads that mostly sleep"},
	{"chain",
	 case_chain,
	 {{{"how", "spin"}, {"seconds", "1"}, {"threads", "1"}}},
	 "spin or sleep below chain_12 ... chain_1"},
	{"disk",
	 case_disk,
	 {{{"reads", "211"}, {"writes", "53"}}},
	 "64 KiB direct reads; 64 KiB writes, each with fdatasync"},
	{"mixed", case_mixed, {{{"seconds", "3"}}}, "spinners, sleepers, pipes, locks and a disk"},
	{"waker",
	 case_waker,
	 {{{"wakes", "101"}, {"delay-us", "2000"}, {"how", "cond"}}},
	 "a waiter and its waker; how: cond or eventfd"},
	{"preempt",
	 case_preempt,
	 {{{"threads", "3"}, {"seconds", "2"}, {"cpu", "-1"}}},
	 "spinners that share one CPU (-1: the last)"},
	{"shares", case_shares, {{{"seconds", "2"}}}, "CPU time in share_1 ... share_4"},
	{"stages", case_stages, {{{"rounds", "500"}}}, "counted work in stage_a, stage_b, stage_c"},
	{"exits", case_exits, {{{"ms", "50"}}}, "a process that is gone after that time"},
};

int main(int argc, char **argv)
{
	return cases_main(cases, ARRAY_LEN(cases), argc, argv);
}
