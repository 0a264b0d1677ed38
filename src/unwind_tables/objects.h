/* SPDX-License-Identifier: MIT */
/*
 * The unwind tables of the objects that processes map: a builder gets each once, and they are put
 * where the probes look. Only one thread asks for tables and numbers them.
 *
 * There is a limit for all of them together. Near it, tables that no walk has used for a while are
 * evicted, the longest unused first; they come back when a walk needs them again. A table that does
 * not fit beside those in use is tried again later; one that can never fit is not. Each case has
 * its own answer.
 */
#ifndef THAW_UNWIND_TABLES_OBJECTS_H
#define THAW_UNWIND_TABLES_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/engine.h"
#include "scout/procs.h"
#include "unwind/table.h"

/* A table that no walk has used for so many seconds may be evicted. */
#define OBJECTS_UNUSED_S 2u

struct objects;
struct kept;

/* The file of a module that this process has mapped does not answer. */
typedef void objects_silent_fn(void *ctx, uint32_t module, uint32_t pid);

struct objects_opts {
	struct kept *kept;	      /* taken over; NULL: nothing is kept on disk */
	uint64_t share;		      /* as in builder.h */
	objects_silent_fn *on_silent; /* may be NULL */
	void *ctx;
};

struct objects *objects_new(const struct unwind_arrays *a, const struct objects_opts *opts);
void objects_free(struct objects *o);

/* What the probes should know of a mapping now: an object's number, or OBJECT_*. */
uint32_t objects_known(struct objects *o, const struct proc_range *r, uint64_t *ret_bias);

enum objects_answer {
	OBJECTS_LATER, /* it or too many others are being built: collect, and ask again */
	OBJECTS_TABLE,
	OBJECTS_NO_TABLE,
	OBJECTS_NO_ROOM,
	OBJECTS_SILENT, /* its file does not answer */
};
/* The table for a mapping. */
enum objects_answer objects_need(struct objects *o, uint32_t pid, const struct proc_range *r,
				 const struct unwind_table **ret_table, uint64_t *ret_bias);
/* True: do not wait for OBJECTS_LATER, because building has used up its time. */
bool objects_rest(struct objects *o);
/* The user waits for what is still being built. */
void objects_hurry(struct objects *o);
/* Puts in place what has been built; if nothing has, waits up to wait_ns. */
void objects_collect(struct objects *o, uint64_t wait_ns);

/* No more questions: reports a file that is waited for in vain just now as silent. */
void objects_end(struct objects *o);

/* Call once a second: advances the clock by which use is counted. */
void objects_second(struct objects *o);
/*
 * True: a table that had no room, or a file that did not answer, may be tried again, so published
 * processes are out of date.
 */
bool objects_retry(struct objects *o, uint64_t now);
/*
 * Chooses tables to evict. The caller takes those in `is_gone` (by number) from all mappings, then
 * calls objects_let_go(). False: none must go, or none may.
 */
bool objects_choose_gone(struct objects *o, const bool **ret_is_gone);
void objects_let_go(struct objects *o, uint64_t now);

/* CPU time of building so far: all of it, and its child's alone. */
uint64_t objects_cpu_ns(const struct objects *o);
uint64_t objects_child_ns(const struct objects *o);
/* Changes whenever something becomes known, or gone. */
uint64_t objects_version(const struct objects *o);

struct objects_stats {
	uint64_t objects, rows, bytes; /* that are there now */
	uint64_t built, read;	       /* from files; from tables on disk */
	uint64_t build_ns;
	uint64_t evicted, refused; /* for want of room */
};
void objects_stats(const struct objects *o, struct objects_stats *ret);

#endif
