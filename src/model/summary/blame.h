/* SPDX-License-Identifier: MIT */
/*
 * Who costs others how much: every nanosecond that a thread waits for a lock goes to what the
 * lock's holder did in that nanosecond. If it ran, to its code; if it waited for the disk, to its
 * wait for the disk; if it waited for another lock, to what the holder of that one did, and so on.
 * A circle is a deadlock and is reported as one.
 *
 * What would be gained: if the end of a chain took no time (no wait, or code that costs nothing), a
 * victim would have gone on sooner by at most the time that is charged there. That is an upper
 * bound, because (1) the victim may then wait for another thread that was hidden behind this one;
 * (2) it may not get a CPU; (3) others' progress may come to depend on something new. A thread
 * waits for one thing at a time, so the time of one victim is never counted twice, and a victim's
 * gain is never more than its own observed time.
 */
#ifndef THAW_MODEL_BLAME_H
#define THAW_MODEL_BLAME_H

#include "model/lock/sum.h"
#include "timeline/interval.h"

struct blame_victim {
	const struct thread *thread;
	uint64_t total, count;
};

struct blame_row {
	const struct thread *culprit; /* never NULL */
	enum interval_kind doing;     /* RUNNING, RUNNABLE, WAITING; LOST: not known */
	enum reason reason;	      /* WAITING and RUNNABLE: what for */
	size_t lock;		      /* into summary.locks: what the culprit held */
	size_t first;	/* what the victims waited for: the same lock, or the first of the chain */
	unsigned depth; /* locks from victim to culprit, at most: 1, 2, ... */
	bool deadlock;	/* the chain leads back to the victim */
	enum held_by by;
	uint32_t kstack, ustack; /* where the culprit was; 0: not known */
	uint32_t function;	 /* of its own program, nearest to the leaf; UINT32_MAX: none */
	uint64_t total, count;	 /* of the victims' waiting; waits, or parts of them */
	/*
	 * Of rows that are small beside others in a crowd (chain.h) the sums are known, but not who
	 * the victims are: then only a few, or none, are listed, and max is 0.
	 */
	bool crowd;
	uint64_t max;			  /* by the victim that would gain most */
	VEC(struct blame_victim) victims; /* by total */
	uint32_t made;			  /* blame.c's */
};

/* All rows of one culprit and one lock, summed up: what it did while it held the lock. */
struct blame_sum {
	const struct thread *culprit;
	size_t lock, first; /* as of the rows */
	bool deadlock;
	struct doings did;
	uint32_t function;	 /* of the largest row that has one; UINT32_MAX: none */
	uint32_t kstack, ustack; /* the same */
	uint64_t total;
	bool crowd;			  /* not all victims of its rows are listed */
	VEC(struct blame_victim) victims; /* by total */
};

struct blame {
	VEC(struct blame_row) rows; /* by total */
	VEC(struct blame_sum) sums; /* the same */
	uint64_t waited;	    /* all waiting for locks that have holders */
	uint64_t charged;	    /* of that: charged to a culprit */
	uint64_t unknown;	    /* of that: the holder is not known */
	uint32_t *rows_of;	    /* by charge of the model: row + 1; 0: of none of the victims */
};

#endif
