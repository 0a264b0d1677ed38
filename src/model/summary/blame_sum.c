// SPDX-License-Identifier: MIT
/* Sums up rows of blame: one entry for each holder and lock, with all that the holder did. */
#include <stdlib.h>

#include "base/sort.h"
#include "model/summary/parts.h"

static uint64_t sum_key(const struct blame_row *r)
{
	return map_mix(map_mix((uint64_t)r->culprit->index * 2 + r->deadlock) + r->lock) * 31 +
	       r->first;
}

static struct blame_sum *blame_sum_find(struct summary *s, struct map *by_key,
					const struct blame_row *r)
{
	bool fresh;
	uint64_t *slot = map_put(by_key, sum_key(r), &fresh);
	struct blame_sum *sum;

	if (!fresh)
		return &s->blame.sums.v[*slot];
	*slot = s->blame.sums.n;
	sum = vec_add(&s->blame.sums);
	sum->culprit = r->culprit;
	sum->lock = r->lock;
	sum->first = r->first;
	sum->deadlock = r->deadlock;
	sum->function = UINT32_MAX;
	return sum;
}

static void add_victims(struct blame_sum *sum, size_t at, struct map *by_victim,
			const struct blame_row *r)
{
	for (size_t i = 0; i < r->victims.n; i++) {
		const struct blame_victim *v = &r->victims.v[i];
		bool fresh;
		uint64_t *slot = map_put(by_victim, (uint64_t)at << 32 | v->thread->index, &fresh);

		if (fresh) {
			*slot = sum->victims.n;
			vec_push(&sum->victims, (struct blame_victim){.thread = v->thread});
		}
		sum->victims.v[*slot].total += v->total;
		sum->victims.v[*slot].count += v->count;
	}
}

static int by_victim_total(const void *pa, const void *pb)
{
	const struct blame_victim *a = pa, *b = pb;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return (a->thread->index > b->thread->index) - (a->thread->index < b->thread->index);
}

static int by_sum_total(const void *pa, const void *pb)
{
	const struct blame_sum *a = pa, *b = pb;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	if (a->culprit != b->culprit)
		return a->culprit->index > b->culprit->index ? 1 : -1;
	if (a->lock != b->lock)
		return a->lock > b->lock ? 1 : -1;
	if (a->first != b->first)
		return a->first > b->first ? 1 : -1;
	return a->deadlock - b->deadlock;
}

void blame_sum_rows(struct summary *s)
{
	struct map by_key = {0}, by_victim = {0};

	for (size_t i = 0; i < s->blame.rows.n; i++) {
		const struct blame_row *r = &s->blame.rows.v[i];
		struct blame_sum *sum = blame_sum_find(s, &by_key, r);

		sum->total += r->total;
		sum->crowd |= r->crowd;
		doings_add(&sum->did, r->doing, r->reason, r->total);
		if (sum->function == UINT32_MAX && r->function != UINT32_MAX) {
			sum->function = r->function;
			sum->kstack = r->kstack;
			sum->ustack = r->ustack;
		}
		add_victims(sum, (size_t)(sum - s->blame.sums.v), &by_victim, r);
	}
	for (size_t i = 0; i < s->blame.sums.n; i++) {
		struct blame_sum *sum = &s->blame.sums.v[i];

		doings_order(&sum->did);
		sort_by(sum->victims.v, sum->victims.n, sizeof(*sum->victims.v), by_victim_total);
	}
	sort_by(s->blame.sums.v, s->blame.sums.n, sizeof(*s->blame.sums.v), by_sum_total);
	map_done(&by_key);
	map_done(&by_victim);
}
