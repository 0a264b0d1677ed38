// SPDX-License-Identifier: MIT
/*
 * Waits for a known reason: `waits CASE [seconds] [--log FILE]`. A case has a row in the truth for
 * each thread that waited, how often and how long, by its own clock (lib/locklog.h).
 */
#include "waits/waits.h"

#define ARGS                                                                                       \
	{                                                                                          \
		{                                                                                  \
			{"seconds", "1"}, {"log", ""},                                             \
		}                                                                                  \
	}

static const struct workload_case cases[] = {
	{"disk", case_disk, ARGS, "direct reads; fdatasync"},
	{"page_fault", case_page_fault, ARGS, "mapped pages that are on the disk"},
	{"pipe", case_pipe, ARGS, "for bytes; for room"},
	{"poll", case_poll, ARGS, "poll, select, epoll"},
	{"network", case_network, ARGS, "bytes on a Unix socket and over TCP; accept"},
	{"sleep", case_sleep, ARGS, "nanosleep; until a time"},
	{"child", case_child, ARGS, "waitpid, waitid"},
	{"signal", case_signal, ARGS, "sigwait, sigsuspend"},
	{"stopped",
	 case_stopped,
	 {{{"seconds", "1"}}},
	 "a process that is stopped again and again"},
	{"throttled",
	 case_throttled,
	 {{{"cgroup", ""}, {"seconds", "1"}}},
	 "a spinner in a cgroup with a limit on its CPU time"},
};

int main(int argc, char **argv)
{
	return cases_main(cases, ARRAY_LEN(cases), argc, argv);
}
