/* SPDX-License-Identifier: MIT */
/*
 * Takes from the calling process, a fresh child, everything that it does not need. One way: there
 * is no coming back. Private to symbol/.
 */
#ifndef THAW_SYMBOL_SANDBOX_H
#define THAW_SYMBOL_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The descriptors that a sandboxed process has: 1 to answer, from SANDBOX_FILES on what it reads.
 */
#define SANDBOX_ANSWER 1
#define SANDBOX_FILES 3
#define SANDBOX_FILES_MAX 8

struct sandbox_limits {
	unsigned cpu_seconds;
	uint64_t memory; /* bytes, beside what the process has now and the files that it maps */
};

/* Moves the descriptors to their places, closes all others. */
int sandbox_descriptors(int answer, const int *files, size_t n);
/* No capabilities, no new privileges, and instead of root: nobody, or who called sudo. */
int sandbox_privileges(bool as_caller);
/* Little memory and CPU time, no files to write, no system calls but those that parsing needs. */
void sandbox_seal(const struct sandbox_limits *l);

#endif
