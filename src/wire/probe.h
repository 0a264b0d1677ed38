/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The records that the kernel programs put into the rings. They live for milliseconds, between one
 * build's programs and the same build's collector: unlike the events of a capture (event.def), they
 * may change freely.
 */
#ifndef THAW_WIRE_PROBE_H
#define THAW_WIRE_PROBE_H

#include <linux/types.h>

enum pr_kind {
	PR_SWITCH = 1,
	PR_WAKING,	/* without stacks: struct pr_waking up to kstack */
	PR_WAKING_LONG, /* with the waker's stacks */
	PR_SAMPLE,
	PR_WAIT,
	PR_STACK,
	PR_FORK,
	PR_EXEC,
	PR_EXIT,
	PR_RENAME,
	PR_JOIN, /* a thread enters the cgroup that is looked at */
	PR_LEAVE,
	PR_LOST,
	PR_TEST, /* of the tests' own programs */
	PR_KINDS,
};

/* Bits 0-15: length in bytes; 16-23: kind; 32-63: see ring_header(). */
#define PR_LEN(hdr) ((__u32)((hdr)&0xffff))
#define PR_KIND(hdr) ((__u32)((hdr) >> 16 & 0xff))

#define PR_FRAMES_MAX 127
#define PR_COMM 16

struct pr_hdr {
	__u64 hdr;
	__u64 ts;
};

struct pr_switch {
	struct pr_hdr h;
	__u32 prev, next;
	__u32 state; /* as in event.h */
	__u32 pad;
};

struct pr_waking {
	struct pr_hdr h;
	__u32 wakee, waker;
	__u32 ctx;
	__u32 waker_pid;
	__u64 kstack, ustack;
};
#define PR_WAKING_SHORT 32

struct pr_sample {
	struct pr_hdr h;
	__u32 tid, pid;
	__u64 kstack, ustack;
};

/* A stack is known by the hash of its addresses; the frames are sent once (per CPU and epoch). */
struct pr_stack {
	struct pr_hdr h;
	__u64 id;
	__u64 n;
	__u64 ip[PR_FRAMES_MAX];
};
#define PR_STACK_LEN(n) (32 + 8 * (n))

struct pr_task {
	struct pr_hdr h;
	__u32 tid, pid;
	__u32 other; /* FORK: the parent's tid; EXEC: the tid before; JOIN, LEAVE: whole process */
	__u32 code;  /* FORK: the parent's pid; EXIT: as wait(2) has it */
	char comm[PR_COMM];
};

struct pr_lost {
	struct pr_hdr h;
	__u64 from;
	__u64 pad;
};

/* Slots for what is known of a waiting thread, by the low bits of its tid. */
#define HINT_SLOTS 65536u
struct hint {
	__u32 tid;
	__u32 want_user; /* without sched_exit_tp: take the user stack at the next syscall exit */
	__u64 off_ts;	 /* when it began to wait; 0: it does not wait */
};

/* Per CPU: the ids of the stacks that this CPU has sent lately. */
#define SENT_SLOTS 4096u

/* How deep stack-taking programs may interrupt each other on a CPU. */
#define NEST_MAX 4

/* Exact filter: a bit per tid, for the largest pid_max there is. */
#define TID_LIMIT (4u << 20)
#define TID_WORDS (TID_LIMIT / 64)

#endif
