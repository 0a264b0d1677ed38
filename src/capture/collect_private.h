/* SPDX-License-Identifier: MIT */
/* The collector from inside: what its parts share. */
#ifndef THAW_CAPTURE_COLLECT_PRIVATE_H
#define THAW_CAPTURE_COLLECT_PRIVATE_H

#include "base/map.h"
#include "base/vec.h"
#include "capture/collect.h"
#include "capture/perf_stream.h"
#include "capture/places.h"
#include "capture/procfs.h"
#include "capture/procs.h"
#include "capture/runs.h"
#include "capture/stacks.h"
#include "capture/tables.h"
#include "wire/probe.h"

struct step_told {
	uint64_t ts;
	struct ev_mark mark;
	char note[200];
};

struct collector {
	const struct plan *plan;
	struct engine *e;
	struct writer *w;
	struct procs *procs;
	struct stacks *stacks;
	struct tables *tables;
	struct places *places;
	struct map refreshed; /* self_told: pid -> when its mappings were last looked at */
	struct runs *runs;
	VEC(struct step_told) steps; /* that are not yet told: earlier records may still come */
	uint64_t detached_ns;
	bool paused;		    /* no record is on its way */
	struct perf_stream *stream; /* of the perf engine */
	struct perf_record perf;    /* the one at hand */
	uint64_t damaged;	    /* perf records that are none */
	struct map threads;	    /* tid -> pid, of those that we look at */
	struct map born;	    /* found after arming: their FORK may be on the way */
	struct map strangers;	    /* tids of wakers that we do not look at, but have named */
	VEC(struct thread_facts) found;
	bool armed;
	uint64_t begin_ts;
	VEC(uint32_t) ghosts; /* had ended when the recording began, seen or not */
	uint64_t last_ts;
	uint64_t seen;
	uint64_t lost;
	struct engine_losses told;
	uint64_t told_gone, told_late, told_damaged, told_throttled;
};

/* The only way an event gets into the file, but for those that follow another at its time. */
void collect_put(struct collector *c, struct event *ev);

/* ---- collect_threads.c ---- */
int collect_find_all(struct collector *c);
void collect_tell_found(struct collector *c);
/* True if it is new. */
bool collect_thread_add(struct collector *c, uint32_t tid, uint32_t pid);
void collect_thread_del(struct collector *c, uint32_t tid);
void collect_end_threads(struct collector *c, uint32_t pid, uint32_t but, uint64_t ts);
void collect_end_the_dead(struct collector *c);
void collect_lay_ghosts(struct collector *c);
void collect_cgroup_move(struct collector *c, const struct pr_task *r, bool in);
void collect_tell_map(void *ctx, uint32_t pid, const struct mapping *m, uint32_t module);
bool collect_look_again(void *ctx, uint32_t pid);

/* ---- collect_records.c, collect_tasks.c ---- */
void collect_probe(void *collector, const struct record *rec);
void collect_klocks(void *collector, const struct pr_klocks *r, uint64_t ts, uint32_t cpu);
uint64_t collect_copy(void *collector, const struct pr_copy *copy);
void collect_task(struct collector *c, const struct record *rec, uint32_t kind);
void collect_own_map(struct collector *c, const struct pr_map *r);
void collect_perf(struct collector *c, const struct record *rec);

#endif
