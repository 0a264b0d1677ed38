/* SPDX-License-Identifier: MIT */
/*
 * What /proc knows: threads, their names and states, and the code that a process maps. Reads
 * status, comm, syscall, maps, fd and task only; /proc/PID/stat can lock up some 5.15 kernels
 * (LP#2118407).
 */
#ifndef THAW_CAPTURE_PROCFS_H
#define THAW_CAPTURE_PROCFS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/probe.h"

struct thread_facts {
	uint32_t tid, pid;
	uint32_t state; /* enum task_state_bit, as far as /proc tells */
	bool kernel;
	uint32_t call; /* in which it sleeps: see CALL_NR; 0: none, or not told */
	uint32_t vtid; /* its tid in its own pid namespace, where that is another one; else 0 */
	char name[64];
};

/* -ESRCH if it is gone. */
int procfs_thread(uint32_t pid, uint32_t tid, struct thread_facts *ret);
/* The process of a thread. */
int procfs_pid_of(uint32_t tid, uint32_t *ret_pid);

typedef void procfs_fn(void *ctx, uint32_t pid, uint32_t tid);
/* Every thread of a process, or with pid 0 of every process. -ESRCH if the process is gone. */
int procfs_each_thread(uint32_t pid, procfs_fn *fn, void *ctx);

struct map_facts {
	uint64_t start, end, pgoff;
	uint64_t dev, inode;
	bool exec, shared;
	const char *path; /* "" for anonymous memory */
};
typedef void procfs_map_fn(void *ctx, const struct map_facts *map);
/* All mappings of a process, in the order of their addresses. */
int procfs_each_map(uint32_t pid, procfs_map_fn *fn, void *ctx);

/* -1 for what is no regular file: a device might do something when it is opened. */
int procfs_open_regular(const char *path);
/* The very file that a process maps, or else what its path leads to for it; -1: neither. */
int procfs_open_mapped(uint32_t pid, uint64_t start, uint64_t end, const char *path);

#endif
