/* SPDX-License-Identifier: MIT */
/*
 * The collector turns records, in the order of time, into the events of a capture: it keeps track
 * of threads and processes, gives stacks their place in the file, and accounts for what was lost.
 */
#ifndef THAW_COLLECT_COLLECT_H
#define THAW_COLLECT_COLLECT_H

#include <stdint.h>

#include "engine/engine.h"
#include "engine/plan.h"
#include "ring/source.h"
#include "scout/scout.h"
#include "store/writer.h"
#include "unwind_tables/unwinds.h"

struct collector;

struct collector *collector_new(const struct plan *plan, struct engine *e, struct writer *w,
				struct scout *scout);
void collector_free(struct collector *c);
/* What to do while a record has to wait for something: see tables.h. */
void collector_set_idle(struct collector *c, unwinds_idle_fn *fn, void *ctx);

/* Before arming: finds the threads to look at, and sets the engine's filter. */
int collector_find(struct collector *c);
/* Begins the recording: writes what is known so far, and finds threads born meanwhile. */
void collector_begin(struct collector *c, uint64_t ts);
/* Passed to order_run(). */
void collector_record(void *collector, const struct record *rec);
/* After each order_run(): does what needs doing only once for many records. */
void collector_settle(struct collector *c);
/* A step taken at that moment, to be written in its place. Copies the note. */
void collector_step(struct collector *c, uint64_t ts, const struct ev_mark *mark);
/* No record from before `until` will come. */
void collector_passed(struct collector *c, uint64_t until);
/*
 * Resumes after a pause that began at `from`: finds out what has changed, arms the engine and
 * writes the changes. All records from before must have been passed on. Returns when it resumed.
 */
uint64_t collector_resume(struct collector *c, uint64_t from);
/* Nothing is recorded after `ts`. */
void collector_detached(struct collector *c, uint64_t ts);
/* Once in a while, and at the end: losses since the last call become events. */
void collector_losses(struct collector *c, uint64_t late);
/* Before disarming: finds the threads that sleep. What they sleep on is read at the end. */
void collector_stopping(struct collector *c);
void collector_end(struct collector *c, uint64_t ts);

/* What the user should know, a line each: appended. */
void collector_notes(const struct collector *c, char *out, size_t room);

/* How many of the threads to look at are alive. */
uint64_t collector_alive(const struct collector *c);
uint64_t collector_seen(const struct collector *c); /* threads, ever */
/* Events and samples, by cause: LOSS_CAUSES numbers. */
void collector_lost(const struct collector *c, uint64_t *ret_by_cause);
/* CPU time of the scout. */
uint64_t collector_scout_ns(const struct collector *c);
/* CPU time for unwind tables, and the part that another process used: see tables.h. */
uint64_t collector_build_ns(const struct collector *c);
uint64_t collector_child_ns(const struct collector *c);

#endif
