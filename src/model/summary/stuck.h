/* SPDX-License-Identifier: MIT */
/*
 * Waits that had not ended when the recording did, or their process, and who waits for whom: for
 * the holder of a lock, for a thread to end. A circle of them is a deadlock: none of its threads
 * would ever have gone on.
 *
 * A process that exits leaves idle threads behind in their waits, and that is no hang. So waits
 * that ended with their process are here only if a signal killed it, in a deadlock, or if they had
 * lasted for a lock that some thread must have had.
 */
#ifndef THAW_MODEL_STUCK_H
#define THAW_MODEL_STUCK_H

#include "base/vec.h"
#include "model/wait/waited_file.h"
#include "timeline/reason.h"
#include "timeline/timeline.h"

struct stuck_wait {
	const struct thread *thread;
	uint64_t start;
	uint64_t end;	/* when the thread did; or the recording */
	bool before;	/* it began before the recording */
	bool with_life; /* it ended with the thread */
	enum reason reason;
	enum reason in;		   /* IDLE: what that looked like (condvar) */
	bool unwoken;		   /* as in struct wait_row */
	size_t lock;		   /* into summary.locks; SIZE_MAX: none that was chosen */
	uint32_t of;		   /* the same lock by its index in the model, + 1; 0: none */
	const struct thread *for_; /* its holder, or the thread to end; NULL: not known, or none */
	bool for_stuck;		   /* `for_` is stuck, too */
	enum reason for_reason;	   /* and waits for this */
	/* The thread that last signalled it and woke a waiter, and when; NULL: none. */
	const struct thread *signaller;
	uint64_t signalled;
	uint32_t kstack, ustack;
	uint32_t state;			/* as in struct interval */
	const char *call;		/* "read"; NULL: in none, or not known */
	const struct waited_file *file; /* the file that it waits for; NULL: not known, or none */
	uint32_t circle;		/* the circle that it is part of, from 1; 0: none */
	uint32_t place;	 /* in the circle: it waits for the thread at the next place */
	uint32_t behind; /* the same: the circle that it waits behind */
	/* The last one of a row in which each waits for the next; NULL: that leads to a circle. */
	const struct thread *root;
};

struct stuck {
	VEC(struct stuck_wait) waits; /* circles first, in their order; then the longest */
	uint32_t circles;
};

/* What it waits in, whether that is idleness or not. */
static inline enum reason stuck_in(const struct stuck_wait *w)
{
	return w->reason == REASON_IDLE ? w->in : w->reason;
}

#endif
