/* SPDX-License-Identifier: MIT */
/*
 * A thread as far as it was observed. A tid that was used twice is two of these; so is a thread
 * whose recording stopped and began again.
 */
#ifndef THAW_TIMELINE_THREAD_H
#define THAW_TIMELINE_THREAD_H

#include "timeline/interval.h"
#include "timeline/reason.h"
#include "wire/event.h"

struct life;

struct thread {
	/* What every switch needs, in one line of the cache. */
	struct life *life; /* timeline.c's; NULL when observation has ended */
	uint32_t index;	   /* in order of appearance */
	bool watched;	   /* it is involved with contended locks: chain.h */
	uint64_t charged;  /* up to here its notes have been charged */
	uint64_t total[INTERVAL_KINDS];

	uint32_t tid;
	uint32_t pid;	     /* 0: not known */
	uint32_t parent;     /* the tid that made it; 0: not known */
	uint32_t flags;	     /* THREAD_KERNEL, THREAD_OWN, THREAD_LAUNCHED */
	uint64_t own_until;  /* until then it was thaw's own; since then it runs another program */
	uint32_t state;	     /* as THREAD said */
	uint32_t vtid;	     /* its tid in its own pid namespace */
	uint32_t process;    /* index into the model's processes, + 1; 0: not known */
	bool introduced;     /* by THREAD or FORK */
	char *name;	     /* the latest; "?" if never told */
	char *first_name;    /* NULL: the same */
	uint64_t start, end; /* observed, not clipped to a window */
	uint64_t exit_ts;    /* 0: it did not end */
	uint32_t exit_code;  /* as wait(2) reports it */
	uint64_t waits[REASONS];
	uint64_t samples;
	/* How much of a wait that crosses an edge of the window lies outside. */
	uint64_t cut_before, cut_after;
	uint64_t wait; /* the number of its wait that was charged last: charge.c */
	uint64_t wait_since;
};

static inline uint64_t thread_wall(const struct thread *t)
{
	return t->total[INTERVAL_RUNNING] + t->total[INTERVAL_RUNNABLE] +
	       t->total[INTERVAL_WAITING] + t->total[INTERVAL_LOST];
}

/* It was ended by a signal, to it or to another thread of its process. */
static inline bool thread_was_killed(const struct thread *t)
{
	return t->exit_ts && (t->exit_code & 0x7f);
}

/* A recording is about these threads: neither the kernel's nor thaw's own. */
static inline bool thread_is_subject(const struct thread *t)
{
	return !(t->flags & (THREAD_KERNEL | THREAD_OWN));
}

/* Was the thread thaw's own until that moment? */
static inline bool thread_was_own(const struct thread *t, uint64_t ts)
{
	return t->flags & THREAD_OWN || ts <= t->own_until;
}

/* By tid, or by its latest or first name: all of it, its beginning (docs/man), or a pattern. */
bool thread_matches(const struct thread *t, const char *spec);

#endif
