/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The records that the kernel programs put into the rings. They live for milliseconds, between one
 * build's programs and the same build's collector: unlike the events of a capture (event.def), they
 * may change freely.
 */
#ifndef THAW_WIRE_PROBE_H
#define THAW_WIRE_PROBE_H

#include <linux/types.h>

#include "wire/fuse.h"

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
	PR_JOIN, /* a thread enters the recorded cgroup */
	PR_LEAVE,
	PR_LOST,
	PR_FUTEX, /* before the PR_SWITCH with which the thread goes to sleep */
	PR_KLOCK, /* the same */
	PR_KLOCKED,
	PR_COPY,   /* a user stack to be walked by the collector: the tables were not ready */
	PR_TEST,   /* of the tests' own programs */
	PR_MAP,	   /* of a program that records itself: code that it has mapped */
	PR_RUN,	   /* the same: a process is about to become another program */
	PR_KLOCKS, /* short attempts at one lock in quick succession, added up */
	PR_KINDS,
};

/* Bits 0-15: length in bytes; 16-23: kind; 32-63: see ring_header(). */
#define PR_LEN(hdr) ((__u32)((hdr)&0xffff))
#define PR_KIND(hdr) ((__u32)((hdr) >> 16 & 0xff))

#define PR_FRAMES_MAX 127
#define PR_COMM 16
#define PR_RUN_PATH 128

struct pr_hdr {
	__u64 hdr;
	__u64 ts;
};

struct pr_switch {
	struct pr_hdr h;
	__u32 prev, next;
	__u32 state; /* as in state.h */
	__u32 call;
};

struct pr_waking {
	struct pr_hdr h;
	__u32 wakee, waker;
	__u32 ctx;
	__u32 waker_pid;
	__u64 kstack, ustack;
};
#define PR_WAKING_SHORT 32

struct pr_futex {
	struct pr_hdr h;
	__u32 tid, pid;
	__u64 addr;
	__u32 op, val; /* as in state.h */
	__u32 word[5];
	__u32 pad;
};

/* A lock of the kernel: slept on (PR_KLOCK, up to took_ns), or got or given up (PR_KLOCKED). */
struct pr_klock {
	struct pr_hdr h;
	__u32 tid, pid;
	__u64 addr;
	__u32 flags, owner; /* as in event.def */
	__u64 of;
	__u32 what;
	__u32 failed;
	__u64 took_ns;
	__u64 kstack;
};
#define PR_KLOCK_SHORT 56

/*
 * A thread that fights for a lock of the kernel gets it a million times a second, each time after
 * less than a microsecond. The first such attempt has a record of its own; those that follow at
 * once are added up by length, for as long as the thread neither pauses nor sleeps nor has to wait,
 * and no longer than KLOCKS_SPAN_NS. Their number and their sums are exact. The thread that has got
 * the lock only notes the time, for it holds up all others; it adds up when it tries again.
 */
#define KLOCKS_BELOW_NS 4000ull	 /* a longer attempt has a record of its own */
#define KLOCKS_PAUSE_NS 20000ull /* a longer pause ends the row */
#define KLOCKS_SPAN_NS 100000ull /* the longest delay before a row is sent */
#define KLOCKS_LENGTHS 4	 /* below 250, 500, 1,000 ns, and the rest */
struct klocks_sum {
	__u32 n[KLOCKS_LENGTHS];
	__u32 ns[KLOCKS_LENGTHS];
};

struct pr_klocks {
	struct pr_hdr h;
	__u32 tid, pid;
	__u64 addr;
	__u64 of;
	__u32 flags, what;
	struct klocks_sum sum;
};

struct pr_sample {
	struct pr_hdr h;
	__u32 tid, pid;
	__u64 kstack, ustack;
};

/* A stack is known by the hash of its addresses; the frames are sent once (per CPU and epoch). */
struct pr_stack {
	struct pr_hdr h;
	__u64 id;
	__u32 n;
	__u32 stop; /* enum unwind_stop; kernel stacks: 0 */
	__u64 ip[PR_FRAMES_MAX];
};
#define PR_STACK_LEN(n) (32 + 8 * (n))

struct pr_task {
	struct pr_hdr h;
	__u32 tid, pid;
	__u32 other; /* FORK: the parent's tid; EXEC: the tid before; others: the whole process */
	__u32 code;  /* FORK: the parent's pid; EXEC: how many; EXIT: as wait(2) has it */
	char comm[PR_COMM];
	__u32 vtid; /* FORK: as its own pid namespace has it; 0: that is ours */
	__u32 pad;
};

