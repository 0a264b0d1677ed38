/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Stacks go once. A stack's id is the hash of its addresses; a direct-mapped cache per CPU
 * remembers the ids that this CPU has sent, and only a stack that is not in it has its frames sent.
 * The collector puts stacks of all CPUs into one table, so sending one twice costs only bytes.
 *
 * The addresses are gathered in a scratch area picked by how deep stack-taking programs are nested
 * on this CPU. A program that is nested deeper than there are areas goes without a stack, counted.
 */
#ifndef THAW_PROBE_STACK_H
#define THAW_PROBE_STACK_H

#include "probe/lib/emit.bpf.h"

static __always_inline struct scratch *scratch_get(struct ring_head *r)
{
	__u32 depth = r->nest;

	r->nest = depth + 1;
	if (depth >= NEST_MAX)
		return NULL;
	return bpf_map_lookup_elem(&scratches, &depth);
}

static __always_inline void scratch_put(struct ring_head *r)
{
	r->nest--;
}

/* A function of its own, so that the verifier walks the loop once and not on every path to it. */
__noinline __weak __u64 stack_hash(const struct scratch *s, __u32 n)
{
	__u64 h = 0x9e3779b97f4a7c15ull + epoch;

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

/* Sends the frames in `s` unless this CPU has done so lately; the id either way, 0 for no stack. */
static __always_inline __u64 stack_send(struct ring_head *r, struct scratch *s, long bytes,
					__u64 ts)
{
	struct emit e;
	struct pr_stack *rec;
	__u64 id, *slot;
	__u32 n, len, key;

	if (bytes < 8) {
		/* No user stack is no loss: a kernel thread has none. */
		if (bytes < 0)
			__sync_fetch_and_add(&r->no_stack, 1);
		return 0;
	}
	n = (__u32)bytes / 8;
	if (n > PR_FRAMES_MAX)
		n = PR_FRAMES_MAX;
	id = stack_hash(s, n);
	key = bpf_get_smp_processor_id() * SENT_SLOTS + (__u32)(id >> 20) % SENT_SLOTS;
	slot = bpf_map_lookup_elem(&sent, &key);
	if (!slot || *slot == id)
		return id;
	len = PR_STACK_LEN(n);
	rec = emit_begin(&e, r, PR_STACK, len, ts);
	if (!rec)
		return id;
	rec->id = id;
	rec->n = n;
	bpf_probe_read_kernel(rec->ip, (n & 127) * 8, s->ip);
	emit_end(&e);
	*slot = id;
	return id;
}

#define STACK_BYTES (PR_FRAMES_MAX * 8)

/* The two halves of the current thread's stack. `ctx` is the program's context. */
#define stack_kernel(ctx, r, s, ts)                                                                \
	stack_send((r), (s), bpf_get_stack((ctx), (s)->ip, STACK_BYTES, 0), (ts))
#define stack_user(ctx, r, s, ts)                                                                  \
	(user_stacks                                                                               \
		 ? stack_send((r), (s),                                                            \
			      bpf_get_stack((ctx), (s)->ip, STACK_BYTES, BPF_F_USER_STACK), (ts))  \
		 : 0)

#endif
