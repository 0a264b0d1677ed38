/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* How a thread left its CPU and how its wait was ended; numbers of both the rings and the file. */
#ifndef THAW_WIRE_STATE_H
#define THAW_WIRE_STATE_H

/* Where a waker was. Only TASK may be blamed on the thread that was running. */
enum wake_ctx {
	WAKE_TASK = 0,
	WAKE_SOFTIRQ = 1,
	WAKE_HARDIRQ = 2,
	WAKE_NMI = 3,
	WAKE_UNKNOWN = 4, /* this kernel does not tell */
};

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
	STATE_IOWAIT = 0x10000,	   /* ours: in_iowait was set */
	STATE_PREEMPTED = 0x20000, /* ours: taken off the CPU against its will; it is runnable */
	STATE_PREV_OUT = 0x40000,  /* ours: prev is not among the threads that are looked at */
	STATE_NEXT_OUT = 0x80000,  /* ours: nor is next */
};

#endif
