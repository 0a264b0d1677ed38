/* SPDX-License-Identifier: MIT */
/*
 * What happened, thread by thread and in the order of time, as often as needed by a format that
 * stores each thread as columns.
 *
 * Memory does not grow with the capture. One walk keeps the records of as many threads as fit into
 * `room` bytes, packed; when there is no more room, the last of these threads are dropped and left
 * to a further walk. A thread that does not fit alone is never kept: each pass over it is a walk of
 * its own. So a capture of n bytes of records takes about n / room walks.
 */
#ifndef THAW_EXPORT_SPOOL_H
#define THAW_EXPORT_SPOOL_H

#include "export/export.h"

#define SPOOL_ROOM (64u << 20)

enum spooled_kind {
	SPOOLED_SAMPLE,
	SPOOLED_WAIT,
	SPOOLED_RUNNABLE,
	SPOOLED_LOST, /* what it did was not recorded */
	SPOOLED_REST, /* only CPU time, used up to this moment */
};

/* Who ended a wait. */
enum spooled_waker {
	SPOOLED_NOBODY, /* not known */
	SPOOLED_INTERRUPT,
	SPOOLED_THREAD,	 /* `waker` is its index */
	SPOOLED_FOREIGN, /* `waker` is the tid of a thread that was not recorded */
};

struct spooled {
	enum spooled_kind kind;
	uint64_t start, end; /* of a sample the same */
	uint64_t cpu;	     /* time on a CPU since the previous record */
	uint32_t row;	     /* of the tally's samples or waits; RUNNABLE: 1 if throttled */
	uint32_t holder;     /* WAIT: of the lock as it began, thread index + 1; 0: not known */
	enum spooled_waker by;
	uint32_t waker;
};

struct spool_opts {
	size_t room;
	bool waits;   /* WAIT, RUNNABLE and LOST too: those that job->kinds asks for */
	bool holders; /* and who held the lock */
};

struct spool_lane;

/* For each thread of the job, in the summary's order. */
typedef int (*spool_thread_fn)(void *arg, const struct thread *th, struct spool_lane *lane);
typedef int (*spooled_fn)(void *arg, const struct spooled *rec);

int spool_run(const struct export_job *job, const struct spool_opts *opts, spool_thread_fn fn,
	      void *arg);
/* Call it from fn, any number of times. */
int spool_each(struct spool_lane *lane, spooled_fn fn, void *arg);

#endif
