/* SPDX-License-Identifier: MIT */
/*
 * The truth about locks: who waited for which one, who had it, and when it changed hands.
 *
 * A wait is a call that may block (pthread_mutex_lock, pthread_join, ...) in which the thread slept
 * at least once; sleeps counts them, by the kernel's own account of voluntary switches: a thread
 * that is woken and finds the lock taken sleeps again. Around the call stand a clock
 * (CLOCK_MONOTONIC), the thread's CPU time and its time in the run queue; what is left of the wall
 * time when these are taken away is the time asleep:
 *
 *   sleep_ns = (got_ns - began_ns) - cpu_ns - runq_ns
 *
 * Time that the hypervisor took away from a thread that was running is in none of the accounts and
 * counts as asleep; so does the time between a waking and the moment at which another CPU takes the
 * thread into its run queue.
 *
 * A hold lasts from just after the call that got the lock to just before the one that let it go; in
 * the latter, which ends at done_ns, the others are woken one by one. In the gaps between two holds
 * the lock is changing hands, and either of the two neighbours may be its owner.
 */
#ifndef WORKLOAD_LOCKLOG_H
#define WORKLOAD_LOCKLOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/truth.h"

#define HOLDS_DEEP 4

struct lock {
	char name[48];
	const char *kind;
	uintptr_t address; /* of the object, in the process that made it */
	size_t size;
	_Atomic pid_t holder; /* 0: nobody, or readers only */
};

struct wait_record {
	const struct lock *lock;
	pid_t pid, tid, holder;
	uint64_t began_ns, got_ns, cpu_ns, runq_ns;
	uint32_t sleeps;
	bool shared; /* as a reader */
};

struct hold_record {
	const struct lock *lock;
	pid_t tid;
	uint64_t got_ns, let_ns, done_ns;
	bool shared;
};

/* One who waits and holds; everything in it is written by that thread alone. */
struct actor {
	struct truth *truth;
	struct wait_record *waits;
	struct hold_record *holds;
	size_t n_waits, n_holds, index;
	size_t open[HOLDS_DEEP], n_open; /* of holds */
	struct hold_record *last;	 /* that was let go */
	int schedstat;
	uint64_t seed, end_ns;
	struct wait_record now; /* the wait that has begun */
	uint64_t cpu, runq, vol;
};

/* Makes room for so many actors, in memory that survives a fork; before any of them exists. */
struct actor *actors_room(size_t n);

/* At the start and the end of the actor's thread. */
void actor_begin(struct actor *a, const char *name);
void actor_end(struct actor *a);

/* kind: as a profiler should call it. */
struct lock *lock_add(const char *name, const char *kind, const void *address, size_t size);

/* Around the call that may block; nothing else may stand between them. */
void wait_begin(struct actor *a, struct lock *l);
void wait_end(struct actor *a);
/* True when it slept. */
bool wait_end_shared(struct actor *a, bool shared);

void hold_begin(struct actor *a, struct lock *l, bool shared);
void hold_end(struct actor *a, struct lock *l);
/* After the call that let the lock go, where the caller can tell. */
void hold_done(struct actor *a);

/* Everything as JSON lines, into a file; "": nowhere. */
void locklog_write(const char *path);

#endif
