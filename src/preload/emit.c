// SPDX-License-Identifier: MIT
/* Records into the ring of the CPU on which the thread is just now. */
#include <sched.h>
#include <time.h>

#include "preload/preload.h"
#include "wire/probe.h"

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct ring_head *emit_ring(void)
{
	int cpu = sched_getcpu();

	return shared_ring(preload.shared, preload.ring_size,
			   cpu < 0 ? 0 : (uint32_t)cpu % preload.n_rings);
}

void *emit_reserve(struct tick_emit *e, struct ring_head *r, uint32_t kind, uint32_t len)
{
	uint64_t pos = ring_reserve(r, preload.ring_size, len);

	if (pos == RING_FULL || pos == RING_CONTENDED) {
		__atomic_fetch_add(&r->lost[kind], 1, __ATOMIC_RELAXED);
		return NULL;
	}
	e->pos = pos;
	e->at = (__u64 *)((char *)r + RING_HEAD + (pos & (preload.ring_size - 8)));
	return e->at;
}

void emit_commit(const struct tick_emit *e, uint32_t kind, uint32_t len)
{
	ring_commit(e->at, ring_header(e->pos, preload.salt, kind, len));
}
