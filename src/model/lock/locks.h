/* SPDX-License-Identifier: MIT */
/*
 * The locks of a recording while it is read: which lock an event is about, what is known of its
 * kind, and who held it when. sum.h has the results.
 *
 * A lock is made by the first sleep on it (FUTEX, KLOCK) or the first contention (KLOCKED). Each
 * event of a futex says which kinds of lock it can be about (enum family, a mask); if none of these
 * fits what was seen at the address before, the memory has been reused, and a new lock is made.
 */
#ifndef THAW_MODEL_LOCK_LOCKS_H
#define THAW_MODEL_LOCK_LOCKS_H

#include "model/lock/kind.h"
#include "timeline/process.h"
#include "timeline/timeline.h"

enum family {
	FAMILY_MUTEX = 1,
	FAMILY_PI = 2,
	FAMILY_ROBUST = 4,
	FAMILY_RWLOCK = 8,
	FAMILY_SIGNAL = 16, /* condition variables and semaphores, as glibc sleeps on them */
	FAMILY_JOIN = 32,
	FAMILY_OTHER = 64,
	FAMILY_GIL = 128, /* model/gil.h */
	FAMILY_ALL = 255,
	FAMILY_HELD = FAMILY_MUTEX | FAMILY_PI | FAMILY_ROBUST | FAMILY_RWLOCK | FAMILY_GIL,
};

struct lock {
	uint64_t addr;	  /* of the lock itself, where its layout is known, else of the futex */
	uint64_t shared;  /* device and inode of shared memory; addr is then the offset in it */
	uint32_t process; /* + 1; 0: the kernel's, or shared */
	uint32_t life;
	uint8_t kind; /* enum lock_kind; of a futex: when the model is finished */
	uint8_t evidence;
	uint8_t families; /* the kinds that it can still be */
	bool strong;	  /* of `families`: proven by more than one word */
	bool kernel;
	bool was_two;	 /* every sleep expected the word to be 2, as many kinds of mutexes do */
	bool was_zero;	 /* or 0, as condition variables and semaphores of glibc do */
	bool plain_wait; /* every sleep was by FUTEX_WAIT, as glibc does for mutexes alone */
	bool realtime;	 /* every sleep was as glibc's condition variables and semaphores do */
	bool for_work;	 /* a semaphore of the kernel on which its threads wait for work */
	bool like_sem;	 /* every sleep saw what follows the value in a glibc semaphore */
	uint8_t what;	 /* enum klock_what, and */
	uint64_t of;	 /* its argument; or the tid of a thread that is joined */
	uint32_t kstack; /* of a thread that wanted it */
	uint32_t place;	 /* index into places, + 1 */
	uint32_t alias;	 /* the same lock by its proper address: index + 1 */
	uint64_t last_wake;
	uint32_t last_waker;
	uint32_t wakes, bursts; /* wakes by threads; those by one thread in quick succession */
	uint32_t holder_seen;	/* a thread held or released it */
};

/* Waits of one thread on one lock; thread NULL: those of interrupts, which belong to no thread. */
struct lock_row {
	uint32_t lock;
	const struct thread *thread;
	uint64_t total, count, open, failed, max, max_start;
	uint32_t kstack; /* of a contention in the kernel, where taken */
	struct hist {
		struct hist_bucket {
			uint32_t bucket, count;
			uint64_t ns; /* of all of them */
		} * v;
		size_t n, room;
	} hist;
};

struct lock_place {
	uint64_t addr, offset, shared;
	uint32_t process, module, kind;
	bool asked, in_runtime; /* model/gil.c's */
};

/* The last answers, of those whose hash shares a place here: most are asked for again soon. */
enum { LOCKS_ASKED = 64 };
struct place_asked {
	uint64_t addr;
	uint32_t process, place;
};
struct key_asked {
	uint64_t key;
	uint32_t lock; /* index + 1; 0: none */
};

struct locks {
	VEC(struct lock) list;
	struct map by_key; /* -> index + 1 of the latest life */
	struct key_asked keys_asked[LOCKS_ASKED];
	VEC(struct lock_place) places;
	struct map by_place;
	struct place_asked places_asked[LOCKS_ASKED];
	VEC(struct lock_row) rows;
	struct map by_row;
	VEC(uint32_t) recent; /* by thread: its row that was asked for last, + 1; 0: none */
	uint64_t min_wait;    /* shorter waits are not counted */
	bool kernel;	      /* the capture holds the kernel's record of contention */
};

/* Adds a wait with iv->lock when it is handed out; `whole` is its length outside the window too. */
void locks_wait(struct locks *l, const struct interval *iv, uint64_t whole);
/* Counts a wait without length. */
void locks_brief(struct locks *l, const struct thread *th, uint32_t lock, uint64_t ts);
void locks_done(struct locks *l);

/* The lock for the index (+ 1) that intervals and rows hold, with aliases resolved. */
struct lock *locks_at(const struct locks *l, uint32_t lock);
uint32_t locks_index(const struct locks *l, uint32_t lock);

/* What an event says of the memory that a lock is in. */
void locks_add_place(struct locks *l, const struct lock_place *p);
/* Index + 1 of what is known of that address; 0: nothing. */
uint32_t locks_place(struct locks *l, uint32_t process, uint64_t addr);
struct lock *locks_find(struct locks *l, uint64_t key, uint32_t *ret_index);
struct lock *locks_make(struct locks *l, uint64_t key, uint32_t *ret_index);
struct lock_row *locks_row(struct locks *l, uint32_t index, const struct thread *th);
/* `n` waits of this length. */
void lock_row_add(struct lock_row *r, uint32_t n, uint64_t ns, uint64_t start);

#endif
