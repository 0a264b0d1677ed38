/* SPDX-License-Identifier: MIT */
/*
 * What is wrong, as data for one sentence: "WORKERS spent 61% of their time waiting for
 * COMMIT_LOCK, held by CHECKPOINTER in FLUSH_LOG, which was waiting for the DISK". view/lead.c has
 * the words.
 */
#ifndef THAW_MODEL_FINDING_H
#define THAW_MODEL_FINDING_H

#include "model/blame.h"

struct finding {
	bool found;	       /* there is something to say */
	char *group;	       /* what the victims' names have in common, "worker"; "" if nothing */
	uint32_t process_wide; /* the victims are most threads of their process */
	VEC(const struct thread *) victims; /* those of the group that waited, by time */
	uint64_t waited;		    /* their time behind this lock */
	uint64_t wall;			    /* their time in all */
	size_t lock;			    /* into summary.locks */
	const struct thread *holder;	    /* who kept them waiting longest; NULL: not known */
	uint64_t held;			    /* of `waited`: by this holder */
	uint32_t function;	   /* in which it was, of its own program; UINT32_MAX: not known */
	enum interval_kind doing;  /* what the holder, or who it waited for, did for most of it */
	enum reason reason;	   /* if that was to wait */
	const struct thread *root; /* who: the holder itself, or the end of the chain */
};

#endif
