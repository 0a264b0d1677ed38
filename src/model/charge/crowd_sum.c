// SPDX-License-Identifier: MIT
/*
 * Sums over crowds: what all waiters together lose to a part is its length times their number. To
 * count each wait once for a charge, a part counts only the waits that began after the charge's
 * previous part: a tree of the current waits, by when they began, gives their number.
 */
#include "model/charge/crowd.h"

#include <stdlib.h>

#include "base/search.h"

/* The current waits, at a moment that only moves forward. */
struct tide {
	const struct crowd *k;
	const bool *chosen;
	size_t started, ended; /* of all waits, those chosen or not */
	uint64_t n;	       /* wait now */
	uint64_t starts, ends; /* of the chosen so far: how many, and the sums of their times */
	uint64_t start_sum, end_sum;
	uint32_t *tree;	 /* of the current waits, by rank; NULL: counts are not needed */
	uint64_t *since; /* by rank */
	size_t size;
	uint32_t rank; /* of the first that began at the end of the previous part, or later */
};

static void tree_add(struct tide *t, uint32_t rank, int32_t by)
{
	for (size_t i = (size_t)rank + 1; i <= t->size; i += i & -i)
		t->tree[i] += (uint32_t)by;
}

/* How many of those who wait have a rank below this. */
static uint64_t tree_below(const struct tide *t, size_t rank)
{
	uint32_t sum = 0;

	for (size_t i = rank; i; i -= i & -i)
		sum += t->tree[i];
	return sum;
}

static void tide_init(struct tide *t, const struct crowd *k, const bool *chosen, bool numbers)
{
	*t = (struct tide){.k = k, .chosen = chosen, .size = k->waits.n};
	if (!numbers)
		return;
	t->tree = mem_zalloc((t->size + 1) * sizeof(*t->tree));
	t->since = mem_zalloc((t->size + 1) * sizeof(*t->since));
	for (size_t i = 0; i < t->size; i++)
		t->since[k->waits.v[i].rank] = k->waits.v[i].since;
	/* Equals have one rank, that of the first. */
	for (size_t i = 1; i < t->size; i++)
		if (!t->since[i])
			t->since[i] = t->since[i - 1];
}

static void tide_done(struct tide *t)
{
	free(t->tree);
	free(t->since);
}

/* Removes waits that have ended by then; tide_start() adds those that began before `to`. */
static void tide_end(struct tide *t, uint64_t ts)
{
	const struct crowd *k = t->k;

	for (; t->ended < t->size && k->waits.v[k->by_end[t->ended]].end <= ts; t->ended++) {
		const struct crowd_wait *w = &k->waits.v[k->by_end[t->ended]];

		if (!t->chosen[w->victim])
			continue;
		if (t->tree)
			tree_add(t, w->rank, -1);
		t->n--;
		t->ends++;
		t->end_sum += w->end;
	}
}

static void tide_start(struct tide *t, uint64_t to)
{
	const struct crowd *k = t->k;

	for (; t->started < t->size && k->waits.v[t->started].start < to; t->started++) {
		const struct crowd_wait *w = &k->waits.v[t->started];

		if (!t->chosen[w->victim])
			continue;
		if (t->tree)
			tree_add(t, w->rank, 1);
		t->n++;
		t->starts++;
		t->start_sum += w->start;
	}
}

/* Waited so far, of those that have begun and ended. */
static uint64_t tide_sum(const struct tide *t, uint64_t ts)
{
	return t->starts * ts - t->start_sum - (t->ends * ts - t->end_sum);
}

/* What is waited in a part. */
static uint64_t tide_part(struct tide *t, const struct crowd_part *p)
{
	uint64_t before;

	tide_end(t, p->start);
	tide_start(t, p->start);
	before = tide_sum(t, p->start);
	tide_start(t, p->end);
	tide_end(t, p->end);
	return tide_sum(t, p->end) - before;
}

/* How many began before that moment. */
static uint32_t tide_rank(const struct tide *t, uint64_t since)
{
	return (uint32_t)SEARCH(0, t->size, mid, t->since[mid] < since);
}

/* When the last part of a charge or hold ended: as a moment or, within one crowd, as a rank. */
struct last {
	uint64_t end;
	const struct crowd *crowd; /* that the rank is of */
	uint32_t rank;
};

struct lasts {
	struct last *charges, *holds;
};

