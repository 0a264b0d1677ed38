/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The ring that carries records out of the kernel: one per CPU, many nested producers, one
 * consumer, no lock. Compiled into the kernel programs, the collector and the tests.
 *
 *   +-----------------+----------------------------------------------+---------------+
 *   | head (one page) | data, a power of two                         | slack         |
 *   +-----------------+----------------------------------------------+---------------+
 *
 * A producer reserves by moving `prod` with compare-and-swap, fills its record, and commits it by
 * storing the record's header. Positions only grow; the place of position p is p modulo the size. A
 * record that begins near the end runs on into the slack, so that every record is contiguous; the
 * bytes at the start that it would have covered stay unused for that lap.
 *
 * Producers of one ring run on one CPU, so they nest: one that interrupts another (softirq, hard
 * interrupt, #DB, NMI) simply reserves the next record, and finishes first. No producer ever waits.
 * A reservation that fails because the ring is full is counted by kind, and the moment of the first
 * one is kept in `lost_from` until a record gets through again: then a PR_LOST record tells the
 * span.
 *
 * A header carries the position that it was written for, mixed with a number that is drawn for each
 * recording. So the consumer, reading from `cons` on, tells a committed record from whatever the
 * lap before has left in its place, and never has to write to the ring: the cache lines stay where
 * the producer will need them. (With zeroing by the consumer, a switch cost 60 ns more.) Nobody can
 * forge a header in a thread's name or a stack without knowing the number.
 */
#ifndef THAW_WIRE_RING_H
#define THAW_WIRE_RING_H

#include <linux/types.h>

#define RING_HEAD 4096u
#define RING_SLACK 65536u /* no record is longer */
#define RING_TRIES 8
#define RING_KINDS 32
#define RING_SPINS 8
#define RING_WAYS 8
#define RING_FULL (~0ull)      /* no room */
#define RING_CONTENDED (~1ull) /* interrupted more than RING_TRIES times in a row */

struct ring_head {
	/* Written by producers. */
	__u64 prod;
	__u64 lost_from; /* ts of the first record lost since the last one that got through */
	__u64 pad0[6];
	/* Written by the consumer. */
	__u64 cons;
	__u64 pad1[7];
	/* How many records of each kind did not get in, ever. */
	__u64 lost[RING_KINDS];
	__u64 contended;
	/* State of the probes on this CPU that is theirs alone (src/probe). */
	__u64 nest;
	__u64 want_wait;
	__u64 no_hint;
	__u64 no_stack;
	__u64 preempt_addr;
	__u64 no_klock;	   /* contended kernel locks for which there was no slot */
	__u64 klock_stack; /* when the last of them had its stack taken */
	__u64 own_ns;	   /* time of the probes, from the runs that were timed */
	__u64 slow_row;	   /* of those, the last so many took too long */
	__u64 state;	   /* of the switch: see forget_bits() */
	/* The kernel stacks of futex calls: by enum futex_way; 0: not taken yet. */
	__u64 futex_kstack[RING_WAYS];
	__u64 futex_epoch; /* the epoch of these stacks */
	__u64 spinning;	   /* how many of the slots are in use */
	struct ring_spin {
		__u64 addr; /* of the lock that this CPU spins for; 0: free */
		__u64 ts;
		__u32 flags, tid;
	} spins[RING_SPINS]; /* an interrupt may spin while its thread does */
};

#ifdef __bpf__
#define RING_LOAD(p) (*(volatile __u64 *)(p))
#define RING_INLINE static __always_inline
#else
#define RING_LOAD(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define RING_INLINE static inline
#endif

/* The header of a committed record of `len` bytes (below 64 KiB) at a position. */
RING_INLINE __u64 ring_header(__u64 pos, __u32 salt, __u32 kind, __u32 len)
{
	return (__u64)((__u32)(pos >> 3) ^ salt) << 32 | (kind & 0xff) << 16 | len;
}

/* The position of `len` bytes (a multiple of 8), or RING_FULL or RING_CONTENDED. */
RING_INLINE __u64 ring_reserve(struct ring_head *r, __u64 size, __u32 len)
{
	for (int i = 0; i < RING_TRIES; i++) {
		__u64 pos = RING_LOAD(&r->prod);

		if (pos + len - RING_LOAD(&r->cons) > size)
			return RING_FULL;
		if (__sync_val_compare_and_swap(&r->prod, pos, pos + len) == pos)
			return pos;
	}
	return RING_CONTENDED;
}

/* Makes a filled record visible: a reader that sees this store sees all stores before it. */
RING_INLINE void ring_commit(__u64 *header, __u64 value)
{
#if defined(__bpf__) && defined(ARCH_STORES_IN_ORDER)
	/* A plain store does not wait for the record's cache line. */
	asm volatile("" ::: "memory");
	*(volatile __u64 *)header = value;
#elif defined(__bpf__)
	/* BPF has no release store before v4 of its instruction set: an exchange orders too. */
	(void)__sync_lock_test_and_set(header, value);
#else
	__atomic_store_n(header, value, __ATOMIC_RELEASE);
#endif
}

#endif
