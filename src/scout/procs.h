/* SPDX-License-Identifier: MIT */
/*
 * The processes of a recording: which code each has mapped where, at this moment of the stream.
 *
 * The table is driven by records in the order of time, so an address is always looked up in the
 * mappings that held when it was taken. Processes share their mappings until one of them maps
 * something (copy on write), so that a fork storm costs little; `version` changes with every
 * change, and equal versions mean equal mappings.
 *
 * The scout (scout.h) reads what a process had mapped before the first record about it. Until its
 * answer comes the process is unread: a lookup finds nothing, which does not mean that nothing is
 * mapped.
 */
#ifndef THAW_SCOUT_PROCS_H
#define THAW_SCOUT_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scout/scout.h"
#include "store/writer.h"
#include "symbol/opener.h"

struct procs;

/* New modules go to the writer. */
struct procs *procs_new(struct writer *w);
void procs_free(struct procs *p);
/* Without a scout, only what records report is known. */
void procs_set_scout(struct procs *p, struct scout *s);
/* How far the stream has come. */
void procs_at(struct procs *p, uint64_t ts);

/* A thread of process pid appears or ends; a process is forgotten with its last thread. */
void procs_thread(struct procs *p, uint32_t pid);
void procs_thread_end(struct procs *p, uint32_t pid);
/* A new process starts out with its parent's mappings. */
void procs_fork(struct procs *p, uint32_t pid, uint32_t parent);
bool procs_known(const struct procs *p, uint32_t pid);
/* Forgets a process that has no recorded thread. */
void procs_forget_stranger(struct procs *p, uint32_t pid);
void procs_exec(struct procs *p, uint32_t pid);

struct mapping {
	uint64_t start, len, pgoff;
	const char *path;
	uint64_t dev,
		inode; /* as /proc/PID/maps or a record of perf has them; inode 0: not known */
	uint64_t generation; /* of the inode, which may be used again; only in a record */
	bool recorded;	     /* from a record: the build id has yet to be read */
	const uint8_t *build_id;
	size_t build_id_len;
	bool silent; /* its file does not answer */
};
/* Returns the module's index. For a recorded mapping it waits a little for the build id. */
uint32_t procs_map(struct procs *p, uint32_t pid, const struct mapping *m);

/* ---- reading ---- */

/* From now on `fn` gets each mapping that is read of a recorded process. */
typedef void procs_map_fn(void *ctx, uint32_t pid, const struct mapping *m, uint32_t module);
void procs_set_tell(struct procs *p, procs_map_fn *fn, void *ctx);
/* Passes all known mappings of a process to it. */
void procs_tell(struct procs *p, uint32_t pid);
/* Has its mappings read, whatever that costs; they are known after scout_wait_all(). */
void procs_load(struct procs *p, uint32_t pid);
/* Call before looking up an address of the process: waits a little if it is unread. */
void procs_need(struct procs *p, uint32_t pid);
/* Has the same program mapped something that no record reports? Waits a little. */
bool procs_refresh(struct procs *p, uint32_t pid);
/* One mapping, as /proc has it: passed on if it is code. Waits a little for its build id. */
struct map_facts;
void procs_map_read(struct procs *p, uint32_t pid, const struct map_facts *f);
/* Are its mappings not read yet, or not readable? */
bool procs_unread(const struct procs *p, uint32_t pid);
/* Notes that the file of a module does not answer. */
void procs_module_silent(struct procs *p, uint32_t module, uint32_t pid);
/*
 * Lists what does not answer, "FILE (mapped by process 123)": the first `n`. Returns how many there
 * are in all.
 */
size_t procs_silent(const struct procs *p, const char *const **ret, size_t *ret_n);

/* ---- looking up ---- */

/* A piece of a process's code. Paths and build ids are valid as long as `p`. */
struct proc_range {
	uint64_t start, end, pgoff;
	uint32_t module;
	enum module_kind kind;
	const char *path;
	uint64_t dev, inode; /* inode 0: not known */
	const uint8_t *build_id;
	size_t build_id_len;
	bool silent; /* its file does not answer: do not open it */
};
/* How to open the file of a range. */
struct opener_want procs_want(uint32_t pid, const struct proc_range *r);
typedef void proc_range_fn(void *ctx, const struct proc_range *r);
/* Passes each, sorted, to `fn` (may be NULL). Returns how many there are. */
size_t procs_ranges(struct procs *p, uint32_t pid, proc_range_fn *fn, void *ctx);
bool procs_range_at(struct procs *p, uint32_t pid, uint64_t addr, struct proc_range *ret);

/* The version of a process's mappings now. */
uint64_t procs_version(struct procs *p, uint32_t pid);
/* All three at once: procs_need(), procs_unread(), procs_version(). */
uint64_t procs_look(struct procs *p, uint32_t pid, bool *ret_unread);
/* The frame for an address in user space. */
struct frame procs_frame(struct procs *p, uint32_t pid, uint64_t addr);
uint32_t procs_kernel_module(const struct procs *p);
/* The module of the frame that marks a guessed caller. */
uint32_t procs_guess_module(struct procs *p);

#endif
