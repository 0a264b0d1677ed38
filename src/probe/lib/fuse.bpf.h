/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The probes' side of the fuse: see wire/fuse.h. A program calls fuse_end() before it returns, if
 * it has read the clock: two comparisons, and for one run in FUSE_TIMED a second look at the clock.
 */
#ifndef THAW_PROBE_FUSE_H
#define THAW_PROBE_FUSE_H

#include "probe/lib/state.bpf.h"

static __always_inline void fuse_blow(__u32 cause, __u64 ts, __u64 took)
{
	/* Only the first probe to blow the fuse says why. */
	if (__sync_val_compare_and_swap(&fuse.ts, 0, ts) == 0) {
		fuse.took = took;
		fuse.cause = cause;
	}
	armed = 0;
}

/* The run that began at `ts` stands for `runs`. */
static __noinline int fuse_look(struct ring_head *r, __u64 ts, __u32 runs)
{
	__u64 now = bpf_ktime_get_ns(), took = now - ts;

	r->own_ns += took * runs;
	if (fuse_slow(&r->slow_row, took))
		fuse_blow(FUSE_SLOW, now, took);
	if (now > fuse.alive_until)
		fuse_blow(FUSE_STALE, now, 0);
	return 0;
}

static __always_inline void fuse_end(struct ring_head *r, __u64 ts)
{
	if (fuse_picks(ts) || ts > fuse.alive_until)
		fuse_look(r, ts, FUSE_TIMED);
}

#endif
