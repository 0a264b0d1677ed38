/* SPDX-License-Identifier: MIT */
/*
 * The processes of a recording: which code each has mapped where, at this moment of the stream.
 *
 * The table is driven by records in the order of time, so an address is always looked up in the
 * mappings that held when it was taken. Processes share their mappings until one of them maps
 * something (copy on write), so that a fork storm costs little; `version` changes with every
 * change, and equal versions mean equal mappings.
 */
#ifndef THAW_CAPTURE_PROCS_H
#define THAW_CAPTURE_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/writer.h"

struct procs;

/* New modules go to the writer. */
struct procs *procs_new(struct writer *w);
void procs_free(struct procs *p);

/* A thread of process pid appears or ends; a process is forgotten with its last thread. */
void procs_thread(struct procs *p, uint32_t pid);
void procs_thread_end(struct procs *p, uint32_t pid);
/* A new process starts out with its parent's mappings. */
void procs_fork(struct procs *p, uint32_t pid, uint32_t parent);
bool procs_known(const struct procs *p, uint32_t pid);
/* Forgets a process of which no thread is looked at. */
void procs_forget_stranger(struct procs *p, uint32_t pid);
void procs_exec(struct procs *p, uint32_t pid);

struct mapping {
	uint64_t start, len, pgoff;
	const char *path;
	const uint8_t *build_id;
	size_t build_id_len;
};
/* Returns the module's index. */
uint32_t procs_map(struct procs *p, uint32_t pid, const struct mapping *m);
/* Reads what it maps from /proc; `fn` (may be NULL) is told each mapping. */
typedef void procs_map_fn(void *ctx, uint32_t pid, const struct mapping *m, uint32_t module);
void procs_load(struct procs *p, uint32_t pid, procs_map_fn *fn, void *ctx);
/* The same again, if it is still the same program; `fn` is told what is new. Says whether. */
bool procs_refresh(struct procs *p, uint32_t pid, procs_map_fn *fn, void *ctx);
/* One mapping, as /proc has it: `fn` (may be NULL) is told if it is code. */
struct map_facts;
void procs_map_read(struct procs *p, uint32_t pid, const struct map_facts *f, procs_map_fn *fn,
		    void *ctx);

/* A piece of a process's code. Paths and build ids are valid as long as `p`. */
struct proc_range {
	uint64_t start, end, pgoff;
	uint32_t module;
	enum module_kind kind;
	const char *path;
	const uint8_t *build_id;
	size_t build_id_len;
};
typedef void proc_range_fn(void *ctx, const struct proc_range *r);
/* How many there are, sorted; `fn` (may be NULL) is told each. */
size_t procs_ranges(struct procs *p, uint32_t pid, proc_range_fn *fn, void *ctx);
bool procs_range_at(struct procs *p, uint32_t pid, uint64_t addr, struct proc_range *ret);

/* The mappings of a process now; a process never heard of is read from /proc. */
uint64_t procs_version(struct procs *p, uint32_t pid);
/* The frame for an address in user space. */
struct frame procs_frame(struct procs *p, uint32_t pid, uint64_t addr);
uint32_t procs_kernel_module(const struct procs *p);

#endif
