/* SPDX-License-Identifier: MIT */
/*
 * The locks of a recording while it is read: which lock an event is about, what is known of its
 * kind, and who held it when. locks.h has what comes of it.
 *
 * A lock is made by the first sleep on it (FUTEX, KLOCK) or the first contention (KLOCKED). Each
 * event of a futex says which kinds of lock it can be about (enum family, a mask); if what is there
 * can be of no kind that it was before, the memory has been used anew, and it is another lock.
 */
#ifndef THAW_MODEL_LOCK_H
#define THAW_MODEL_LOCK_H

#include "model/locks.h"
#include "model/process.h"
#include "model/timeline.h"

struct model;

enum family {
	FAMILY_MUTEX = 1,
	FAMILY_PI = 2,
	FAMILY_ROBUST = 4,
	FAMILY_RWLOCK = 8,
	FAMILY_SIGNAL = 16, /* condition variables and semaphores, as glibc sleeps on them */
	FAMILY_JOIN = 32,
	FAMILY_OTHER = 64,
	FAMILY_ALL = 127,
	FAMILY_HELD = FAMILY_MUTEX | FAMILY_PI | FAMILY_ROBUST | FAMILY_RWLOCK,
};

struct lock {
	uint64_t addr;	  /* of the lock itself, where its layout is known, else of the futex */
	uint64_t shared;  /* device and inode of shared memory; addr is then the offset in it */
	uint32_t process; /* + 1; 0: the kernel's, or shared */
	uint32_t life;
	uint8_t kind; /* enum lock_kind; of a futex: when the model is finished */
	uint8_t evidence;
	uint8_t families; /* that it can still be */
	bool strong;	  /* of `families`: proven by more than one word */
	bool kernel;
	bool was_two;	 /* every sleep expected the word to be 2, as mutexes of many makes do */
	bool was_zero;	 /* or 0, as condition variables and semaphores of glibc do */
	bool plain_wait; /* every sleep was by FUTEX_WAIT, as glibc does for mutexes alone */
	bool realtime;	 /* every sleep was as glibc's condition variables and semaphores do */
	bool like_sem;	 /* every sleep had what follows the value of a glibc semaphore */
	uint8_t what;	 /* enum klock_what, and */
	uint64_t of;	 /* its argument; or the tid of a thread that is joined */
	uint32_t kstack; /* of somebody who wanted it */
	uint32_t place;	 /* index into places, + 1 */
	uint32_t alias;	 /* the same lock by its proper address: index + 1 */
	uint64_t last_wake;
	uint32_t last_waker;
	uint32_t wakes, bursts; /* of waits on it by threads; in quick succession by one of them */
	uint32_t holder_seen;	/* somebody held it, or let go of it */
};

/* Waits of one thread on one lock; thread NULL: of interrupts, which are no thread's. */
struct lock_row {
	uint32_t lock;
	const struct thread *thread;
	uint64_t total, count, open, failed, max, max_start;
	uint32_t kstack; /* of a contention in the kernel, where taken */
	struct hist {
		struct hist_bucket {
			uint32_t bucket, count;
		} * v;
		size_t n, room;
	} hist;
};

struct place {
	uint64_t addr, offset, shared;
	uint32_t process, module, kind;
};

struct locks {
	VEC(struct lock) list;
	struct map by_key; /* -> index + 1 of the latest life */
	VEC(struct place) places;
	struct map by_place;
	VEC(struct lock_row) rows;
	struct map by_row;
	uint64_t min_wait; /* shorter waits are not counted */
	bool kernel;	   /* the capture holds the kernel's record of contention */
};

/* An event about locks: FUTEX, KLOCK, KLOCKED, PLACE. */
void locks_event(struct model *m, const struct event *ev);
/* A waking with WAKE_RELEASE, before the timeline sees it. */
void locks_waking(struct model *m, const struct ev_waking *w, uint64_t ts);
/* A wait with iv->lock, when it is handed out. */
void locks_wait(struct locks *l, const struct interval *iv);
/* One without length: it counts, and takes no time. */
void locks_brief(struct locks *l, const struct thread *th, uint32_t lock, uint64_t ts);
/* Decides what kinds they are; all waits have been handed out. */
void locks_decide(struct model *m);
void locks_done(struct locks *l);

/* By the index that intervals and rows hold (+ 1), under its proper address. */
struct lock *locks_at(const struct locks *l, uint32_t lock);
uint32_t locks_index(const struct locks *l, uint32_t lock);

/* lock.c, for futex.c and klock.c. */
uint32_t locks_place(const struct locks *l, uint32_t process, uint64_t addr);
struct lock *locks_find(struct locks *l, uint64_t key, uint32_t *ret_index);
struct lock *locks_make(struct locks *l, uint64_t key, uint32_t *ret_index);
struct lock_row *locks_row(struct locks *l, uint32_t index, const struct thread *th);
/* `n` waits of this length. */
void lock_row_add(struct lock_row *r, uint32_t n, uint64_t ns, uint64_t start);

/* futex.c */
void futex_event(struct model *m, const struct event *ev, uint64_t ts);
/* klock.c */
/* By KLOCK.flags and KLOCKED.flags. */
enum lock_kind klock_kind(uint32_t flags);
void klock_event(struct model *m, const struct event *ev, uint64_t ts);
void klocked_event(struct model *m, const struct event *ev, uint64_t ts);

#endif
