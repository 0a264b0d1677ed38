/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reserve, fill, commit: the only way a probe puts a record into its CPU's ring. Every path on
 * which a record does not get in counts it by kind. See wire/ring.h for the protocol.
 */
#ifndef THAW_PROBE_EMIT_H
#define THAW_PROBE_EMIT_H

#include "probe/lib/fuse.bpf.h"
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

/* A record that is being made: reserved by emit_begin(), visible after emit_end(). */
struct emit {
	void *rec;
	__u64 hdr;
};

/* Interrupted in the middle of its first try, by a producer that came between. */
static __noinline __u64 reserve_again(struct ring_head *r, __u32 len)
{
	return ring_reserve(r, ring_size, len);
}

static __always_inline bool emit_reserve(struct emit *e, struct ring_head *r, __u32 kind, __u32 len,
					 __u64 ts)
{
	__u64 pos = RING_LOAD(&r->prod);
	struct pr_hdr *h;

	if (pos + len - RING_LOAD(&r->cons) > ring_size)
		return false;
	if (__sync_val_compare_and_swap(&r->prod, pos, pos + len) != pos) {
		pos = reserve_again(r, len);
		if (pos == RING_CONTENDED)
			__sync_fetch_and_add(&r->contended, 1);
		if (pos >= RING_CONTENDED)
			return false;
	}
	h = ring_at(r, pos);
	h->ts = ts;
	e->rec = h;
	e->hdr = ring_header(pos, ring_salt, kind, len);
	return true;
}

static __always_inline void emit_end(const struct emit *e)
{
	ring_commit(e->rec, e->hdr);
}

/* What happens seldom is kept out of the programs' own frames. */
static __noinline int emit_lost_span(struct ring_head *r, __u64 ts)
{
	__u64 from = __sync_lock_test_and_set(&r->lost_from, 0);
	struct emit e;

	if (!from)
		return 0;
	if (!emit_reserve(&e, r, PR_LOST, sizeof(struct pr_lost), ts)) {
		__sync_val_compare_and_swap(&r->lost_from, 0, from);
		return 0;
	}
	((struct pr_lost *)e.rec)->from = from;
	emit_end(&e);
	return 0;
}

static __noinline int emit_lost(struct ring_head *r, __u32 kind, __u64 ts)
{
	__sync_fetch_and_add(&r->lost[kind % RING_KINDS], 1);
	/* Without its stack an event is still an event. */
	if (kind != PR_STACK && kind != PR_COPY)
		__sync_val_compare_and_swap(&r->lost_from, 0, ts);
	return 0;
}

/* Room for a record of `len` bytes (a constant, or bounded), or NULL, counted. */
static __always_inline void *emit_begin(struct emit *e, struct ring_head *r, __u32 kind, __u32 len,
					__u64 ts)
{
	/* A span of losses ends with the first record that finds room for itself and for the news.
	 */
	if (RING_LOAD(&r->lost_from))
		emit_lost_span(r, ts);
	if (emit_reserve(e, r, kind, len, ts))
		return e->rec;
	emit_lost(r, kind, ts);
	return NULL;
}

#endif
