/* SPDX-License-Identifier: MIT */
/* The collector from inside: what its parts share. */
#ifndef THAW_COLLECT_COLLECT_PRIVATE_H
#define THAW_COLLECT_COLLECT_PRIVATE_H

#include "base/map.h"
#include "base/vec.h"
#include "collect/collect.h"
#include "collect/runs.h"
#include "collect/stacks.h"
#include "engine/perf_stream.h"
#include "scout/places.h"
#include "scout/procfs.h"
#include "scout/procs.h"
#include "unwind_tables/unwinds.h"
#include "wire/loss.h"
#include "wire/probe.h"

struct step_told {
	uint64_t ts;
	struct ev_mark mark;
	char note[200];
};

/*
 * A thread that was ending when the probes were armed. Its EXIT may have come before, and will
 * never be seen then: the thread would seem to live forever.
 */
struct ghost {
	uint32_t tid;
	uint64_t ended_ns; /* when it was first seen to have ended; 0: not yet */
};

struct collector {
	const struct plan *plan;
	struct engine *e;
	struct writer *w;
	struct procs *procs;
	struct scout *scout;
	struct stacks *stacks;
	struct unwind_tables *tables;
	struct places *places;
	struct map refreshed; /* self_told: pid -> when its mappings were last looked at */
	struct runs *runs;
	VEC(struct step_told) steps; /* not written yet: earlier records may still come */
	uint64_t detached_ns;
	bool paused;		    /* no record is on its way */
	struct perf_stream *stream; /* of the perf engine */
	struct perf_record perf;    /* the one at hand */
	uint64_t damaged;	    /* malformed perf records */
	struct map threads;	    /* tid -> pid, of those that we look at */
	struct map own;		    /* thaw's own pids, if it records itself */
	struct map born;	    /* found after arming: their FORK may be on the way */
	struct map strangers;	    /* tids of wakers that we do not look at, but have named */
	VEC(struct thread_facts) found;
	size_t found_read;   /* how many of them have been read */
	struct map found_at; /* tid -> its place in found, plus one */
	uint64_t names_from; /* when the second began in which strangers' names count */
	unsigned names;
	struct sleepers *sleepers;
	VEC(struct event) late; /* not written yet, by time: earlier records may still come */
	size_t late_told;	/* how many of them are written */
	struct pr_copy *held;	/* a copy that has to wait until its process is read */
	bool armed;
	uint64_t begin_ts;
	VEC(struct ghost) ghosts;
	size_t ghosts_at; /* which to look at next */
	uint64_t ghosts_next_ns;
	uint64_t last_ts;
	uint64_t seen;
	uint64_t lost[LOSS_CAUSES];
	struct engine_losses told;
	uint64_t told_gone, told_late, told_damaged, told_throttled, told_unread;
};

/* Writes an event. Only events that follow another at the same time bypass this. */
void collect_put(struct collector *c, struct event *ev);

/* ---- collect_threads.c ---- */
int collect_find_all(struct collector *c);
/* Finds thaw's own threads. */
void collect_find_own(struct collector *c);
void collect_tell_found(struct collector *c);
/* True if it is new. */
bool collect_thread_add(struct collector *c, uint32_t tid, uint32_t pid);
void collect_thread_del(struct collector *c, uint32_t tid);
void collect_end_threads(struct collector *c, uint32_t pid, uint32_t but, uint64_t ts);
void collect_end_the_dead(struct collector *c);
/* Ends the ghosts whose EXIT would have come by now; drained: no record will come any more. */
void collect_lay_ghosts(struct collector *c, bool drained);
void collect_cgroup_move(struct collector *c, const struct pr_task *r, bool in);
void collect_tell_map(void *ctx, uint32_t pid, const struct mapping *m, uint32_t module);
void collect_take_calls(void *ctx, const struct scout_answer *a);
bool collect_look_again(void *ctx, uint32_t pid);

/* ---- collect_asleep.c ---- */
/* Finds the threads that sleep: before the probes are armed, and before they are disarmed. */
void collect_look_asleep(struct collector *c);
/* Just after arming: finds the threads that still sleep, and tells the probes of them. */
void collect_look_again_asleep(struct collector *c);
/* Reads their stacks, locks and files. Waits a while. */
void collect_read_asleep(struct collector *c, bool ending);
/* Writes those that have slept on: at the beginning all, at the end the new ones. */
void collect_tell_asleep(struct collector *c);
/* Did the thread sleep at the last look, and will not end without waking first? */
bool collect_is_asleep(const struct collector *c, uint32_t tid);
/* Was it exiting then, asleep or not? False also if the engine cannot tell. */
bool collect_is_exiting(const struct collector *c, uint32_t tid);
/* Writes what was found out about them up to that moment. */
void collect_tell_late(struct collector *c, uint64_t until);
/* What was not known of them when they were written, at the beginning and at the end. */
struct asleep_untold {
	uint64_t threads; /* whose stack or lock was asked for */
	uint64_t files;
};
struct asleep_untold collect_asleep_untold(const struct collector *c);
void collect_free_asleep(struct collector *c);

/* ---- collect_records.c, collect_tasks.c ---- */
void collect_probe(void *collector, const struct record *rec);
void collect_klocks(void *collector, const struct pr_klocks *r, uint64_t ts, uint32_t cpu);
uint64_t collect_copy(void *collector, const struct pr_copy *copy);
void collect_task(struct collector *c, const struct record *rec, uint32_t kind);
void collect_own_map(struct collector *c, const struct pr_map *r);
void collect_perf(struct collector *c, const struct record *rec);

#endif
