/* SPDX-License-Identifier: MIT */
/*
 * What is wrong, as data for one sentence: "WORKERS spent 61% of their time waiting for
 * COMMIT_LOCK, held by CHECKPOINTER in FLUSH_LOG, which was waiting for the DISK"; or, where no
 * lock is to blame, "WORKERS spent 40% of their time waiting for the DISK in LOAD_PAGE".
 * report/lead.c has the words.
 */
#ifndef THAW_MODEL_FINDING_H
#define THAW_MODEL_FINDING_H

#include "model/summary/blame.h"

struct finding {
	bool found;			    /* there is something to say */
	char *group;			    /* what the threads' names have in common: "worker" */
	size_t threads;			    /* how many are named so, in one process */
	uint64_t wall;			    /* their time in all */
	VEC(const struct thread *) victims; /* those of them that waited for it */
	uint64_t waited;		    /* their time behind it */
	size_t lock; /* into summary.locks; SIZE_MAX: none, `reason` is what they waited for */
	const struct thread *holder; /* of the lock: who cost others most; NULL: not known */
	uint64_t held;		     /* of all waiting for the lock: by this holder */
	uint32_t function; /* where the holder was (without a lock: the threads); UINT32_MAX */
	uint32_t kstack, ustack;   /* the same */
	const struct thread *root; /* at the end of the chain: the holder, or who held it up */
	struct doings did;	   /* of the root, while they waited */
	enum interval_kind doing;  /* what it did for most of it; LOST: not known */
	enum reason reason;	   /* what for, if it waited or was runnable */
};

/*
 * How much of a name its group has: "worker-12" is a "worker", "pool-1-thread-3" a "pool-1-thread".
 */
size_t finding_stem(const char *name);

#endif
