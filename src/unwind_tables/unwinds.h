/* SPDX-License-Identifier: MIT */
/*
 * Keeps the unwind tables and the mappings of processes where the probes read them (wire/probe.h),
 * and walks the stacks that the probes could only copy.
 *
 * Nothing is built before it is needed. A probe that meets a process or an object that it has no
 * table for sends a copy of the stack; walking the copy builds the missing tables, and publishing
 * the process makes the next walk the probes' own. So the first stack of a program is as whole as
 * the last, and code that never runs costs nothing. Large tables take a while: another thread
 * builds them, and the stream stands still until they are there, while the rings are still drained.
 *
 * The tables take as much memory as those in use need, up to a limit (objects.h). The mappings of
 * processes have a fixed room: when it is full, all processes are forgotten, and those that still
 * run come back by themselves.
 */
#ifndef THAW_UNWIND_TABLES_UNWINDS_H
#define THAW_UNWIND_TABLES_UNWINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "scout/procs.h"
#include "unwind_tables/objects.h"
#include "wire/probe.h"
#include "wire/unwind.h"

struct unwind_tables;

/* Called again and again while a table is being built; false: there is no time to wait for it. */
typedef bool unwinds_idle_fn(void *ctx);

/* NULL if the engine has no arrays for unwind tables. */
struct unwinds_opts {
	const char *dir; /* where built tables are kept; NULL: where it is usual, "": nowhere */
	uint64_t share;	 /* of one CPU's time for building, in millionths; see builder.h */
};
struct unwind_tables *unwinds_new(struct engine *e, struct procs *p,
				  const struct unwinds_opts *opts);
void unwinds_free(struct unwind_tables *t);
void unwinds_set_idle(struct unwind_tables *t, unwinds_idle_fn *fn, void *ctx);
/* Called when a walk meets an unmapped address: has the process mapped it by now? */
typedef bool unwinds_miss_fn(void *ctx, uint32_t pid);
void unwinds_set_miss(struct unwind_tables *t, unwinds_miss_fn *fn, void *ctx);

/*
 * Walks a copied stack: its addresses, and why there are no more. Publishes the process. May idle,
 * and needs the copy only until then.
 */
size_t unwinds_walk(struct unwind_tables *t, const struct pr_copy *copy, uint64_t *ips, size_t max,
		    enum unwind_stop *ret_stop);

/* What happens to processes, in the order of time. */
void unwinds_fork(struct unwind_tables *t, uint32_t pid);
void unwinds_exec(struct unwind_tables *t, uint32_t pid, uint32_t execs);
void unwinds_exit(struct unwind_tables *t, uint32_t pid);
void unwinds_mapped(struct unwind_tables *t, uint32_t pid);
/* After a batch of records: processes that have mapped something are published, once each. */
void unwinds_settle(struct unwind_tables *t);
/* The recording is over: the user waits for the tables that are still being built. */
void unwinds_hurry(struct unwind_tables *t);

/* CPU time of building tables, and the part that another process used. */
uint64_t unwinds_cpu_ns(const struct unwind_tables *t);
uint64_t unwinds_child_ns(const struct unwind_tables *t);

/* The recording is over: reports a file that is still waited for. */
void unwinds_end(struct unwind_tables *t);
/* Forgets processes after a pause, in which they may have changed. */
void unwinds_forget(struct unwind_tables *t);

struct unwinds_stats {
	struct objects_stats objects;
	uint64_t copies, copy_bytes; /* stacks that the probes could not walk themselves */
	uint64_t published, resets;
};
void unwinds_stats(const struct unwind_tables *t, struct unwinds_stats *ret);

#endif
