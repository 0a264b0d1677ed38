// SPDX-License-Identifier: MIT
/*
 * perf writes what it finds in one CPU's buffer, then in the next one's: records are in order for
 * each CPU, not for all. When perf has been through all buffers it says so (FINISHED_ROUND). No
 * later record is older than those before the previous such mark. So records wait for two rounds,
 * and no longer.
 *
 * A file may break that rule, or have no such marks: when more than QUEUE_MAX records wait, or they
 * take too much memory, the older half goes on. Still older records come late.
 */
#include <stdlib.h>
#include <string.h>

#include "import/perfdata.h"

#define QUEUE_MAX (2u << 20)
#define BYTES_MAX (192u << 20)

struct order_entry {
	uint64_t ts;
	struct pd_block *block;
	uint32_t at;
};

struct pd_order {
	pd_record_fn *fn;
	void *ctx;
	VEC(struct order_entry) q;
	VEC(struct order_entry) spare;
	VEC(size_t) runs; /* where each begins */
	uint64_t max_ts, flush_ts;
	size_t bytes; /* of the blocks in which they lie */
};

struct pd_order *pd_order_new(pd_record_fn *fn, void *ctx)
{
	struct pd_order *o = mem_zalloc(sizeof(*o));

	o->fn = fn;
	o->ctx = ctx;
	return o;
}

void pd_order_free(struct pd_order *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->q.n; i++)
		pd_block_put(o->q.v[i].block);
	vec_done(&o->q);
	vec_done(&o->spare);
	vec_done(&o->runs);
	free(o);
}

/* ---- sorting: there are as many sorted runs as there are CPUs ---- */

static void perfdata_order_merge(struct order_entry *to, const struct order_entry *a, size_t na,
				 const struct order_entry *b, size_t nb)
{
	while (na && nb) {
		if (b->ts < a->ts) {
			*to++ = *b++;
			nb--;
		} else {
			*to++ = *a++;
			na--;
		}
	}
	memcpy(to, a, na * sizeof(*a));
	memcpy(to + na, b, nb * sizeof(*b));
}

static void find_runs(struct pd_order *o)
{
	o->runs.n = 0;
	vec_push(&o->runs, 0);
	for (size_t i = 1; i < o->q.n; i++)
		if (o->q.v[i].ts < o->q.v[i - 1].ts)
			vec_push(&o->runs, i);
	vec_push(&o->runs, o->q.n);
}

static void swap(struct pd_order *o)
{
	struct order_entry *v = o->q.v;
	size_t room = o->q.room;

	o->q.v = o->spare.v;
	o->q.room = o->spare.room;
	o->spare.v = v;
	o->spare.room = room;
}

static void perfdata_order_sort(struct pd_order *o)
{
	find_runs(o);
	while (o->runs.n > 2) {
		size_t n = 0, i;

		vec_reserve(&o->spare, o->q.n);
		for (i = 0; i + 2 < o->runs.n; i += 2) {
			size_t a = o->runs.v[i], b = o->runs.v[i + 1], c = o->runs.v[i + 2];

			perfdata_order_merge(o->spare.v + a, o->q.v + a, b - a, o->q.v + b, c - b);
			o->runs.v[n++] = a;
		}
		if (i + 1 < o->runs.n) {
			size_t a = o->runs.v[i];

			memcpy(o->spare.v + a, o->q.v + a, (o->q.n - a) * sizeof(*o->q.v));
			o->runs.v[n++] = a;
		}
		o->runs.v[n++] = o->q.n;
		o->runs.n = n;
		o->spare.n = o->q.n;
		swap(o);
	}
}

/* ---- passing on ---- */

static void pass(struct pd_order *o, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct order_entry *e = &o->q.v[i];
		const uint8_t *rec = e->block->data + e->at;
		struct perf_event_header h;

		memcpy(&h, rec, sizeof(h));
		o->fn(o->ctx, rec, h.size, e->ts);
		if (!--e->block->queued)
			o->bytes -= e->block->room;
		pd_block_put(e->block);
	}
	o->q.n -= n;
	if (n && o->q.n)
		memmove(o->q.v, o->q.v + n, o->q.n * sizeof(*o->q.v));
}

void pd_order_put(struct pd_order *o, uint64_t ts, struct pd_block *b, const uint8_t *rec)
{
	vec_push(&o->q,
		 (struct order_entry){.ts = ts, .block = b, .at = (uint32_t)(rec - b->data)});
	pd_block_hold(b);
	if (!b->queued++)
		o->bytes += b->room;
	if (ts > o->max_ts)
		o->max_ts = ts;
	if (o->q.n >= QUEUE_MAX || o->bytes >= BYTES_MAX) {
		perfdata_order_sort(o);
		pass(o, o->q.n / 2 + 1);
		/* If an old record keeps each block in memory, pass all records on. */
		if (o->bytes >= BYTES_MAX / 4 * 3)
			pd_order_drain(o);
	}
}

void pd_order_round(struct pd_order *o)
{
	size_t n = 0;

	perfdata_order_sort(o);
	while (n < o->q.n && o->q.v[n].ts <= o->flush_ts)
		n++;
	pass(o, n);
	o->flush_ts = o->max_ts;
}

void pd_order_drain(struct pd_order *o)
{
	perfdata_order_sort(o);
	pass(o, o->q.n);
}
