// SPDX-License-Identifier: MIT
/*
 * A ring in the kernel, interrupted inside its reservation by a hardware breakpoint whose program
 * emits into the same ring, and drained by the real consumer: all that was made must arrive or be
 * counted, and no emit may ever wait. Prints how long the nested emits took.
 */
#include <errno.h>
#include <stdio.h>

#include "base/err.h"
#include "selftest/selftest.h"

#define MILLISECONDS 2000

static unsigned long long ull(uint64_t v)
{
	return v;
}

int main(void)
{
	struct selftest_own t;
	int rc = selftest_own(MILLISECONDS, &t);

	if (rc == -EOPNOTSUPP) {
		printf("skip nested: %s\n", err_msg());
		return 0;
	}
	if (rc) {
		printf("FAIL nested: %s\n", err_msg());
		return 1;
	}
	printf("  made %llu + %llu nested, arrived %llu + %llu, lost %llu\n", ull(t.made[0]),
	       ull(t.made[1]), ull(t.arrived[0]), ull(t.arrived[1]), ull(t.lost));
	printf("  nested emit: mean %llu ns, 99%% below %llu ns, worst %llu ns; of those that were "
	       "interrupted: worst %llu ns\n",
	       ull(t.nested.mean_ns), ull(t.nested.p99_ns), ull(t.nested.worst_ns),
	       ull(t.outer_worst_ns));
	if (t.arrived[0] != t.made[0] || t.arrived[1] != t.made[1]) {
		printf("FAIL nested: records are missing\n");
		return 1;
	}
	/* Not every emit: the kernel throttles breakpoints that hit too often in a tick. */
	if (t.nested.tries < 1000) {
		printf("FAIL nested: the breakpoint hardly ever interrupted an emit\n");
		return 1;
	}
	if (t.outer_tries + t.nested.tries != t.made[0] + t.made[1] + t.lost) {
		printf("FAIL nested: %llu tries, but %llu records and %llu losses\n",
		       ull(t.outer_tries + t.nested.tries), ull(t.made[0] + t.made[1]),
		       ull(t.lost));
		return 1;
	}
	printf("ok nested\n");
	return 0;
}
