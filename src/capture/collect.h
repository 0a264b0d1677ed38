/* SPDX-License-Identifier: MIT */
/*
 * The collector turns records, in the order of time, into the events of a capture: it keeps track
 * of threads and processes, gives stacks their place in the file, and accounts for what was lost.
 */
#ifndef THAW_CAPTURE_COLLECT_H
#define THAW_CAPTURE_COLLECT_H

#include <stdint.h>

#include "capture/engine.h"
#include "capture/plan.h"
#include "capture/tables.h"
#include "ring/source.h"
#include "store/writer.h"

struct collector;

struct collector *collector_new(const struct plan *plan, struct engine *e, struct writer *w);
void collector_free(struct collector *c);
/* What to do while a record has to wait for something: see tables.h. */
void collector_set_idle(struct collector *c, tables_idle_fn *fn, void *ctx);

/* Before arming: finds the threads to look at, and sets the engine's filter. */
int collector_find(struct collector *c);
/* The recording begins: what is known so far is told, and threads born meanwhile are found. */
void collector_begin(struct collector *c, uint64_t ts);
/* Passed to order_run(). */
void collector_record(void *collector, const struct record *rec);
/* After each of its calls: what can be done once for many records. */
void collector_settle(struct collector *c);
/* A step back at that moment, to be told in its place. The note is copied. */
void collector_step(struct collector *c, uint64_t ts, const struct ev_mark *mark);
/* No record from before `until` will come any more. */
void collector_passed(struct collector *c, uint64_t until);
/*
 * Nothing has been recorded since `from`. Finds out what has changed, arms the engine, tells it.
 * All records from before must have been passed on. Returns the moment from which on it records.
 */
uint64_t collector_resume(struct collector *c, uint64_t from);
/* From then on nothing is recorded. */
void collector_detached(struct collector *c, uint64_t ts);
/* Once in a while, and at the end: losses since the last call become events. */
void collector_losses(struct collector *c, uint64_t late);
void collector_end(struct collector *c, uint64_t ts);

/* What the user should know, a line each: appended. */
void collector_notes(const struct collector *c, char *out, size_t room);

/* How many of the threads to look at are alive. */
uint64_t collector_alive(const struct collector *c);
uint64_t collector_seen(const struct collector *c); /* threads, ever */
uint64_t collector_lost(const struct collector *c); /* events and samples */
/* CPU time for what is done once for each program that is met: see tables.h. */
uint64_t collector_build_ns(const struct collector *c);

#endif
