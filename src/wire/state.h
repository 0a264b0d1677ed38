/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* How a thread left its CPU and how its wait was ended; numbers of both the rings and the file. */
#ifndef THAW_WIRE_STATE_H
#define THAW_WIRE_STATE_H

enum wake_ctx {
#define WAKE_WORD(id, UPPER, name) WAKE_##UPPER = id,
#include "wire/word.def"
};
#define WAKE_CTX 0x0fu
/* Beside the context: the waker was in a system call on the very futex that the wakee slept on. */
#define WAKE_RELEASE 0x10u
/*
 * And: the wakee's cgroup has used up its CPU time, so that the wakee will not run before the next
 * period. Up to 6.17 only: since then such a thread runs as far as the border to user mode, and
 * leaves the CPU there with STATE_THROTTLED.
 */
#define WAKE_THROTTLED 0x20u

/*
 * SWITCH.state: the kernel's own task state bits, masked to those that say how a thread waits, and
 * a few flags of ours above them. FREEZABLE and WAKEKILL only modify a state and are masked
 * away; NOLOAD tells an idle kernel thread from a blocked one and is kept.
 */
enum task_state_bit {
	STATE_INTERRUPTIBLE = 0x1,
	STATE_UNINTERRUPTIBLE = 0x2,
	STATE_STOPPED = 0x4,
	STATE_TRACED = 0x8,
	STATE_DEAD = 0x10,
	STATE_ZOMBIE = 0x20,
	STATE_PARKED = 0x40,
	STATE_GONE = 0x80,
	STATE_NOLOAD = 0x400,
	STATE_RTLOCK = 0x1000,
	STATE_FROZEN = 0x8000,
	STATE_MASK = 0x94ff,
	STATE_IOWAIT = 0x10000,	    /* ours: in_iowait was set */
	STATE_PREEMPTED = 0x20000,  /* ours: taken off the CPU against its will; it is runnable */
	STATE_PREV_OUT = 0x40000,   /* ours: prev is not among the threads that are looked at */
	STATE_NEXT_OUT = 0x80000,   /* ours: next is not among them */
	STATE_THROTTLED = 0x100000, /* ours: runnable, but its cgroup has used up its CPU time */
};

/*
 * SWITCH.call: the system call in which a thread goes to sleep, and what it concerns.
 */
#define CALL_NR 0x3ffu /* its number + 1; 0: none */
#define CALL_FILE_SHIFT 10
#define CALL_FILE 0x3c00u   /* enum call_file, of the first argument where that is a descriptor */
#define CALL_COMPAT 0x4000u /* of the 32-bit table */
#define CALL_FAULT 0x8000u  /* no call: an exception in user mode, such as a page fault */

enum call_file {
	FILE_UNKNOWN = 0,
	FILE_PIPE = 1,
	FILE_SOCKET = 2,
	FILE_REGULAR = 3, /* directories too */
	FILE_CHAR = 4,	  /* terminals */
	FILE_BLOCK = 5,
	FILE_ANON = 6, /* eventfd, timerfd, epoll and such */
};

/*
 * FUTEX.op: the FUTEX_* command in the low 7 bits with FUTEX_PRIVATE_FLAG and
 * FUTEX_CLOCK_REALTIME above it, and flags of ours.
 */
#define FUTEX_OP_CMD 0x7fu
#define FUTEX_OP_SHARED 0x1000u	  /* by the futex_wait family, which has its own flags */
#define FUTEX_OP_VECTOR 0x2000u	  /* futex_waitv: the first of several */
#define FUTEX_OP_UNREAD 0x4000u	  /* nothing could be read at the address */
#define FUTEX_OP_ONE_WORD 0x8000u /* only the first word could be read */
#define FUTEX_OP_LATER 0x10000u	  /* the words were read later than the event is */

/* KLOCK.flags: contention_begin's (include/trace/events/lock.h). */
enum klock_flag {
	KLOCK_SPIN = 1,
	KLOCK_READ = 2,
	KLOCK_WRITE = 4,
	KLOCK_RT = 8,
	KLOCK_PERCPU = 16,
	KLOCK_MUTEX = 32,
	KLOCK_IN_INTERRUPT = 0x100, /* ours: an interrupt wanted it, not the thread that it met */
};

enum klock_what {
#define KLOCK_WORD(id, UPPER, name) KLOCK_##UPPER = id,
#include "wire/word.def"
};

enum place_kind {
#define PLACE_WORD(id, UPPER, name) PLACE_##UPPER = id,
#include "wire/word.def"
};

#endif
