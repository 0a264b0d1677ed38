/* SPDX-License-Identifier: MIT */
/*
 * Notes of a recording, and how waits are charged from them to the threads that caused them.
 *
 * While events are read, this notes who was seen to hold which lock when, and every interval and
 * sample of the threads that have to do with contended locks (thread.watched). Charging walks these
 * notes: each wait for a lock is cut at the moments when its holder changed, each piece is laid
 * over the holder's own intervals, and so on along the chain. When the notes grow beyond
 * CHAIN_NOTES_MAX they are charged up to that moment and thrown away: memory is bounded, whatever
 * the length of the recording. An interval that is open then is charged with what is known so far
 * (a wait has no stack before it ends).
 *
 * Results are sums by (culprit, what it did there, locks), and by (lock, holder); locks and threads
 * are by index, and summaries make blame.h's and locks.h's of them.
 */
#ifndef THAW_MODEL_CHAIN_H
#define THAW_MODEL_CHAIN_H

#include "model/lock/locks.h"
#include "model/wait/tally.h"
#include "timeline/interval.h"

#define CHAIN_NOTES_MAX (1u << 18)
#define CHAIN_DEPTH 8
#define CHAIN_CROWD 32
/* A shorter wait of several threads is no stall (model/summary/stalls.h). */
#define STALL_MIN_NS 5000000ull

enum seen_what {
	SEEN_HELD,     /* this thread had it */
	SEEN_NOBODY,   /* it was contended, but its holder is not known */
	SEEN_RELEASED, /* this thread just released it */
	SEEN_TAKEN,    /* this thread just got it */
	SEEN_HAD,      /* this thread had it until now, also during waits that ended earlier */
};

struct seen {
	uint64_t ts;
	uint32_t lock;	 /* index */
	uint32_t thread; /* index + 1; 0: nobody */
	uint32_t next;	 /* RELEASED, HAD: who was woken to take it, index + 1; 0: not known */
	uint8_t what;
	bool later; /* HELD: read from memory some time after ts */
};

/* An interval of a watched thread. */
struct note {
	uint64_t start, end;
	uint32_t thread;
	uint32_t row;  /* WAITING: of the tally; RUNNABLE: 1 if throttled */
	uint32_t lock; /* WAITING: as of the interval */
	uint8_t kind;  /* enum interval_kind */
	bool more;     /* its first part has been charged */
};

struct note_sample {
	uint64_t ts;
	uint32_t thread;
	uint32_t row; /* of the tally's samples */
};

