/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The memory in which a program records itself for thaw (the ctimer engine). The program's side is
 * src/preload, thaw's is src/ring/shared.c.
 *
 *   +-----------------+--------+--------+-----
 *   | head (one page) | ring 0 | ring 1 | ...      each as in wire/ring.h
 *   +-----------------+--------+--------+-----
 *
 * A ring is for a CPU, but unlike those of the kernel it is written by threads that can be stopped,
 * moved or killed between reserving a record and committing it; thaw skips records that nobody
 * finishes. The program may overwrite everything in here at any time: thaw trusts none of it, and
 * keeps its own copy of what it must know.
 *
 * The memory has no name in the file system. A program finds it by the variable SHARED_ENV, as
 * /proc/PID/fd/N of thaw: that works however many descriptors a program closes, only if the program
 * may inspect thaw, and not after thaw has ended.
 */
#ifndef THAW_WIRE_SHARED_H
#define THAW_WIRE_SHARED_H

#include <linux/types.h>

#include "wire/ring.h"

#define SHARED_ENV "THAW_PRELOAD"
#define SHARED_MAGIC 0x74617731u /* changes with the layout */
#define SHARED_HEAD 4096u
/* After this long without a sign of life, the program takes thaw for dead. */
#define SHARED_STALE_NS 2000000000ull

struct shared_head {
	__u32 magic;
	__u32 armed;
	__u64 beat_ns;	 /* thaw's last sign of life, CLOCK_MONOTONIC */
	__u64 period_ns; /* a sample for so much CPU time of a thread */
	__u64 tick_ns;	 /* how often the kernel looks at timers; not more than the period */
	__u64 ring_size;
	__u32 n_rings;
	__u32 salt;
	__u32 no_inherit; /* children and new threads are not followed */
	__u32 pad;
	__u64 pid_ns; /* the inode of thaw's pid namespace */
	/* Counted by the program. */
	__u64 no_timer; /* threads that the kernel gave no timer */
	__u64 missed;	/* samples: the signal was blocked, or could not be delivered in time */
	__u64 confined; /* processes that have forbidden themselves system calls */
};

static inline __u64 shared_ring_len(__u64 ring_size)
{
	return RING_HEAD + ring_size + RING_SLACK;
}

static inline __u64 shared_len(__u64 ring_size, __u32 n_rings)
{
	return SHARED_HEAD + n_rings * shared_ring_len(ring_size);
}

static inline struct ring_head *shared_ring(struct shared_head *s, __u64 ring_size, __u32 i)
{
	return (struct ring_head *)((char *)s + SHARED_HEAD + i * shared_ring_len(ring_size));
}

#endif
