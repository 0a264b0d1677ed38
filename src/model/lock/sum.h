/* SPDX-License-Identifier: MIT */
/*
 * What threads waited on: the user-space locks behind futexes and the locks of the kernel, each
 * with its waits, waiters and holders. Built by summary_new() (s->locks), for the threads chosen.
 *
 * A lock of a program is an address in a process, as long as the process runs that program and as
 * long as what lies there is of one kind: memory that is freed and used for another lock is another
 * lock (`life` counts them). Memory shared between processes is known by its file and offset.
 *
 * One wait is one sleep: a thread that is woken for a lock, finds it taken again and goes back
 * to sleep has waited twice. For locks of the kernel a wait is from the first attempt to the lock
 * (or giving up), spinning included, however often it slept.
 */
#ifndef THAW_MODEL_LOCK_SUM_H
#define THAW_MODEL_LOCK_SUM_H

#include "base/vec.h"
#include "model/lock/doings.h"
#include "model/lock/kind.h"
#include "timeline/thread.h"

/*
 * How long waits took: two buckets to each power of two. Bucket i counts the waits of
 * [hist_from(i), hist_from(i + 1)) nanoseconds.
 */
#define HIST_BUCKETS 80
unsigned hist_bucket(uint64_t ns);
uint64_t hist_from(unsigned bucket);

struct lock_waiter {
	const struct thread *thread;
	uint64_t total, count, max;
	uint32_t kstack, ustack; /* where it waited longest in total; 0: not taken */
};

/* How it is known where a holder was. */
enum held_by {
	HELD_BY_NOTHING,
	HELD_BY_SAMPLE,	 /* it was found running there while it held the lock */
	HELD_BY_WAIT,	 /* it waited there while it held the lock */
	HELD_BY_RELEASE, /* it released the lock there */
};

struct lock_holder {
	const struct thread *thread; /* NULL: not known who */
	uint64_t blamed;	     /* of others' waiting, while it held the lock */
	uint64_t count;		     /* waits in which it was the holder, for a part at least */
	/* What it did meanwhile: parts of `blamed`; the rest is not known. */
	uint64_t running, runnable, waiting;
	struct doings did; /* the same, with what it waited for */
	enum held_by by;
	uint32_t kstack, ustack;		 /* where: the place of most of it */
	uint32_t release_kstack, release_ustack; /* where it released the lock, if taken */
};

/* One lock, summed up. */
struct lock_sum {
	enum lock_kind kind;
	enum evidence evidence; /* of its kind */
	char *name;		/* "commit_lock", "server+0x40", "mmap_lock of postgres (412)" */
	bool named; /* by a symbol, or what it belongs to; otherwise the name is only an address */
	bool contended; /* a thread has what others want; false: they wait for an event */
	bool inferred;	/* a lock of the kernel seen on wait stacks only: no address, no holders */
	bool shared;	/* between processes */
	uint64_t address;
	uint32_t pid;	/* whose; 0: the kernel's */
	uint32_t life;	/* 1, 2, ...: counts the locks at this address */
	uint32_t index; /* of this lock in the model */
	uint64_t total, count, max;
	uint64_t open;	 /* of count: had not ended when observation did */
	uint64_t failed; /* of count: given up (a signal, a timeout) */
	uint64_t max_start;
	const struct thread *max_thread; /* NULL: an interrupt */
	uint64_t p50, p99;
	uint64_t known;			 /* of total: with a holder */
	uint32_t *histogram;		 /* HIST_BUCKETS of them */
	uint64_t *histogram_ns;		 /* the same: their sums */
	VEC(struct lock_waiter) waiters; /* by total, the largest first */
	VEC(struct lock_holder) holders; /* by blamed; the unknown one last */
};

#endif