/* How many current waits began at or after that end, and so are not counted yet. */
static uint64_t tide_count(const struct tide *t, const struct last *l)
{
	uint32_t rank = l->crowd == t->k ? l->rank : l->end ? tide_rank(t, l->end) : 0;

	return t->n - (rank ? tree_below(t, rank) : 0);
}

static void tide_pass(struct tide *t, uint64_t end)
{
	while (t->rank < t->size && t->since[t->rank] < end)
		t->rank++;
}

static void sum_before(const struct crowd *k, struct lasts *last)
{
	for (size_t i = 0; i < k->before.n; i++) {
		const struct crowd_before *b = &k->before.v[i];
		struct last *l = b->of & 1 ? &last->holds[b->of / 2] : &last->charges[b->of / 2];

		if (b->end > l->end)
			*l = (struct last){.end = b->end};
	}
}

static void sum_crowd(struct crowd_sums *s, const struct crowd *k, const bool *chosen,
		      struct lasts *last)
{
	struct tide t;
	uint64_t gone = 0; /* of what had ended before: see below */

	tide_init(&t, k, chosen, true);
	sum_before(k, last);
	for (size_t i = 0; i < k->parts.n; i++) {
		const struct crowd_part *p = &k->parts.v[i];
		struct crowd_hold_sum *h = &s->holds[p->hold / 4];
		uint64_t ns;

		/* A part's share is what the sums grow by between its start and its end. */
		tide_end(&t, p->start);
		tide_start(&t, p->start);
		gone = tide_sum(&t, p->start);
		tide_start(&t, p->end);
		if (t.n) {
			h->count += tide_count(&t, &last->holds[p->hold / 4]);
			if (p->charge != UINT32_MAX) {
				s->charges[p->charge].count +=
					tide_count(&t, &last->charges[p->charge]);
				s->charges[p->charge].parts += t.n;
			}
		}
		tide_end(&t, p->end);
		ns = tide_sum(&t, p->end) - gone;
		h->blamed += ns;
		h->doing[p->hold % 4] += ns;
		tide_pass(&t, p->end);
		last->holds[p->hold / 4] = (struct last){p->end, k, t.rank};
		if (p->charge != UINT32_MAX) {
			s->charges[p->charge].total += ns;
			last->charges[p->charge] = (struct last){p->end, k, t.rank};
		}
	}
	for (size_t i = 0; i < k->missed.n; i++)
		if (chosen[k->missed.v[i].victim])
			++*(k->missed.v[i].of & 1 ? &s->holds[k->missed.v[i].of / 2].count
						  : &s->charges[k->missed.v[i].of / 2].count);
	tide_done(&t);
}

void crowd_sums_init(struct crowd_sums *s, const struct chain *c, const bool *chosen)
{
	struct lasts last;

	*s = (struct crowd_sums){0};
	if (!c->crowds.n)
		return;
	s->charges = mem_zalloc((c->charges.n + 1) * sizeof(*s->charges));
	s->holds = mem_zalloc((c->holds.n + 1) * sizeof(*s->holds));
	last.charges = mem_zalloc((c->charges.n + 1) * sizeof(*last.charges));
	last.holds = mem_zalloc((c->holds.n + 1) * sizeof(*last.holds));
	for (size_t i = 0; i < c->crowds.n; i++)
		sum_crowd(s, &c->crowds.v[i], chosen, &last);
	free(last.charges);
	free(last.holds);
}

void crowd_sum_holds(const struct crowd *k, const bool *chosen, size_t n, struct crowd_sums *ret)
{
	struct lasts last = {.holds = mem_zalloc((n + 1) * sizeof(*last.holds))};

	*ret = (struct crowd_sums){.holds = mem_zalloc((n + 1) * sizeof(*ret->holds))};
	sum_crowd(ret, k, chosen, &last);
	free(last.holds);
}

void crowd_sums_done(struct crowd_sums *s)
{
	free(s->charges);
	free(s->holds);
	*s = (struct crowd_sums){0};
}

void crowd_totals(const struct chain *c, const bool *chosen, uint64_t *totals)
{
	for (size_t i = 0; i < c->crowds.n; i++) {
		const struct crowd *k = &c->crowds.v[i];
		struct tide t;

		tide_init(&t, k, chosen, false);
		for (size_t j = 0; j < k->parts.n; j++) {
			const struct crowd_part *p = &k->parts.v[j];

			if (p->charge != UINT32_MAX)
				totals[p->charge] += tide_part(&t, p);
		}
		tide_done(&t);
	}
}
