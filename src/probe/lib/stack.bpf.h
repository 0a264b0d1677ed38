/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each CPU sends a stack once. A stack's id is the hash of its addresses; a direct-mapped cache per
 * CPU remembers the ids that it has sent. Only a stack outside of this cache has its frames sent.
 * The collector puts stacks of all CPUs into one table, so sending one twice costs only bytes.
 *
 * The addresses are gathered in a scratch area picked by how deep stack-taking programs are nested
 * on this CPU. A program that is nested deeper than there are areas takes no stack, and counts
 * that.
 */
#ifndef THAW_PROBE_STACK_H
#define THAW_PROBE_STACK_H

#include "probe/lib/emit.bpf.h"
#include "probe/lib/unwind.bpf.h"

static __always_inline struct scratch *scratch_get(struct ring_head *r, __u32 *ret_area)
{
	__u32 depth = r->nest;

	r->nest = depth + 1;
	if (depth >= NEST_MAX)
		return NULL;
	*ret_area = depth;
	return bpf_map_lookup_elem(&scratches, &depth);
}

static __always_inline void scratch_put(struct ring_head *r)
{
	r->nest--;
}

/* A function of its own, so that the verifier walks the loop once and not on every path to it. */
__noinline __weak __u64 stack_hash(const struct scratch *s, __u32 n, __u32 stop)
{
	__u64 h = 0x9e3779b97f4a7c15ull + epoch + ((__u64)stop << 32);

	if (!s)
		return 0;
	for (__u32 i = 0; i < PR_FRAMES_MAX; i++) {
		if (i >= n)
			break;
		h = (h ^ s->ip[i]) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	return h | 1;
}

/*
 * Sends the n frames in an area unless this CPU has done so lately. Returns the id either way, 0
 * for none. It takes no pointers, and so is verified once, too.
 */
__noinline __weak __u64 stack_send(__u32 area, __u32 n, __u32 stop, __u64 ts)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &area);
	struct ring_head *r = ring_mine();
	struct pr_stack *rec;
	struct emit e;
	__u64 id, *slot;
	__u32 len;

	if (!n || !s || !r)
		return 0;
	if (n > PR_FRAMES_MAX)
		n = PR_FRAMES_MAX;
	id = stack_hash(s, n, stop);
	slot = sent_slot(id);
	if (!slot || *slot == id)
		return id;
	len = PR_STACK_LEN(n);
	rec = emit_begin(&e, r, PR_STACK, len, ts);
	if (!rec)
		return id;
	rec->id = id;
	rec->n = n;
	rec->stop = stop;
	bpf_probe_read_kernel(rec->ip, (n & 127) * 8, s->ip);
	emit_end(&e);
	*slot = id;
	return id;
}

#define STACK_BYTES (PR_FRAMES_MAX * 8)

/* What bpf_get_stack() and its like return: bytes, or an error, counted. */
static __always_inline __u32 stack_taken(struct ring_head *r, long bytes)
{
	if (bytes < 0)
		__sync_fetch_and_add(&r->no_stack, 1);
	return bytes < 0 ? 0 : (__u32)bytes / 8;
}

/* The two halves of the current thread's stack. `ctx` is the program's context. */
#define stack_kernel(ctx, r, s, area, ts)                                                          \
	stack_send((area), stack_taken((r), bpf_get_stack((ctx), (s)->ip, STACK_BYTES, 0)), 0, (ts))

static __always_inline __u64 stack_walked(struct ring_head *r, struct scratch *s, __u32 area,
					  __u64 ts, const bool guess)
{
	struct walked w = {};

	walk_user(r, s, area, ts, &w, guess);
	if (!w.id) {
		w.id = stack_send(area, w.n, w.stop, ts);
		if (w.keep)
			memo_keep(s, &w.first, w.space, w.n, w.by_bp, w.id);
	}
	return w.id;
}

/* Without tables: frame pointers, by the kernel's own walk. */
#define stack_chain(ctx, r, s, area, ts)                                                           \
	stack_send((area),                                                                         \
		   stack_taken((r), bpf_get_stack((ctx), (s)->ip, STACK_BYTES, BPF_F_USER_STACK)), \
		   UNWIND_STOP_FP_END, (ts))

/* The loader turns the tables on only where user memory may be read. */
#define stack_user(ctx, r, s, area, ts, guess)                                                     \
	(!user_stacks	 ? 0                                                                       \
	 : unwind_tables ? stack_walked((r), (s), (area), (ts), (guess))                           \
			 : stack_chain((ctx), (r), (s), (area), (ts)))

#endif
