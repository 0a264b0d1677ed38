/* SPDX-License-Identifier: MIT */
/*
 * Children that open or read files of others. A child that waits for a file system may not even be
 * killable, so its parent must limit the wait for its answer and for its end. Such a child is left
 * behind, and ends when its file system answers or is gone. Private to symbol/.
 */
#ifndef THAW_SYMBOL_CHILD_H
#define THAW_SYMBOL_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbol/haste.h"
#include "symbol/left.h"

/* 0 if not known. */
uint64_t child_cpu_ns(pid_t pid);

/* A working child uses CPU time; one that looks after its own child does so now and then. */
struct child_pulse {
	pid_t pid;
	uint64_t cpu_ns, looked, still_ns;
};
/* For how long it has stood still, other than for want of a CPU; 0: not long enough to count. */
uint64_t child_still_ns(struct child_pulse *p, uint64_t now);

/* Kills it, and waits a little for its end. False: it does not end. */
bool child_end(pid_t pid, int *ret_status);
/* The same, but notes a child that does not end in `l` (may be NULL). */
bool child_end_or_leave(pid_t pid, int *ret_status, struct left *l);

/* Raises the child's priority, once, if it was asked to hurry. */
void child_make_haste(struct haste *h, pid_t pid);

/* Gives up a priority that the child has inherited. */
void child_make_modest(pid_t pid);

/* First of all in the child: closes all of its parent's descriptors but one. */
void child_keep_only(int fd);

#endif
