/* SPDX-License-Identifier: MIT */
/* The cases of contended kernel locks, and the crew of threads that runs each. */
#ifndef WORKLOAD_KLOCKS_H
#define WORKLOAD_KLOCKS_H

#include "lib/base.h"
#include "lib/cases.h"
#include "lib/truth.h"

struct hand {
	struct truth *truth;
	void (*work)(struct hand *h); /* one operation */
	size_t index;
	uint64_t end_ns, done;
	int from, to; /* pipe: its ends; rename: the directory, twice */
};

/* So many threads, as the arguments say, each at work until the time is up. */
void crew_run(const struct args *a, void (*work)(struct hand *h), int from, int to);

void case_pipe(const struct args *a);
void case_rename(const struct args *a);
void case_mmap(const struct args *a);
void case_replace(const struct args *a);
void case_populate(const struct args *a);

#endif