/* Time that victims lost to one thing that one culprit did. */
struct charge {
	uint32_t culprit; /* thread index */
	uint32_t lock;	  /* that it held */
	uint32_t first;	  /* that the victims wait for */
	uint32_t row;	  /* as in note */
	uint8_t doing;
	uint8_t depth;
	bool deadlock;
	uint64_t end;	    /* until then, waits behind it are summed up one by one */
	uint64_t crowd_end; /* and those of crowds */
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
	uint64_t end, crowd_end; /* as of a charge */
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

/* Votes are sorted by this key once all waits are charged. */
static inline uint64_t vote_key(uint32_t of, uint32_t row, bool sample)
{
	return (uint64_t)of << 32 | row << 1 | sample;
}

/* What the culprit of a piece did longest, and for how long. */
enum { PIECE_PARTS = 3 };
struct piece_part {
	uint64_t ns;	 /* 0: none */
	uint32_t charge; /* UINT32_MAX: not known what */
};

/* A piece of a wait behind one holder: what stalls are made of. */
struct wait_piece {
	uint64_t start, end;
	uint64_t before, after; /* how much of the wait lies outside the window */
	uint32_t victim;
	uint32_t lock;	  /* at the end of the chain; UINT32_MAX: none, `row` is the wait's own */
	uint32_t culprit; /* thread index + 1; 0: not known */
	uint32_t row;
	struct piece_part parts[PIECE_PARTS];
	uint8_t reason; /* without lock or row: why (THROTTLED) */
};

/*
 * Many threads behind one lock. Each waits behind nearly all the others, so a list of who cost whom
 * how much would grow with the square of their number. But at any moment the holder does the same
 * to all waiters. So the lock's time is cut into parts once for all of them, each part with its
 * charge and hold, and the waits are kept beside the parts: any sum is a walk over both
 * (crowd_sum.c). Where a wait differs from the others (follow.c), that part is summed up alone, as
 * for other locks.
 */
struct crowd_part {
	uint64_t start, end;
	uint32_t charge; /* UINT32_MAX: not known whose */
	uint32_t hold;	 /* * 4 + what the holder did, enum interval_kind */
};

struct crowd_wait {
	uint64_t start, end; /* of a wait, or of the part that is like the others */
	uint64_t since;	     /* when the wait began, which with the victim identifies it */
	uint32_t victim;
	uint32_t rank; /* by `since` */
};

/* The last end of waits summed up alone before this crowd; `of` is as in struct vote. */
struct crowd_before {
	uint64_t end;
	uint32_t of;
};

/* A wait that counts for a charge or hold, but not at the first part that has it: see crowd.c. */
struct crowd_missed {
	uint32_t of, victim;
};

struct crowd {
	uint32_t lock;
	VEC(struct crowd_part) parts; /* in the order of time; none overlaps another */
	VEC(struct crowd_wait) waits; /* by start */
	uint32_t *by_end;	      /* the same */
	VEC(struct crowd_before) before;
	VEC(struct crowd_missed) missed;
};

/* A thread's last hold and charge, + 1; 0: none. The next lookup mostly wants the same. */
struct chain_recent {
	uint32_t hold;
	uint32_t charges[INTERVAL_KINDS];
};

/* The lock by its index at that time: it may turn out to be the same as another (locks_index()). */
typedef void (*seen_fn)(void *arg, const struct seen *seen);

struct chain {
	struct timeline *timeline;
	struct tally *tally;
	struct locks *locks;
	bool off;     /* nothing is charged: no signs are kept */
	bool decided; /* kinds of locks and reasons of waits are final */
	seen_fn sink; /* every sign */
	void *sink_arg;
	VEC(struct seen) seen;
	VEC(struct note) notes;
	VEC(struct note_sample) samples;
	size_t notes_max;
	VEC(uint32_t) order;	 /* of notes, while they are charged */
	VEC(struct seen) before; /* by lock: the last sign in notes thrown away */
	VEC(struct charge) charges;
	VEC(struct charge_victim) victims;
	VEC(struct hold) holds;
	VEC(struct hold_victim) hold_victims;
	VEC(struct vote) votes;
	VEC(struct chain_recent) recent; /* by thread */
	struct map by_charge, by_victim, by_hold, by_hold_victim, by_vote;
	VEC(struct crowd) crowds; /* in the order of time */
	size_t crowd_min;	  /* threads behind one lock that make a crowd */
	VEC(struct wait_piece) pieces;
	uint64_t piece_min; /* shorter ones are not kept */
	uint64_t waits;	    /* charged so far: numbers them */
};

/* Of the model that it belongs to. */
void chain_init(struct chain *c, struct timeline *timeline, struct tally *tally,
		struct locks *locks);
void chain_done(struct chain *c);

void chain_seen(struct chain *c, uint32_t lock, uint64_t ts, enum seen_what what,
		struct thread *th);
/* HELD, as the words said some time later; the thread slept at ts. */
void chain_held_later(struct chain *c, uint32_t lock, uint64_t ts, struct thread *th);
void chain_released(struct chain *c, uint32_t lock, uint64_t ts, struct thread *th,
		    struct thread *next);
/* Stacks of the thread where it released the lock. */
void chain_release_stack(struct chain *c, uint32_t lock, const struct thread *th, uint32_t kstack,
			 uint32_t ustack);
/* Intervals of watched threads, and long waits of all. */
void chain_interval(struct chain *c, const struct interval *iv, uint32_t row);
/* The same for intervals that are not waits, of watched threads that were not throttled. */
void chain_did(struct chain *c, const struct thread *th, enum interval_kind kind, uint64_t start,
	       uint64_t end);
void chain_piece(struct chain *c, const struct wait_piece *p);
void chain_sample(struct chain *c, const struct thread *th, uint64_t ts, uint32_t row);
/* Charges the notes. Before the end, open intervals are charged up to now. */
void chain_charge(struct chain *c, bool at_end);

/* follow.c */
/* The sign that tells who had the lock at `to`; `next` is the first one after it, or NULL. */
const struct seen *chain_told(const struct seen *next, uint64_t to);
/* The thread that had the lock between two signs, index + 1; 0: not known. Either may be NULL. */
uint32_t chain_holder_between(const struct seen *a, const struct seen *b);
/* charge.c */
void charge_notes(struct chain *c);
uint32_t chain_hold(struct chain *c, uint32_t lock, uint32_t holder);
struct chain_recent *chain_recent(struct chain *c, uint32_t thread);

#endif
