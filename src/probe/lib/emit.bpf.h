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

/*
 * Rare work stays out of the programs' own frames, in functions that take no pointers: the verifier
 * checks such a function once, not on every path to it. The function finds the ring by itself.
 */
#define EMIT_SELDOM __noinline __weak

/* A second try, after another producer has interrupted the first. */
EMIT_SELDOM __u64 reserve_again(__u32 len)
{
	struct ring_head *r = ring_mine();
	__u64 pos = r ? ring_reserve(r, ring_size, len) : RING_FULL;

	if (r && pos == RING_CONTENDED)
		__sync_fetch_and_add(&r->contended, 1);
	return pos;
}

static __always_inline void emit_at(struct emit *e, struct ring_head *r, __u64 pos, __u32 kind,
				    __u32 len, __u64 ts)
{
	struct pr_hdr *h = ring_at(r, pos);

	h->ts = ts;
	e->rec = h;
	e->hdr = ring_header(pos, ring_salt, kind, len);
}

static __always_inline bool emit_reserve(struct emit *e, struct ring_head *r, __u32 kind, __u32 len,
					 __u64 ts)
{
	__u64 pos = RING_LOAD(&r->prod);

	if (pos + len - RING_LOAD(&r->cons) > ring_size)
		return false;
	if (__sync_val_compare_and_swap(&r->prod, pos, pos + len) != pos) {
		pos = reserve_again(len);
		if (pos >= RING_CONTENDED)
			return false;
	}
	emit_at(e, r, pos, kind, len, ts);
	return true;
}

static __always_inline void emit_end(const struct emit *e)
{
	ring_commit(e->rec, e->hdr);
}

/* If interrupted, leaves it to the next record: a call from here would be one frame too many. */
EMIT_SELDOM int emit_lost_span(__u64 ts)
{
	struct ring_head *r = ring_mine();
	const __u32 len = sizeof(struct pr_lost);
	__u64 from, pos;
	struct emit e;

	if (!r)
		return 0;
	from = __sync_lock_test_and_set(&r->lost_from, 0);
	if (!from)
		return 0;
	pos = RING_LOAD(&r->prod);
	if (pos + len - RING_LOAD(&r->cons) > ring_size ||
	    __sync_val_compare_and_swap(&r->prod, pos, pos + len) != pos) {
		__sync_val_compare_and_swap(&r->lost_from, 0, from);
		return 0;
	}
	emit_at(&e, r, pos, PR_LOST, len, ts);
	((struct pr_lost *)e.rec)->from = from;
	emit_end(&e);
	return 0;
}

EMIT_SELDOM int emit_lost(__u32 kind, __u64 ts)
{
	struct ring_head *r = ring_mine();

	if (!r)
		return 0;
	__sync_fetch_and_add(&r->lost[kind % RING_KINDS], 1);
	/* A lost stack loses no event: it begins no span. */
	if (kind != PR_STACK && kind != PR_COPY)
		__sync_val_compare_and_swap(&r->lost_from, 0, ts);
	return 0;
}

/* Room for a record of `len` bytes (a constant, or bounded), or NULL, counted. */
static __always_inline void *emit_begin(struct emit *e, struct ring_head *r, __u32 kind, __u32 len,
					__u64 ts)
{
	/* A span of losses ends as soon as a PR_LOST record finds room. */
	if (RING_LOAD(&r->lost_from))
		emit_lost_span(ts);
	if (emit_reserve(e, r, kind, len, ts))
		return e->rec;
	emit_lost(kind, ts);
	return NULL;
}

#endif
