/* SPDX-License-Identifier: MIT */
/*
 * Processes, the scope of addresses and tids. exec() makes a new one: its memory has nothing to do
 * with what was there before.
 */
#ifndef THAW_TIMELINE_PROCESS_H
#define THAW_TIMELINE_PROCESS_H

#include "timeline/timeline.h"

struct process {
	uint32_t pid;
};

struct processes {
	VEC(struct process) list;
	struct map by_pid; /* -> index + 1, of the latest */
	struct map vtids;  /* pid and vtid, for threads whose namespace has other numbers -> tid */
};

/* Of THREAD, FORK and EXEC events, after the timeline has seen them. */
void processes_event(struct processes *p, struct timeline *t, const struct event *ev);
void processes_done(struct processes *p);

/* The process of a thread, + 1; 0: its pid is not known. */
uint32_t processes_of(struct processes *p, struct thread *th);
uint32_t processes_of_pid(struct processes *p, uint32_t pid);

/*
 * The live thread that `asker` (or its memory) means by vtid, in its own process or, if `others`,
 * in any. NULL: there is none, or it is not known.
 */
const struct thread *processes_thread(const struct processes *p, const struct timeline *t,
				      const struct thread *asker, uint32_t vtid, bool others);

#endif
