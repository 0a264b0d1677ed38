/* SPDX-License-Identifier: MIT */
/*
 * Inside of the export for the Firefox Profiler: what its files share. A profile (firefox.c) is
 * threads, each with tables of its own for stacks (firefox_tables.c) and with columns of samples
 * and markers that point into them (firefox_thread.c); strings and libraries are the profile's.
 */
#ifndef THAW_EXPORT_FIREFOX_H
#define THAW_EXPORT_FIREFOX_H

#include "base/json.h"
#include "export/number.h"
#include "export/spool.h"
#include "export/strings.h"

/* Of the profile; after these, one for each reason: see category_of. */
enum category { CATEGORY_OTHER, CATEGORY_USER, CATEGORY_KERNEL, CATEGORIES };

#define FIRE_NONE UINT32_MAX

struct fire {
	const struct export_job *job;
	struct model *m;
	struct json j;
	bool timed;	    /* samples weigh time, not one each: there are waits too */
	uint64_t sample_ns; /* what a sample stands for */
	const char *machine;
	struct strings strings;
	uint32_t category_of[REASONS];
	uint32_t reason_string[REASONS];
	uint32_t lost_string;
	/* By thread: its name, and the first of its rows, + 1; 0: none yet. */
	uint32_t *thread_string, *samples_of, *waits_of;
	uint32_t *next_sample, *next_wait;   /* by row: the next of the thread, + 1 */
	uint32_t *sample_stack, *wait_stack; /* by row: in the thread's table of stacks */
	uint32_t *lock_string;		     /* by place in the summary, + 1 */
	struct map main_of;		     /* pid -> its first thread's index + 1 */
	struct numbers libs;		     /* of modules */
};

/* firefox_tables.c: the stacks of all of the thread's rows, written and noted in x->*_stack. */
void fire_tables(struct fire *x, const struct thread *th);

/* firefox_thread.c */
int fire_thread(void *arg, const struct thread *th, struct spool_lane *lane);

/* firefox.c: with a given amount of memory for what cannot be written yet. */
int firefox_run(const struct export_job *job, size_t room);

/* Since the start of the recording. */
static inline uint64_t fire_time(const struct fire *x, uint64_t ts)
{
	return ts > x->m->timeline.begin ? ts - x->m->timeline.begin : 0;
}

#endif
