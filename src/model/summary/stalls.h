/* SPDX-License-Identifier: MIT */
/*
 * Times at which many threads stood still for one cause, and times at which the whole machine did.
 *
 * A stall: threads wait behind the same holder of the same lock (at the end of the chain of locks),
 * at least two at once for 5 ms or more; or for the same device-like cause (disk, page faults,
 * memory, a CPU limit, being stopped or frozen), each for 5 ms or more, at least two at once and at
 * least half of those that ever do.
 *
 * A deadlock is one stall: from when its circle closed to the end, of its threads and of those that
 * stand behind them. No other stall has that time.
 *
 * A stall that reaches over an edge of the window belongs to it with the part inside.
 *
 * A blackout: no CPU delivered any event for 20 ms, and for ten sampling periods, although threads
 * were running. Nothing that thaw looks at can explain that; the kernel itself was stuck, or the
 * virtual machine was.
 */
#ifndef THAW_MODEL_STALLS_H
#define THAW_MODEL_STALLS_H

#include "model/summary/blame.h"

struct stall {
	uint64_t start, ns;
	uint32_t threads;	      /* that stood still, at most at once */
	uint32_t all;		      /* that ever waited there */
	size_t lock;		      /* into summary.locks; SIZE_MAX: none */
	const struct thread *culprit; /* NULL: none, or not known */
	struct doings did;	      /* of the culprit, during the longest wait behind it */
	enum interval_kind doing;     /* what the culprit did for most of it */
	enum reason reason;	 /* what for, where it waited; without a lock: the cause itself */
	uint32_t kstack, ustack; /* where the culprit was */
	uint32_t function;	 /* as in blame_row */
	uint64_t lost;		 /* time that the threads lost in it, together */
	uint32_t circle;	 /* the deadlock that it is, from 1 (stuck.h); 0: none */
};

struct blackout {
	uint64_t start, ns;
	uint32_t running; /* CPUs on which a thread was */
};

struct stalls {
	VEC(struct stall) list;		/* the longest first, at most 1000 */
	size_t count;			/* how many there were */
	VEC(struct blackout) blackouts; /* the longest first */
	uint64_t total;			/* of all stalls, overlaps counted once */
};

#endif
