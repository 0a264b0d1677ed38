// SPDX-License-Identifier: MIT
/*
 * What each victim lost to some charges of crowds. A charge may have very many parts, and a wait
 * may be behind all of them: then running sums of their lengths are made once, and a wait looks
 * only at its first and its last part. Where a charge has few parts, or its waits meet few, each
 * wait goes through those that it meets.
 */
#include "model/charge/crowd.h"

#include <stdlib.h>

#include "base/search.h"

struct victim_sum {
	uint64_t total, count;
	uint64_t since; /* of the wait that was counted last */
};

struct victims {
	const bool *chosen;
	const uint32_t *slots; /* by charge, from 1 on; 0: not asked */
	size_t n;
	struct victim_sum *sums; /* by victim and slot */
};

/* Adjacent parts of one charge, merged. */
struct victim_part {
	uint64_t start, end;
	uint64_t before; /* total length of its charge's earlier parts */
	uint32_t slot;	 /* from 0 on */
};

struct victim_parts {
	VEC(struct victim_part) all; /* in the order of time */
	size_t *of;		     /* slot -> first of its own */
	struct victim_part *by_slot;
};

static void crowd_victims_add(struct victims *v, const struct crowd_wait *w, uint32_t slot,
			      uint64_t ns)
{
	struct victim_sum *s = &v->sums[w->victim * v->n + slot];

	s->total += ns;
	s->count += s->since != w->since;
	s->since = w->since;
}

static void find_parts(const struct victims *v, const struct crowd *k, struct victim_parts *p)
{
	for (size_t i = 0; i < k->parts.n; i++) {
		const struct crowd_part *of = &k->parts.v[i];
		uint32_t slot = of->charge != UINT32_MAX ? v->slots[of->charge] : 0;
		struct victim_part *last = p->all.n ? &p->all.v[p->all.n - 1] : NULL;

		if (slot && last && last->slot == slot - 1 && last->end == of->start)
			last->end = of->end;
		else if (slot)
			vec_push(&p->all, (struct victim_part){of->start, of->end, 0, slot - 1});
	}
}

static void spread_parts(const struct victims *v, struct victim_parts *p)
{
	p->of = mem_zalloc((v->n + 2) * sizeof(*p->of));
	p->by_slot = mem_alloc((p->all.n + 1) * sizeof(*p->by_slot));
	for (size_t i = 0; i < p->all.n; i++)
		p->of[p->all.v[i].slot + 2]++;
	for (size_t i = 1; i < v->n + 2; i++)
		p->of[i] += p->of[i - 1];
	for (size_t i = 0; i < p->all.n; i++)
		p->by_slot[p->of[p->all.v[i].slot + 1]++] = p->all.v[i];
	for (size_t i = 1; i < p->all.n; i++) {
		struct victim_part *to = &p->by_slot[i];

		if (to->slot == to[-1].slot)
			to->before = to[-1].before + to[-1].end - to[-1].start;
	}
}

/* The first of n that ends after that moment. */
static size_t part_at(const struct victim_part *p, size_t n, uint64_t ts)
{
	return SEARCH(0, n, mid, p[mid].end <= ts);
}

/* The length of n parts up to that moment. */
static uint64_t length_until(const struct victim_part *p, size_t n, uint64_t ts)
{
	size_t i = part_at(p, n, ts);

	if (i == n)
		return n ? p[n - 1].before + p[n - 1].end - p[n - 1].start : 0;
	return p[i].before + (ts > p[i].start ? ts - p[i].start : 0);
}

/* One charge with many parts. */
static void add_slot(struct victims *v, const struct crowd *k, const struct victim_part *p,
		     size_t n)
{
	for (size_t i = 0; i < k->waits.n; i++) {
		const struct crowd_wait *w = &k->waits.v[i];
		uint64_t ns;

		if (!v->chosen[w->victim] || p[n - 1].end <= w->start || p[0].start >= w->end)
			continue;
		ns = length_until(p, n, w->end) - length_until(p, n, w->start);
		if (ns)
			crowd_victims_add(v, w, p->slot, ns);
	}
}

/* All charges with few. */
static void add_others(struct victims *v, const struct crowd *k, const struct victim_part *p,
		       size_t n)
{
	size_t at = 0;

	for (size_t i = 0; i < k->waits.n && n; i++) {
		const struct crowd_wait *w = &k->waits.v[i];

		while (at < n && p[at].end <= w->start)
			at++;
		for (size_t j = at; v->chosen[w->victim] && j < n && p[j].start < w->end; j++) {
			uint64_t from = p[j].start > w->start ? p[j].start : w->start;

			crowd_victims_add(v, w, p[j].slot,
					  (p[j].end < w->end ? p[j].end : w->end) - from);
		}
	}
}

/* From here on a search is cheaper than a walk. */
enum { MANY_PARTS = 8 };

static void add_crowd(struct victims *v, const struct crowd *k)
{
	struct victim_parts p = {0};
	size_t few = 0;

	find_parts(v, k, &p);
	spread_parts(v, &p);
	for (size_t i = 0; i < p.all.n; i++) {
		uint32_t slot = p.all.v[i].slot;

		if (p.of[slot + 1] - p.of[slot] < MANY_PARTS)
			p.all.v[few++] = p.all.v[i];
	}
	add_others(v, k, p.all.v, few);
	for (size_t i = 0; i < v->n; i++)
		if (p.of[i + 1] - p.of[i] >= MANY_PARTS)
			add_slot(v, k, p.by_slot + p.of[i], p.of[i + 1] - p.of[i]);
	vec_done(&p.all);
	free(p.of);
	free(p.by_slot);
}

void crowd_victims(const struct chain *c, const bool *chosen, size_t threads, const uint32_t *slots,
		   size_t n, crowd_victim_fn fn, void *arg)
{
	struct victims v = {chosen, slots, n, mem_zalloc((n * threads + 1) * sizeof(*v.sums))};

	for (size_t i = 0; i < c->crowds.n; i++)
		add_crowd(&v, &c->crowds.v[i]);
	for (uint32_t i = 0; i < c->charges.n; i++)
		for (uint32_t t = 0; slots[i] && t < threads; t++) {
			const struct victim_sum *s = &v.sums[t * n + slots[i] - 1];

			if (s->total)
				fn(arg, i, t, s->total, s->count);
		}
	free(v.sums);
}
