/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * The fuse lets the probes switch themselves off, all at once and without help. Compiled into the
 * kernel programs, the collector and the tests.
 *
 * The collector keeps saying until when it counts as alive; a probe that runs later takes the
 * collector for dead or stopped.
 *
 * One run of a probe in FUSE_TIMED is timed, from its reading of the clock to its end, and every
 * sample. One run that takes FUSE_SLOW_NS proves nothing: the hypervisor may have taken the CPU
 * away in the middle. But that hits one timed run, not FUSE_ROW in a row, which are hundreds of
 * runs, or milliseconds, apart: then the probes are slow.
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

enum fuse_cause {
	FUSE_WHOLE = 0,
	FUSE_STALE = 1,
	FUSE_SLOW = 2,
};

struct fuse {
	__u64 alive_until; /* by the collector */
	__u64 ts;	   /* when it blew; 0: it has not */
	__u64 took;	   /* FUSE_SLOW: the last run */
	__u32 cause;	   /* enum fuse_cause */
	__u32 pad;
};

#ifdef __bpf__
#define FUSE_INLINE static __always_inline
#else
#define FUSE_INLINE static inline
#endif

/* Is the run that read this time to be timed? */
FUSE_INLINE int fuse_picks(__u64 ts)
{
	/* Mixed twice: once would not pick evenly among times that are equally far apart. */
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
