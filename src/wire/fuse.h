/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The fuse: what makes the probes switch themselves off, all of them, without anybody's help.
 * Compiled into the kernel programs, the collector and the tests.
 *
 * The collector says until when it is to be believed alive, again and again; a probe that runs
 * later than that finds it dead, or stopped.
 *
 * And one run of a probe in FUSE_TIMED is timed, from where it reads the clock to its end; of the
 * samples, each. A run that takes FUSE_SLOW_NS is no proof of anything: the hypervisor may have
 * taken the CPU away in the middle of it. But that hits one timed run, not FUSE_ROW of them in a
 * row, which are hundreds of others, or milliseconds, apart: then it is the probes that are slow.
 *
 * Which runs are timed depends on the clock, not on a count: counts fall into step with what is
 * counted (every second run is a switch, every second one a waking).
 */
#ifndef THAW_WIRE_FUSE_H
#define THAW_WIRE_FUSE_H

#include <linux/types.h>

#define FUSE_STALE_NS 1500000000ull
#define FUSE_TIMED 64u
#define FUSE_SLOW_NS 1000000ull
#define FUSE_ROW 8u

enum fuse_reason {
	FUSE_WHOLE = 0,
	FUSE_STALE = 1,
	FUSE_SLOW = 2,
};

struct fuse {
	__u64 alive_until; /* by the collector */
	__u64 ts;	   /* when it blew; 0: it has not */
	__u64 took;	   /* FUSE_SLOW: the last run */
	__u32 reason;	   /* enum fuse_reason */
	__u32 pad;
};

#ifdef __bpf__
#define FUSE_INLINE static __always_inline
#else
#define FUSE_INLINE static inline
#endif

/* Is the run that read this time one that is timed? */
FUSE_INLINE int fuse_picks(__u64 ts)
{
	/* Once is not enough: times that are equally far apart would not be picked evenly. */
	ts *= 0x9e3779b97f4a7c15ull;
	ts ^= ts >> 32;
	return ts * 0x9e3779b97f4a7c15ull < ~0ull / FUSE_TIMED;
}

/* `row`: so many of the last timed runs of this CPU were slow. Has the fuse blown? */
FUSE_INLINE int fuse_slow(__u64 *row, __u64 took)
{
	*row = took < FUSE_SLOW_NS ? 0 : *row + 1;
	return *row >= FUSE_ROW;
}

#endif
