/* SPDX-License-Identifier: MIT */
/*
 * What the files that charge waits share: charge.c (sums), follow.c (along the chain of holders)
 * and crowd.c (many threads behind one lock).
 */
#ifndef THAW_MODEL_CHARGE_H
#define THAW_MODEL_CHARGE_H

#include "model/charge/chain.h"

/*
 * Notes by thread, and signs by lock, in the order of time. The notes are too many to move: only
 * their order is kept.
 */
struct note_index {
	size_t *notes_of;   /* thread -> first of its notes; one more than there are threads */
	size_t *samples_of; /* the same */
	size_t *seen_of;    /* lock -> first */
	const struct note *notes;
	const uint32_t *order; /* of notes */
	struct note_sample *samples;
	struct seen *seen;
};

#define WALK_NOBODY UINT32_MAX

struct gather;

/* One wait, followed from holder to holder. */
struct holder_walk {
	struct chain *c;
	struct note_index *ix;
	uint32_t victim;
	uint32_t first;			/* lock that it waits for */
	uint64_t number;		/* of the wait */
	uint64_t since;			/* when it began, whichever part is charged now */
	uint64_t lo, hi;		/* only time between these is charged */
	uint32_t on[CHAIN_DEPTH + 1];	/* threads on the chain so far */
	uint32_t want[CHAIN_DEPTH + 1]; /* and what each waits for, which the next one holds */
	unsigned depth;
	uint32_t hold;		 /* of the first lock */
	struct wait_piece piece; /* being put together */
	struct gather *gather; /* crowd.c's: follows the reference wait, on behalf of all waiters */
	struct gather *among;  /* crowd.c's: this wait is mostly charged with the crowd */
};

/* follow.c */

/* Charges a wait for `lock` over [from, to); `of` is the wait of the last thread on the chain. */
void follow(struct holder_walk *w, uint32_t lock, const struct note *of, uint64_t from,
	    uint64_t to);
/* The lock that a note is a wait for, if somebody can hold it; NULL. */
const struct lock *follow_lock(const struct chain *c, const struct note *n);
/*
 * When a wait [from, to) for `lock` starts to differ from one that lasts until `all`: with no sign
 * after its end, another thread may seem to hold the lock. `to`: never.
 */
uint64_t follow_parts(struct holder_walk *w, uint32_t lock, uint64_t from, uint64_t to,
		      uint64_t all);

/* charge.c: what follow() reports. */

/* `holder` (index + 1; 0: not known) held the first lock, and n is what it did. */
void charge_hold(struct holder_walk *w, uint32_t lock, uint32_t holder, const struct note *n,
		 uint64_t from, uint64_t to);
/* The end of the chain: `culprit` holds `lock`, and did n. */
void charge_end(struct holder_walk *w, uint32_t culprit, uint32_t lock, const struct note *n,
		bool deadlock, uint64_t from, uint64_t to);
/* Nobody is known to hold the first lock. */
void charge_nobody(struct holder_walk *w, uint32_t lock, uint64_t from, uint64_t to);

uint32_t charge_of(struct chain *c, const struct charge *want);
struct charge charge_wanted(const struct holder_walk *w, uint32_t culprit, uint32_t lock,
			    const struct note *n, bool deadlock);
struct charge_victim *charge_victim_of(struct chain *c, uint32_t charge, uint32_t victim);
struct hold_victim *charge_hold_victim_of(struct chain *c, uint32_t hold, uint32_t victim);
void charge_vote(struct chain *c, uint32_t of, uint32_t row, bool sample, uint64_t weight);
/* The samples of a thread in [from, to): the first, and how many. */
size_t charge_samples(const struct note_index *ix, uint32_t thread, uint64_t from, uint64_t to,
		      const struct note_sample **ret);
/* A part of a wait behind one culprit, which did `charge` for `ns` of it. */
void charge_piece(struct holder_walk *w, uint32_t lock, uint32_t culprit, uint32_t charge,
		  uint64_t ns, uint64_t from, uint64_t to);
/* Adds to a piece what the culprit did. */
void charge_piece_part(struct wait_piece *p, uint32_t charge, uint64_t ns);
void charge_take_piece(struct holder_walk *w);

/*
 * A wait for a lock: its note, the wait's number (one for all its parts), and when it began.
 */
struct charged_wait {
	uint32_t note, lock;
	uint64_t number, since;
};

/* Starts with a wait. */
void charge_begin(struct holder_walk *w, const struct charged_wait *lw);

/* crowd.c */

/* Charges the waits for one lock. */
void crowd_charge(struct holder_walk *w, uint32_t lock, const struct charged_wait *waits, size_t n);
/* What following the reference wait found: see struct holder_walk. */
void crowd_gather_hold(struct holder_walk *w, uint32_t lock, uint32_t holder, const struct note *n);
void crowd_gather_end(struct holder_walk *w, uint32_t culprit, uint32_t lock, const struct note *n,
		      bool deadlock, uint64_t from, uint64_t to);
void crowd_gather_nobody(struct holder_walk *w, uint32_t lock, uint64_t from, uint64_t to);
/* Do the crowd's sums already count this wait for that charge or hold (as in struct vote)? */
bool crowd_counts(struct holder_walk *w, uint32_t of);

#endif
