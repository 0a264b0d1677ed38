/* SPDX-License-Identifier: MIT */
/*
 * What happens when a program that writes to a ring is interrupted by another one that writes to
 * the same ring? Tried out, with a hardware breakpoint on the ring's own position: in kernel mode
 * that is an interruption like an NMI, which no lock and no disabled interrupt keeps out, and it
 * comes in the middle of every reservation.
 *
 * Two rings are tried: thaw's own, through the emit path of the probes, and the kernel's ring
 * buffer, which thaw never uses when it records. The lock of the latter can make a machine stand
 * still: ask the guard before calling selftest_kernel() (MECHANISM_KERNEL_RING).
 */
#ifndef THAW_SELFTEST_SELFTEST_H
#define THAW_SELFTEST_SELFTEST_H

#include <stdint.h>

struct selftest_times {
	uint64_t tries;	 /* writes in the middle of another */
	uint64_t failed; /* of them, with nothing written */
	uint64_t mean_ns, p99_ns, worst_ns;
};

struct selftest_own {
	struct selftest_times nested;
	uint64_t outer_tries, outer_worst_ns;
	uint64_t made[2], arrived[2]; /* records; of the outer program, of the nested one */
	uint64_t lost;		      /* that the rings have counted */
};

/*
 * Both for at most so many milliseconds, with two threads that wake each other. 0, -EOPNOTSUPP
 * where there are no hardware breakpoints, or another negative errno with the message set.
 */
int selftest_own(unsigned ms, struct selftest_own *ret);
/* On one CPU; it ends after `tries`, or when they have taken `budget_ns` in all. */
int selftest_kernel(unsigned ms, uint64_t tries, uint64_t budget_ns, struct selftest_times *ret);

/* ---- bounce.c: a supply of context switches ---- */

struct bounce;
/* Two threads that wake each other; `cpu` -1: wherever they are put. */
int bounce_start(int cpu, struct bounce **ret);
void bounce_stop(struct bounce *b);

/* A descriptor of a breakpoint on writes to the eight bytes at `addr`, in the kernel, on `cpu`. */
int selftest_breakpoint(uint64_t addr, int cpu);

#endif