/*
 * Registers and the top of the stack, in chunks aligned to their size: none spans two pages, of
 * which one may never have been touched. Its id serves as a stack's, but never comes again.
 */
#define COPY_CHUNK 1024u
#define COPY_CHUNKS 60u
#define COPY_SMALL 8u /* chunks, when many are on their way */
#define COPY_MAX (COPY_CHUNKS * COPY_CHUNK)
struct pr_copy {
	struct pr_hdr h;
	__u64 id;
	__u32 pid;
	__u32 execs; /* of the process, at that moment */
	__u64 have;  /* bit by bit: the pieces that could be read; sp lies in the first */
	__u64 pc, sp, bp, di, bx;
	__u64 need; /* an address whose table is wanted besides those of the frames; 0: none */
	__u8 stack[COPY_MAX];
};
#define PR_COPY_HEAD 88
#define PR_COPY_LEN(chunks) (PR_COPY_HEAD + (chunks)*COPY_CHUNK)

/* Code that a process has mapped, as /proc/PID/maps has it; the path ends with a zero. */
struct pr_map {
	struct pr_hdr h;
	__u32 pid;
	__u32 first; /* 1: what was known of the process before is void */
	__u64 start, end, pgoff;
	__u64 dev, inode; /* dev: major << 32 | minor */
	char path[];
};
#define PR_MAP_HEAD 64
#define PR_PATH_MAX 4096

/*
 * A thread that sleeps or is exiting, from the iterator of tasks: not a record of a ring. If its
 * number of switches is the same later, it has slept on.
 */
#define ASLEEP_FRAMES 64
struct pr_asleep {
	__u32 tid, pid;
	__u32 state, call; /* as of a switch; state 0: it does not sleep, and no more is known */
	__u64 switches;
	__u64 pc, sp, bp, bx; /* pc 0: it has no user stack, or is not in a call */
	__u64 arg[4];
	__u32 n;       /* of its kernel stack */
	__u32 exiting; /* its EXIT may be over */
	__u64 ip[ASLEEP_FRAMES];
};

/* If no PR_EXEC follows, thaw cannot follow the program. No path: exec() failed. */
struct pr_run {
	struct pr_hdr h;
	__u32 pid;
	__u32 pad;
	char path[PR_RUN_PATH];
};

struct pr_lost {
	struct pr_hdr h;
	__u64 from;
	__u64 pad;
};

/*
 * Futex calls with a single path to where they sleep or wake: the kernel stack of each is always
 * the same, and is taken once a CPU. (Calls on PI futexes have several.)
 */
enum futex_way {
	FUTEX_WAY_NONE,
	FUTEX_WAY_WAIT,
	FUTEX_WAY_WAIT_BITSET,
	FUTEX_WAY_WAIT2, /* futex_wait(2) */
	FUTEX_WAY_WAKE,
	FUTEX_WAY_WAKE_BITSET,
	FUTEX_WAY_WAKE2, /* futex_wake(2) */
};

/*
 * Slots of threads, by the low bits of their tids: threads that were made one after another run on
 * different CPUs and must not share a cache line, so the factor sends neighbours far apart. It is
 * odd: two tids share a slot only if they share their low bits.
 */
#define THREAD_SLOT(tid, slots) ((tid)*0x9e3779b1u % (slots))

/* What is known of a waiting thread. */
#define HINT_SLOTS 65536u
struct hint {
	__u32 tid;
	__u8 want_user; /* without sched_exit_tp: take the user stack at the next syscall exit */
	__u8 futex_shared;
	__u8 klock;   /* its slots among klocks and klocks_rows may be in use */
	__u8 way;     /* of `futex`: enum futex_way */
	__u64 off_ts; /* when it began to wait; 0: it does not wait */
	__u64 futex;  /* the address of the futex that it sleeps on; 0: none */
};

/* A lock of the kernel that a thread wants and does not have. */
struct klock_hint {
	__u64 addr; /* 0: none */
	__u64 ts;   /* when it first tried */
	__u64 of;
	__u64 got; /* when it was got, until that is sent or added up; then 0 */
	__u32 tid, flags, owner, what;
	__u32 again; /* the attempt is one more of a row */
} __attribute__((aligned(64)));

