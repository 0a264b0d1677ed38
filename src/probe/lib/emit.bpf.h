/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reserve, fill, commit: the only way a probe puts a record into its CPU's ring. Every path on
 * which a record does not get in counts it by kind. See wire/ring.h for the protocol.
 */
#ifndef THAW_PROBE_EMIT_H
#define THAW_PROBE_EMIT_H

#include "probe/lib/state.bpf.h"

static __always_inline struct ring_head *ring_mine(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

static __always_inline void *ring_at(struct ring_head *r, __u64 pos)
{
	return (void *)r + RING_HEAD + (pos & (ring_size - 8));
}

static __always_inline void emit_lost_span(struct ring_head *r, __u64 ts)
{
	__u64 from = __sync_lock_test_and_set(&r->lost_from, 0);
	struct pr_lost *rec;
	__u64 pos;

	if (!from)
		return;
	pos = ring_reserve(r, ring_size, sizeof(*rec));
	if (pos >= RING_CONTENDED) {
		__sync_val_compare_and_swap(&r->lost_from, 0, from);
		return;
	}
	rec = ring_at(r, pos);
	rec->h.ts = ts;
	rec->from = from;
	ring_commit(&rec->h.hdr, PR_HDR(PR_LOST, sizeof(*rec)));
}

/* Room for a record of `len` bytes, or NULL, counted. `len` must be a constant or bounded. */
static __always_inline void *emit_begin(struct ring_head *r, __u32 kind, __u32 len, __u64 ts)
{
	struct pr_hdr *h;
	__u64 pos;

	/* A span of losses ends with the first record that finds room for itself and for the news.
	 */
	if (RING_LOAD(&r->lost_from))
		emit_lost_span(r, ts);
	pos = ring_reserve(r, ring_size, len);
	if (pos >= RING_CONTENDED) {
		if (pos == RING_CONTENDED)
			__sync_fetch_and_add(&r->contended, 1);
		__sync_fetch_and_add(&r->lost[kind % RING_KINDS], 1);
		__sync_val_compare_and_swap(&r->lost_from, 0, ts);
		return NULL;
	}
	h = ring_at(r, pos);
	h->ts = ts;
	return h;
}

static __always_inline void emit_end(void *rec, __u32 kind, __u32 len)
{
	ring_commit(rec, PR_HDR(kind, len));
}

#endif
