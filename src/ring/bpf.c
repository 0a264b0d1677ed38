// SPDX-License-Identifier: MIT
/* The consumer's side of wire/ring.h. Records are handed out in place. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ring/source.h"
#include "wire/probe.h"
#include "wire/ring.h"

struct bpf_source {
	struct source base;
	struct ring_head *head;
	uint8_t *data;
	uint64_t size;
	uint32_t salt;
	uint64_t seen; /* handed out up to here */
	uint64_t done; /* released up to here */
};

static uint64_t *at(const struct bpf_source *b, uint64_t pos)
{
	return (uint64_t *)(b->data + (pos & (b->size - 8)));
}

/*
 * The first probe that meets a stack sends it. That may be in an interrupt, and the interrupted
 * probe, which has read the clock before, then refers to that stack. So stacks go ahead of older
 * records, by no more than the time that a probe takes.
 */
#define STACK_AHEAD_NS 1000000u

static uint64_t time_of(uint32_t kind, uint64_t ts)
{
	return kind == PR_STACK && ts > STACK_AHEAD_NS ? ts - STACK_AHEAD_NS : ts;
}

/* How many records may lie there, at the most: the smallest is as long as its header. */
static size_t bpf_most(uint64_t from, uint64_t to)
{
	enum { ENOUGH = 512 };
	uint64_t most = (to - from) / sizeof(struct pr_hdr) + 1;

	return most < ENOUGH ? (size_t)most : ENOUGH;
}

static void bpf_pull(struct source *s, record_vec *out)
{
	struct bpf_source *b = (struct bpf_source *)s;
	uint64_t prod = __atomic_load_n(&b->head->prod, __ATOMIC_ACQUIRE), seen = b->seen;

	while (seen < prod) {
		struct record *to, *end;

		vec_reserve(out, out->n + bpf_most(seen, prod));
		to = out->v + out->n;
		end = out->v + out->room;
		for (; seen < prod && to < end; to++) {
			const uint64_t *rec = at(b, seen);
			uint64_t hdr = __atomic_load_n(rec, __ATOMIC_ACQUIRE);
			uint32_t len = PR_LEN(hdr);

			if (hdr != ring_header(seen, b->salt, PR_KIND(hdr), len) || !len) {
				prod = seen; /* reserved, but not committed yet */
				break;
			}
			*to = (struct record){
				.ts = time_of(PR_KIND(hdr), ((const struct pr_hdr *)rec)->ts),
				.pos = seen,
				.data = rec,
				.len = len,
				.cpu = s->cpu,
				.type = RECORD_PROBE};
			seen += len;
		}
		out->n = (size_t)(to - out->v);
	}
	b->seen = seen;
}

static void bpf_release(struct source *s, uint64_t pos)
{
	struct bpf_source *b = (struct bpf_source *)s;

	if (pos > b->seen)
		pos = b->seen;
	b->done = pos;
	__atomic_store_n(&b->head->cons, b->done, __ATOMIC_RELEASE);
}

static void close_bpf(struct source *s)
{
	free(s);
}

static const struct source_ops bpf_ops = {
	.pull = bpf_pull, .release = bpf_release, .close = close_bpf};

struct source *source_bpf_new(void *ring, uint64_t size, uint32_t salt, uint16_t cpu)
{
	struct bpf_source *b = mem_zalloc(sizeof(*b));

	b->base = (struct source){.ops = &bpf_ops, .cpu = cpu};
	b->head = ring;
	b->data = (uint8_t *)ring + RING_HEAD;
	b->size = size;
	b->salt = salt;
	b->seen = b->done = __atomic_load_n(&b->head->cons, __ATOMIC_ACQUIRE);
	return &b->base;
}

uint64_t source_bpf_fill(const struct source *s)
{
	const struct bpf_source *b = (const struct bpf_source *)s;

	return __atomic_load_n(&b->head->prod, __ATOMIC_RELAXED) - b->done;
}
