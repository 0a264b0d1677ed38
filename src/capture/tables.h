/* SPDX-License-Identifier: MIT */
/*
 * Keeps the unwind tables and the mappings of processes where the probes read them (wire/probe.h),
 * and walks the stacks that the probes could only copy.
 *
 * Nothing is built before it is needed. A probe that meets a process or an object that it has no
 * table for sends a copy of the stack; walking the copy builds the missing tables, and publishing
 * the process makes the next walk the probes' own. So the first stack of a program is as whole as
 * the last, and what never runs costs nothing. Large tables take a while: they are built in another
 * thread, and the stream stands still until they are there, but who empties the rings does not.
 *
 * Memory is fixed. When the arrays are full, everything is forgotten and begins anew: what is still
 * in use comes back by itself.
 */
#ifndef THAW_CAPTURE_TABLES_H
#define THAW_CAPTURE_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/engine.h"
#include "capture/procs.h"
#include "wire/probe.h"
#include "wire/unwind.h"

struct tables;

/* Called again and again while a table is being built; false: there is no time to wait for it. */
typedef bool tables_idle_fn(void *ctx);

/* NULL if the engine has no arrays for them: it does without. */
struct tables *tables_new(struct engine *e, struct procs *p);
void tables_free(struct tables *t);
void tables_set_idle(struct tables *t, tables_idle_fn *fn, void *ctx);
/* Asked when a walk meets an address that the process has not mapped: has it, by now? */
typedef bool tables_miss_fn(void *ctx, uint32_t pid);
void tables_set_miss(struct tables *t, tables_miss_fn *fn, void *ctx);

/*
 * A copied stack: its addresses, and why there are no more. Publishes the process. May idle, and
 * needs the copy only until then.
 */
size_t tables_walk(struct tables *t, const struct pr_copy *copy, uint64_t *ips, size_t max,
		   enum unwind_stop *ret_stop);

/* What happens to processes, in the order of time. */
void tables_fork(struct tables *t, uint32_t pid);
void tables_exec(struct tables *t, uint32_t pid, uint32_t execs);
void tables_exit(struct tables *t, uint32_t pid);
void tables_mapped(struct tables *t, uint32_t pid);
/* After a batch of records: processes that have mapped something are published, once each. */
void tables_settle(struct tables *t);

/* CPU time that building tables has taken: once for each object that is met. */
uint64_t tables_cpu_ns(const struct tables *t);

/* Nobody has looked for a while: what is known of processes may be wrong. */
void tables_forget(struct tables *t);

struct tables_stats {
	uint64_t objects, rows, bytes, build_ns;
	uint64_t copies, copy_bytes; /* stacks that the probes could not walk themselves */
	uint64_t published, resets;
};
void tables_stats(const struct tables *t, struct tables_stats *ret);

#endif
