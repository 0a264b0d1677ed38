// SPDX-License-Identifier: MIT
/* forks, execs, exits: processes that come and go. */
#include <unistd.h>
#include "lib/base.h"
#include "lib/party.h"
#include "workload/workload.h"

static void children_run(size_t n, const char *path)
{
	uint64_t t0 = now_ns();

	for (size_t i = 0; i < n; i++) {
		pid_t pid = fork_child();

		if (!pid) {
			if (path)
				execl(path, path, (char *)NULL);
			_exit(path ? 127 : 0);
		}
		wait_child(pid);
	}
	fact(&run.facts, "children", (double)n);
	fact(&run.facts, "children_ns", (double)(now_ns() - t0));
}

void case_forks(const struct args *a)
{
	children_run(arg_count(a, "count"), NULL);
}

void case_execs(const struct args *a)
{
	children_run(arg_count(a, "count"),
		     access("/bin/true", X_OK) ? "/usr/bin/true" : "/bin/true");
}

void case_exits(const struct args *a)
{
	fact(&run.facts, "slept_ns", (double)sleep_ns((uint64_t)(arg_num(a, "ms") * 1e6)));
}
