/* SPDX-License-Identifier: MIT */
/*
 * The unwind tables of the objects that processes map: each built once, in the arrays of the
 * probes. A builder makes them; asking, and putting them into the arrays, is one thread's.
 */
#ifndef THAW_CAPTURE_OBJECTS_H
#define THAW_CAPTURE_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/engine.h"
#include "capture/procs.h"
#include "unwind/table.h"

struct objects;

struct objects *objects_new(const struct unwind_arrays *a);
void objects_free(struct objects *o);
/* Forgets all tables. */
void objects_reset(struct objects *o);
/* There may be no room for another one. */
bool objects_full(const struct objects *o);

/* What the probes are to know of a mapping as things are: an object's number, or OBJECT_*. */
uint32_t objects_known(struct objects *o, const struct proc_range *r, uint64_t *ret_bias);
/*
 * The table for a mapping, or NULL if it has none. False: it is being built, or too many others
 * are; collect, and ask again.
 */
bool objects_need(struct objects *o, uint32_t pid, const struct proc_range *r,
		  const struct unwind_table **ret_table, uint64_t *ret_bias);
/* Puts what has been built meanwhile in place; waits up to so long if there is nothing. */
void objects_collect(struct objects *o, uint64_t wait_ns);
/* CPU time that building has taken so far. */
uint64_t objects_cpu_ns(const struct objects *o);
/* Changes whenever another object is built. */
uint64_t objects_version(const struct objects *o);
void objects_stats(const struct objects *o, uint64_t *ret_objects, uint64_t *ret_rows,
		   uint64_t *ret_bytes, uint64_t *ret_build_ns);

#endif
