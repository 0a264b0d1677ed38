// SPDX-License-Identifier: MIT
/*
 * Charges, for the victims chosen, by culprit and place: the same functions, whatever the addresses
 * in them. A culprit that ran is where its samples of that time found it; if there were none, where
 * it let go of the lock.
 */
#include <stdlib.h>

#include "model/chain.h"
#include "model/classify.h"
#include "model/parts.h"

static int descending(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

/* The votes of one charge or hold: they are sorted. */
static size_t votes_of(const struct chain *c, uint32_t of, const struct vote **ret)
{
	size_t lo = 0, hi = c->votes.n, n = 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (c->votes.v[mid].of < of)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret = c->votes.v + lo;
	while (lo + n < c->votes.n && c->votes.v[lo + n].of == of)
		n++;
	return n;
}

static struct where vote_where(const struct tally *t, const struct vote *v)
{
	if (v->sample)
		return (struct where){HELD_BY_SAMPLE, t->samples.v[v->row].kstack,
				      t->samples.v[v->row].ustack};
	return (struct where){HELD_BY_WAIT, t->waits.v[v->row].kstack, t->waits.v[v->row].ustack};
}

/* Samples stand for `running` ns together. */
struct where where_of_votes(struct summary *s, uint32_t of, uint64_t running)
{
	struct model *m = s->model;
	const struct vote *v;
	size_t n = votes_of(&m->chain, of, &v);
	struct map by_place = {0};
	struct where best = {0};
	uint64_t samples = 0, most = 0;

	for (size_t i = 0; i < n; i++)
		samples += v[i].sample ? v[i].weight : 0;
	for (size_t i = 0; i < n; i++) {
		struct where at = vote_where(&m->tally, &v[i]);
		uint64_t place = classify_place(&m->classify, at.kstack, at.ustack), *sum;
		uint64_t weight = v[i].sample ? (uint64_t)((double)running * (double)v[i].weight /
							   (double)samples)
					      : v[i].weight;

		if (!place)
			continue;
		sum = map_put(&by_place, place, NULL);
		*sum += weight + 1;
		if (*sum > most) {
			most = *sum;
			best = at;
		}
	}
	map_done(&by_place);
	return best;
}

struct rows {
	struct summary *s;
	struct map by_key;
	struct map by_victim;	   /* row and thread -> place in its victims */
	VEC(uint64_t) best;	   /* by row: the largest charge in it so far */
	VEC(uint32_t) best_charge; /* and which it was */
};

static enum reason charge_reason(const struct model *m, const struct charge *c)
{
	if (c->doing == INTERVAL_WAITING)
		return m->tally.waits.v[c->row].verdict.reason;
	if (c->doing == INTERVAL_RUNNABLE)
		return c->row ? REASON_THROTTLED : REASON_RUN_QUEUE;
	return REASON_UNKNOWN;
}

static uint64_t row_key(struct model *m, const struct charge *c, size_t lock, size_t first)
{
	uint64_t place = 0;

	if (c->doing == INTERVAL_WAITING)
		place = classify_place(&m->classify, m->tally.waits.v[c->row].kstack,
				       m->tally.waits.v[c->row].ustack);
	return map_mix(map_mix(map_mix(place) + c->culprit) + (uint64_t)lock * 64 + c->doing * 8u +
		       c->deadlock) +
	       map_mix(first * 64 + charge_reason(m, c));
}

static uint32_t row_of(struct rows *t, const struct charge *c, size_t lock, size_t first)
{
	struct summary *s = t->s;
	bool fresh;
	uint64_t *slot = map_put(&t->by_key, row_key(s->model, c, lock, first), &fresh);
	struct blame_row *r;

	if (!fresh)
		return (uint32_t)*slot;
	*slot = s->blame.rows.n;
	r = vec_add(&s->blame.rows);
	r->culprit = s->model->timeline.threads.v[c->culprit];
	r->doing = c->doing;
	r->reason = charge_reason(s->model, c);
	r->lock = lock;
	r->first = first;
	r->deadlock = c->deadlock;
	r->function = UINT32_MAX;
	vec_push(&t->best, 0);
	vec_push(&t->best_charge, 0);
	return (uint32_t)*slot;
}

static void add_victim(struct rows *t, uint32_t row, const struct charge_victim *v)
{
	struct blame_row *r = &t->s->blame.rows.v[row];
	bool fresh;
	uint64_t *slot = map_put(&t->by_victim, (uint64_t)row << 32 | v->victim, &fresh);
	struct blame_victim *to;

	if (fresh) {
		*slot = r->victims.n;
		vec_push(&r->victims,
			 (struct blame_victim){.thread =
						       t->s->model->timeline.threads.v[v->victim]});
	}
	to = &r->victims.v[*slot];
	to->total += v->total;
	to->count += v->count;
	r->total += v->total;
	r->count += v->count;
	if (to->total > r->max)
		r->max = to->total;
}

static void find_place(struct rows *t, size_t i)
{
	struct summary *s = t->s;
	struct model *m = s->model;
	struct blame_row *r = &s->blame.rows.v[i];
	const struct charge *c = &m->chain.charges.v[t->best_charge.v[i]];
	struct where at = {0};

	if (r->doing == INTERVAL_WAITING)
		at = (struct where){HELD_BY_WAIT, m->tally.waits.v[c->row].kstack,
				    m->tally.waits.v[c->row].ustack};
	else if (r->doing == INTERVAL_RUNNING)
		at = where_of_votes(s, t->best_charge.v[i] * 2, r->total);
	if (!at.kstack && !at.ustack && r->doing != INTERVAL_LOST) {
		uint32_t hold = chain_hold(&m->chain, c->lock, c->culprit + 1);
		const struct hold *h = &m->chain.holds.v[hold];

		at = (struct where){HELD_BY_RELEASE, h->release_kstack, h->release_ustack};
	}
	r->by = at.kstack || at.ustack ? at.by : HELD_BY_NOTHING;
	r->kstack = at.kstack;
	r->ustack = at.ustack;
	if (r->by != HELD_BY_NOTHING)
		r->function = where_function(&m->names, at.kstack, at.ustack);
}

static int by_victim(const void *pa, const void *pb)
{
	const struct blame_victim *a = pa, *b = pb;
	int c = descending(a->total, b->total);

	return c ? c
		 : (a->thread->index > b->thread->index) - (a->thread->index < b->thread->index);
}

static int by_total(const void *pa, const void *pb)
{
	const struct blame_row *a = pa, *b = pb;
	int c = descending(a->total, b->total);

	if (!c)
		c = (a->culprit->index > b->culprit->index) -
		    (a->culprit->index < b->culprit->index);
	if (!c)
		c = (a->lock > b->lock) - (a->lock < b->lock);
	if (!c)
		c = (a->first > b->first) - (a->first < b->first);
	if (!c)
		c = (a->doing > b->doing) - (a->doing < b->doing);
	if (!c)
		c = (a->kstack > b->kstack) - (a->kstack < b->kstack);
	return c ? c : (a->ustack > b->ustack) - (a->ustack < b->ustack);
}

static bool counts(const struct summary *s, uint32_t lock)
{
	return lock_has_holders(locks_at(&s->model->locks, lock + 1)) &&
	       summary_lock(s, lock) != SIZE_MAX;
}

static void add_charges(struct rows *t, const bool *chosen)
{
	struct summary *s = t->s;
	const struct chain *c = &s->model->chain;

	for (size_t i = 0; i < c->victims.n; i++) {
		const struct charge_victim *v = &c->victims.v[i];
		const struct charge *ch = &c->charges.v[v->charge];
		size_t lock;
		uint32_t row;

		if (!chosen[v->victim] || !counts(s, ch->first))
			continue;
		lock = summary_lock(s, ch->lock);
		row = row_of(t, ch, lock, summary_lock(s, ch->first));
		add_victim(t, row, v);
		if (ch->depth > s->blame.rows.v[row].depth)
			s->blame.rows.v[row].depth = ch->depth;
		if (v->total >= t->best.v[row]) {
			t->best.v[row] = v->total;
			t->best_charge.v[row] = v->charge;
		}
		s->blame.charged += v->total;
	}
	for (size_t i = 0; i < c->hold_victims.n; i++) {
		const struct hold_victim *v = &c->hold_victims.v[i];
		const struct hold *h = &c->holds.v[v->hold];

		if (chosen[v->victim] && !h->holder && counts(s, h->lock))
			s->blame.unknown += v->blamed;
	}
	s->blame.waited = s->blame.charged + s->blame.unknown;
}

void summary_blame(struct summary *s, const bool *chosen)
{
	struct rows t = {.s = s};

	add_charges(&t, chosen);
	for (size_t i = 0; i < s->blame.rows.n; i++) {
		struct blame_row *r = &s->blame.rows.v[i];

		find_place(&t, i);
		qsort(r->victims.v, r->victims.n, sizeof(*r->victims.v), by_victim);
	}
	if (s->blame.rows.n)
		qsort(s->blame.rows.v, s->blame.rows.n, sizeof(*s->blame.rows.v), by_total);
	map_done(&t.by_key);
	map_done(&t.by_victim);
	vec_done(&t.best);
	vec_done(&t.best_charge);
}
