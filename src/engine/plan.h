/* SPDX-License-Identifier: MIT */
/* What to record: the answer to the command line, before anything touches the kernel. */
#ifndef THAW_ENGINE_PLAN_H
#define THAW_ENGINE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct guard;

enum scope {
	SCOPE_COMMAND, /* a command that thaw starts, and its children */
	SCOPE_PROCESS, /* processes, all their threads, and their children */
	SCOPE_THREAD,  /* single threads, and what they start */
	SCOPE_CGROUP,
	SCOPE_SYSTEM,
};

struct plan {
	enum scope scope;
	const uint32_t *ids; /* PROCESS: pids; THREAD: tids */
	size_t n_ids;
	const char *cgroup; /* a folder of the cgroup file system */
	char *const *command;
	const char *output;
	uint64_t duration_ns;	   /* 0: until it ends or is stopped */
	uint64_t freq_hz;	   /* 0: no samples */
	uint64_t min_wait_ns;	   /* a shorter wait is recorded without stacks */
	uint64_t ring_bytes;	   /* per CPU, a power of two; 0: by the number of CPUs */
	uint64_t tables_bytes;	   /* limit for unwind tables; 0: a share of memory */
	const char *tables_dir;	   /* where they are kept; NULL: where it is usual, "": nowhere */
	bool no_inherit;	   /* do not follow children */
	const char *engine;	   /* by its name; NULL: the first that can */
	uint32_t accepted;	   /* findings of the guard to ignore: guard_accept() */
	const struct guard *guard; /* what may be done here; the session's */
	uint64_t max_overhead; /* of the machine's CPU time, in millionths: see guard/budget.h */
};

#endif
