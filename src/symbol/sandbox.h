/* SPDX-License-Identifier: MIT */
/*
 * Takes from the calling process, a fresh child, everything that it does not need, for good.
 * Private to symbol/.
 */
#ifndef THAW_SYMBOL_SANDBOX_H
#define THAW_SYMBOL_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sandboxed process's descriptors: 1 to answer, from SANDBOX_FILES on the files to read. */
#define SANDBOX_ANSWER 1
#define SANDBOX_FILES 3
#define SANDBOX_FILES_MAX 8

struct sandbox_limits {
	unsigned cpu_seconds;
	uint64_t memory; /* bytes, beside what the process has now and the files that it maps */
	bool receives;	 /* descriptors, through SANDBOX_ANSWER */
};

/* Closes the terminal and every pipe, so that nobody who waits for their end waits for a child. */
void sandbox_quiet(void);
/* Moves the descriptors to their places, closes all others. */
int sandbox_descriptors(int answer, const int *files, size_t n);
/* Unmaps writable memory that is shared with the parent. */
void sandbox_shared_memory(void);
/* No capabilities, no new privileges, and instead of root: nobody, or the caller of sudo. */
int sandbox_privileges(bool as_caller);
/* Little memory and CPU time, no files to write, no system calls but those that parsing needs. */
void sandbox_seal(const struct sandbox_limits *l);

#endif
