/* SPDX-License-Identifier: MIT */
/*
 * What is kept of a recording to charge waits to those who caused them, and the charging.
 *
 * While events are read, this notes who was seen to hold which lock when, and every interval and
 * sample of the threads that have to do with contended locks (thread.watched). Charging walks these
 * notes: each wait for a lock is cut at the moments when its holder changed, each piece is laid
 * over the holder's own intervals, and so on along the chain. When the notes grow beyond
 * CHAIN_NOTES_MAX they are charged up to that moment and thrown away: memory is bounded, whatever
 * the length of the recording. What is open at such a moment is charged with what is known of
 * it then (a wait has no stack before it ends).
 *
 * Results are sums by (culprit, what it did there, locks), and by (lock, holder); locks and threads
 * are by index, and summaries make blame.h's and locks.h's of them.
 */
#ifndef THAW_MODEL_CHAIN_H
#define THAW_MODEL_CHAIN_H

#include "model/interval.h"
#include "model/lock.h"

#define CHAIN_NOTES_MAX (1u << 18)
#define CHAIN_DEPTH 8

enum seen_what {
	SEEN_HELD,     /* this thread had it */
	SEEN_NOBODY,   /* it was contended, but nobody can be named */
	SEEN_RELEASED, /* this thread let go of it just now */
	SEEN_TAKEN,    /* this thread got it just now */
};

struct seen {
	uint64_t ts;
	uint32_t lock;	 /* index */
	uint32_t thread; /* index + 1; 0: nobody */
	uint32_t next;	 /* RELEASED: who was woken to take it, index + 1 */
	uint8_t what;
};

/* An interval of a watched thread. */
struct note {
	uint64_t start, end;
	uint32_t thread;
	uint32_t row; /* WAITING: of the tally; RUNNABLE: 1 if throttled */
	uint8_t kind; /* enum interval_kind */
	bool more;    /* its first part has been charged */
};

struct note_sample {
	uint64_t ts;
	uint32_t thread;
	uint32_t row; /* of the tally's samples */
};

/* Time that victims lost to one doing of one culprit. */
struct charge {
	uint32_t culprit; /* thread index */
	uint32_t lock;	  /* that it held */
	uint32_t first;	  /* that the victims wait for */
	uint32_t row;	  /* as in note */
	uint8_t doing;
	uint8_t depth;
	bool deadlock;
};

struct charge_victim {
	uint32_t charge;
	uint32_t victim;
	uint64_t total, count;
	uint64_t last; /* the wait that was counted last */
};

struct hold {
	uint32_t lock;
	uint32_t holder; /* thread index + 1; 0: not known */
	uint32_t release_kstack, release_ustack;
};

struct hold_victim {
	uint32_t hold;
	uint32_t victim;
	uint64_t blamed, count, last;
	uint64_t doing[4]; /* enum interval_kind */
};

/* Where a culprit or holder was: which of its stacks, how much. */
struct vote {
	uint32_t of; /* charge * 2, or hold * 2 + 1 */
	uint32_t row;
	bool sample;	 /* row is one of the tally's samples, else of its waits */
	uint64_t weight; /* samples, or ns */
};

/* A piece of a wait behind one holder: what stalls are made of. */
struct piece {
	uint64_t start, end;
	uint32_t victim;
	uint32_t lock;	  /* at the end of the chain; UINT32_MAX: none, `row` is the wait's own */
	uint32_t culprit; /* thread index + 1; 0: not known */
	uint32_t charge;  /* of the longest part; UINT32_MAX: none */
	uint32_t row;
	uint64_t part;
	uint8_t reason; /* without lock or row: why (THROTTLED) */
};

struct chain {
	VEC(struct seen) seen;
	VEC(struct note) notes;
	VEC(struct note_sample) samples;
	size_t notes_max;
	VEC(uint32_t) order;	 /* of notes, while they are charged */
	VEC(struct seen) before; /* by lock: the last that was seen in notes thrown away */
	VEC(struct charge) charges;
	VEC(struct charge_victim) victims;
	VEC(struct hold) holds;
	VEC(struct hold_victim) hold_victims;
	VEC(struct vote) votes;
	struct map by_charge, by_victim, by_hold, by_hold_victim, by_vote;
	VEC(struct piece) pieces;
	uint64_t piece_min; /* shorter ones are not kept */
	uint64_t waits;	    /* charged so far: numbers them */
};

struct model;

void chain_init(struct chain *c);
void chain_done(struct chain *c);

void chain_seen(struct model *m, uint32_t lock, uint64_t ts, enum seen_what what,
		struct thread *th);
void chain_released(struct model *m, uint32_t lock, uint64_t ts, struct thread *th,
		    struct thread *next);
/* Where it let go, when its stacks were taken. */
void chain_release_stack(struct chain *c, uint32_t lock, const struct thread *th, uint32_t kstack,
			 uint32_t ustack);
/* Intervals of watched threads, and long waits of all. */
void chain_interval(struct model *m, const struct interval *iv, uint32_t row);
/* The same for what is no wait, of a thread that is watched and was not throttled. */
void chain_did(struct chain *c, const struct thread *th, enum interval_kind kind, uint64_t start,
	       uint64_t end);
void chain_piece(struct chain *c, const struct piece *p);
void chain_sample(struct model *m, const struct thread *th, uint64_t ts, uint32_t row);
/* Charges what is noted. In between, with what is open then; at the end nothing is. */
void chain_charge(struct model *m, bool at_end);

/* charge.c */
/* Index + 1 of who had it between the two, of which there may be only one; 0: not known. */
uint32_t chain_holder_between(const struct seen *a, const struct seen *b);
/*
 * Index + 1 of who had it for the largest part of [from, to), as far as `waiter` (index + 1) can
 * tell, who never held what it waited for. `before` is the last sign at or before `from`, or NULL;
 * `seen` are the signs after it.
 */
uint32_t chain_main_holder(const struct seen *before, const struct seen *seen, size_t n,
			   uint64_t from, uint64_t to, uint32_t waiter);
void charge_notes(struct model *m);
uint32_t chain_hold(struct chain *c, uint32_t lock, uint32_t holder);

#endif
