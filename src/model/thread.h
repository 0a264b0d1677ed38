/* SPDX-License-Identifier: MIT */
/*
 * A thread as far as it was observed. A tid that was used twice is two of these; so is a thread
 * that was left and taken up again.
 */
#ifndef THAW_MODEL_THREAD_H
#define THAW_MODEL_THREAD_H

#include "model/interval.h"
#include "model/reason.h"

struct life;

struct thread {
	/* What every switch needs, in one line of the cache. */
	struct life *life; /* timeline.c's; NULL when observation has ended */
	uint32_t index;	   /* in order of appearance */
	bool watched;	   /* it has to do with contended locks: chain.h */
	uint64_t charged;  /* up to here its notes have been charged */
	uint64_t total[INTERVAL_KINDS];

	uint32_t tid;
	uint32_t pid;	     /* 0: not known */
	uint32_t parent;     /* the tid that made it; 0: not known */
	uint32_t flags;	     /* THREAD_KERNEL */
	uint32_t state;	     /* as THREAD said */
	uint32_t vtid;	     /* its tid in its own pid namespace */
	uint32_t process;    /* index into the model's processes, + 1; 0: not known */
	bool introduced;     /* by THREAD or FORK */
	char *name;	     /* the latest; "?" if never told */
	char *first_name;    /* NULL: the same */
	uint64_t start, end; /* observed, not clipped to a window */
	uint64_t exit_ts;    /* 0: it did not end */
	uint64_t waits[REASONS];
	uint64_t samples;
	uint64_t wait; /* the number of its wait that was charged last: charge.c */
};

static inline uint64_t thread_wall(const struct thread *t)
{
	return t->total[INTERVAL_RUNNING] + t->total[INTERVAL_RUNNABLE] +
	       t->total[INTERVAL_WAITING] + t->total[INTERVAL_LOST];
}

/* By tid, or by its latest or first name. */
bool thread_matches(const struct thread *t, const char *spec);

#endif