/*
 * A row of short attempts of one thread. The slot is the thread's from its first attempt until it
 * sleeps or ends; the attempts of other threads with that slot are not added up.
 */
#define KLOCKS_SLOTS 4096u
struct klocks_row {
	__u64 addr;  /* of the lock; 0: none */
	__u64 since; /* when the first of those added up was got; 0: there are none */
	__u64 last;  /* when it was last got, of those sent or added up */
	__u64 of;
	__u32 tid; /* 0: nobody's */
	__u32 pid, flags, what;
	struct klocks_sum sum;
} __attribute__((aligned(64)));

/* Adds the attempt before this one to its thread's row, unless it is there. */
static inline __attribute__((always_inline)) void klocks_add(struct klocks_row *row,
							     struct klock_hint *k)
{
	__u64 took = k->got - k->ts;
	__u32 i = (took >= 250) + (took >= 500) + (took >= 1000);

	if (!k->got)
		return;
	row->sum.n[i & (KLOCKS_LENGTHS - 1)]++;
	row->sum.ns[i & (KLOCKS_LENGTHS - 1)] += took;
	row->last = k->got;
	if (!row->since)
		row->since = k->got;
	k->got = 0;
}

/* Per CPU: the ids of the stacks that this CPU has sent lately. */
#define SENT_SLOTS 4096u

/* Per CPU: walks that may be spared: see probe/lib/memo.bpf.h. */
#define MEMO_SLOTS 256u
#define MEMO_FRAMES 16u
struct memo_frame {
	__u64 pc_at, pc;
	__u64 bp_at, bp; /* bp_at 0: this step did not read it */
};
struct memo {
	__u64 id; /* of the stack; 0: none, or not yet */
	__u64 pc, sp, bp;
	__u32 by_bp; /* bp matters */
	__u32 space, epoch;
	__u32 n;
	struct memo_frame frame[MEMO_FRAMES];
};

/* How deep stack-taking programs may interrupt each other on a CPU. */
#define NEST_MAX 4

/*
 * The unwind tables of all objects and the mappings of all processes, in arrays that the collector
 * fills and the probes read (wire/unwind.h has what a table is). An entry is filled before anything
 * refers to it, and reused only when nothing has referred to it for a while.
 *
 *   process (by pid)  ->  space  ->  its mappings, sorted  ->  object  ->  dir -> leaf -> rule
 *
 * Tables lie on shelves, arrays of equal size; the collector adds one when it needs room. Words are
 * numbered over all shelves: the upper bits are the shelf's. No table spans two shelves.
 */
#define SHELF_SHIFT 21
#define SHELF_WORDS (1u << SHELF_SHIFT) /* of four bytes */
#define SHELVES_MAX 512u
struct unwind_proc {
	__u32 space; /* 0: not known: the collector is sent a copy, and puts it in place */
	__u32 execs; /* how often it has called exec(): an answer to an old question is void */
};

struct unwind_space {
	__u32 first, n; /* mappings */
	__u32 misses;	/* frames, not leaves, that were in none of them */
	__u32 pad;
};
/* A frame outside of all mappings is in a new library, or astray: so many copies find out. */
#define SPACE_MISSES_MAX 1024u

struct unwind_mapping {
	__u64 start, end;
	__u64 bias;   /* address in the process - address in the object */
	__u32 object; /* or one of the following */
	__u32 pad;
};
#define OBJECT_NOT_READY 0u
#define OBJECT_NO_TABLE 1u
#define OBJECT_ANON 2u	  /* code without a file: frame pointers */
#define OBJECT_NO_ROOM 3u /* its table is larger than the room for it */
#define OBJECT_SILENT 4u  /* its file does not answer */
#define OBJECT_FIRST 5u

struct unwind_object {
	__u64 first;	/* the address that its dir begins with */
	__u32 dir;	/* its first word */
	__u32 n_leaves; /* how many words */
	__u32 rules;	/* rule 0, counted in rules */
	__u32 used;	/* unwind_now of the last walk through it */
};

#define SPACE_NONE 0xffffffffu /* more mappings than there is room for: frame pointers */
#define UNWIND_SPACES 16384u
#define UNWIND_OBJECTS 16384u
#define SPACE_MAPPINGS_MAX 4096u

/* Exact filter: a bit per tid, for the largest pid_max there is. */
#define TID_LIMIT (4u << 20)
#define TID_WORDS (TID_LIMIT / 64)

#endif
