/* SPDX-License-Identifier: MIT */
/*
 * What /proc knows: threads, their names and states, and the code that a process maps. Reads
 * status, comm, maps and task only; /proc/PID/stat can lock up some 5.15 kernels
 * (LP#2118407), and /proc/PID/task/TID/stat is the same.
 */
#ifndef THAW_SCOUT_PROCFS_H
#define THAW_SCOUT_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/probe.h"

struct thread_facts {
	uint32_t tid, pid;
	uint32_t state; /* enum task_state_bit, as far as /proc tells */
	bool kernel;
	uint32_t call; /* in which it sleeps, from the scout: see CALL_NR; 0: none, or not known */
	uint32_t vtid; /* its tid in its own pid namespace, where that is another one; else 0 */
	char name[64];
};

/* A thread gives up its memory early in its exit. EXITING: it has none; kernel threads never do. */
enum thread_life { LIFE_LIVES, LIFE_EXITING, LIFE_ENDED };

/* -ESRCH if it is gone. Waits for nobody. */
int procfs_thread(uint32_t pid, uint32_t tid, struct thread_facts *ret);
/* Cheaper, if that is all one wants to know. */
enum thread_life procfs_life(uint32_t pid, uint32_t tid);
/* Its name alone; false if it is gone. */
bool procfs_name(uint32_t pid, uint32_t tid, char *out, size_t room);
/* The process of a thread. */
int procfs_pid_of(uint32_t tid, uint32_t *ret_pid);

typedef void procfs_fn(void *ctx, uint32_t pid, uint32_t tid);
/* Every thread of a process, or with pid 0 of every process. -ESRCH if the process is gone. */
int procfs_each_thread(uint32_t pid, procfs_fn *fn, void *ctx);

/* The parent of a process; 0: it has none, or is gone. */
uint32_t procfs_parent(uint32_t pid);
/* Every process that descends from one of these, not they themselves. */
void procfs_each_descendant(const uint32_t *pids, size_t n, procfs_fn *fn, void *ctx);

/*
 * Processes by the name of their first thread, or of the file that they run: as pidof does. Not
 * ourselves.
 */
void procfs_each_named(const char *name, procfs_fn *fn, void *ctx);

struct map_facts {
	uint64_t start, end, pgoff;
	uint64_t dev, inode;
	bool exec, shared;
	const char *path; /* "" for anonymous memory */
};
typedef void procfs_map_fn(void *ctx, const struct map_facts *map);
/*
 * All mappings of a process, in the order of their addresses. Only for the scout (scout.h): it may
 * wait forever if a thread of the process waits for a file.
 */
int procfs_each_map(uint32_t pid, procfs_map_fn *fn, void *ctx);

#endif
