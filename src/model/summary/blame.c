// SPDX-License-Identifier: MIT
/*
 * Sums up charges of the chosen victims by culprit and place: the same functions, whatever the
 * addresses in them. The place of a culprit that ran is where its samples found it; without
 * samples, where it released the lock.
 *
 * For crowds (chain.h) all sums are known, but nearly all threads are victims of each of very many
 * rows. Victims are listed only for the largest rows, as many as can be found in a short time.
 */
#include <stdlib.h>

#include "base/search.h"
#include "base/sort.h"
#include "model/charge/chain.h"
#include "model/wait/classify.h"
#include "model/charge/crowd.h"
#include "model/summary/parts.h"

static int blame_descending(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

/* The votes of one charge or hold: they are sorted. */
size_t votes_of(const struct chain *c, uint32_t of, const struct vote **ret)
{
	size_t lo = SEARCH(0, c->votes.n, mid, c->votes.v[mid].of < of), n = 0;

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

/* All samples together stand for `running` ns. */
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

/* Of a row's charges of crowds. */
struct row_size {
	size_t charges;
	uint64_t parts;
};

/* Limits for the victims of crowds: parts of waits to look at, and sums to keep meanwhile. */
#define CROWD_PARTS (1u << 24)
#define CROWD_VICTIMS (1u << 20)

struct rows {
	struct summary *s;
	const bool *chosen;
	struct map by_key;
	struct map by_victim;	   /* row and thread -> place in its victims */
	VEC(uint64_t) best;	   /* by row: the largest charge in it so far */
	VEC(uint32_t) best_charge; /* and which it was */
	VEC(uint64_t) crowd_best;  /* the same of crowds, by all victims together */
	VEC(uint32_t) crowd_charge;
	VEC(struct row_size) sizes;
};

enum reason charge_reason(const struct model *m, const struct charge *c)
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
	/* Chained, because a plain sum of hashes is the same when two are exchanged. */
	return map_mix(map_mix(map_mix(map_mix(place) + c->culprit + 1) + (uint64_t)lock * 64 +
			       c->doing * 8u + c->deadlock) +
		       first * 64 + charge_reason(m, c));
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
	vec_push(&t->crowd_best, 0);
	vec_push(&t->crowd_charge, 0);
	vec_push(&t->sizes, (struct row_size){0});
	return (uint32_t)*slot;
}

/* Adds to the victim's sums in that row; the caller adds to the row's own totals. */
static void add_victim(struct rows *t, uint32_t row, uint32_t victim, uint64_t total,
		       uint64_t count)
{
	struct blame_row *r = &t->s->blame.rows.v[row];
	bool fresh;
	uint64_t *slot = map_put(&t->by_victim, (uint64_t)row << 32 | victim, &fresh);
	struct blame_victim *to;

	if (fresh) {
		*slot = r->victims.n;
		vec_push(&r->victims,
			 (struct blame_victim){.thread = t->s->model->timeline.threads.v[victim]});
	}
	to = &r->victims.v[*slot];
	to->total += total;
	to->count += count;
	if (to->total > r->max)
		r->max = to->total;
}

static void take_best(struct rows *t, uint32_t row, uint32_t charge, uint64_t total)
{
	if (total < t->best.v[row])
		return;
	t->best.v[row] = total;
	t->best_charge.v[row] = charge;
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
	int c = blame_descending(a->total, b->total);

	return c ? c
		 : (a->thread->index > b->thread->index) - (a->thread->index < b->thread->index);
}

static int by_total(const void *pa, const void *pb)
{
	const struct blame_row *a = pa, *b = pb;
	int c = blame_descending(a->total, b->total);

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

static bool blame_counts(const struct summary *s, uint32_t lock)
{
	return lock_has_holders(locks_at(&s->model->locks, lock + 1)) &&
	       summary_lock(s, lock) != SIZE_MAX;
}

static uint32_t add_to_row(struct rows *t, uint32_t charge, uint64_t total, uint64_t count)
{
	struct summary *s = t->s;
	const struct charge *ch = &s->model->chain.charges.v[charge];
	uint32_t row = row_of(t, ch, summary_lock(s, ch->lock), summary_lock(s, ch->first));
	struct blame_row *r = &s->blame.rows.v[row];

	s->blame.rows_of[charge] = row + 1;
	r->total += total;
	r->count += count;
	r->depth = ch->depth > r->depth ? ch->depth : r->depth;
	s->blame.charged += total;
	return row;
}

static void add_charges(struct rows *t)
{
	struct summary *s = t->s;
	const struct chain *c = &s->model->chain;

	for (size_t i = 0; i < c->victims.n; i++) {
		const struct charge_victim *v = &c->victims.v[i];
		uint32_t row;

		if (!t->chosen[v->victim] || !blame_counts(s, c->charges.v[v->charge].first))
			continue;
		row = add_to_row(t, v->charge, v->total, v->count);
		add_victim(t, row, v->victim, v->total, v->count);
		take_best(t, row, v->charge, v->total);
	}
	for (size_t i = 0; i < c->hold_victims.n; i++) {
		const struct hold_victim *v = &c->hold_victims.v[i];
		const struct hold *h = &c->holds.v[v->hold];

		if (t->chosen[v->victim] && !h->holder && blame_counts(s, h->lock))
			s->blame.unknown += v->blamed;
	}
}

/* ---- crowds ---- */

static void add_crowds(struct rows *t)
{
	struct summary *s = t->s;
	const struct chain *c = &s->model->chain;

	for (uint32_t i = 0; i < c->charges.n; i++) {
		const struct crowd_charge_sum *sum = &s->crowds.charges[i];
		uint32_t row;

		if (!sum->total || !blame_counts(s, c->charges.v[i].first))
			continue;
		row = add_to_row(t, i, sum->total, sum->count);
		s->blame.rows.v[row].crowd = true;
		t->sizes.v[row].charges++;
		t->sizes.v[row].parts += sum->parts;
		if (sum->total >= t->crowd_best.v[row]) {
			t->crowd_best.v[row] = sum->total;
			t->crowd_charge.v[row] = i;
		}
	}
	for (size_t i = 0; i < c->holds.n; i++)
		if (!c->holds.v[i].holder && s->crowds.holds[i].blamed &&
		    blame_counts(s, c->holds.v[i].lock))
			s->blame.unknown += s->crowds.holds[i].blamed;
}

static int by_row_total(const void *pa, const void *pb, void *arg)
{
	const struct blame_row *rows = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;
	int c = by_total(&rows[a], &rows[b]);

	return c ? c : (a > b) - (a < b);
}

static void tell_victim(void *arg, uint32_t charge, uint32_t victim, uint64_t total, uint64_t count)
{
	struct rows *t = arg;
	const struct chain *c = &t->s->model->chain;
	uint32_t row = t->s->blame.rows_of[charge] - 1;
	const uint64_t *alone = map_get(&c->by_victim, (uint64_t)charge << 32 | victim);

	add_victim(t, row, victim, total, count);
	take_best(t, row, charge, total + (alone ? c->victims.v[*alone].total : 0));
}

/* Lists the victims of the largest rows within the limits; of the first row always. */
static void tell_victims(struct rows *t)
{
	struct summary *s = t->s;
	const struct chain *c = &s->model->chain;
	size_t n = s->blame.rows.n, threads = s->model->timeline.threads.n, slots = 0;
	uint32_t *order = mem_alloc((n + 1) * sizeof(*order));
	uint32_t *slot_of = mem_zalloc((c->charges.n + 1) * sizeof(*slot_of));
	uint64_t parts = 0;

	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	sort_with(order, n, sizeof(*order), by_row_total, s->blame.rows.v);
	for (size_t i = 0; i < n; i++) {
		const struct row_size *size = &t->sizes.v[order[i]];

		if (!size->charges)
			continue;
		if (slots && (parts + size->parts > CROWD_PARTS ||
			      (slots + size->charges) * threads > CROWD_VICTIMS))
			break;
		parts += size->parts;
		slots += size->charges;
		s->blame.rows.v[order[i]].crowd = false;
	}
	slots = 0;
	for (uint32_t i = 0; i < c->charges.n; i++)
		if (s->blame.rows_of[i] && s->crowds.charges[i].total &&
		    !s->blame.rows.v[s->blame.rows_of[i] - 1].crowd)
			slot_of[i] = (uint32_t)++slots;
	crowd_victims(c, t->chosen, threads, slot_of, slots, tell_victim, t);
	for (size_t i = 0; i < n; i++)
		if (s->blame.rows.v[i].crowd) {
			s->blame.rows.v[i].max = 0;
			t->best_charge.v[i] = t->crowd_charge.v[i];
		}
	free(order);
	free(slot_of);
}

/* Sorts the rows and renumbers what refers to them. */
static void sort_rows(struct summary *s)
{
	size_t n = s->blame.rows.n;
	uint32_t *now = mem_alloc((n + 1) * sizeof(*now));

	for (uint32_t i = 0; i < n; i++)
		s->blame.rows.v[i].made = i;
	sort_by(s->blame.rows.v, n, sizeof(*s->blame.rows.v), by_total);
	for (uint32_t i = 0; i < n; i++)
		now[s->blame.rows.v[i].made] = i;
	for (size_t i = 0; i < s->model->chain.charges.n; i++)
		if (s->blame.rows_of[i])
			s->blame.rows_of[i] = now[s->blame.rows_of[i] - 1] + 1;
	free(now);
}

void summary_blame(struct summary *s, const bool *chosen)
{
	struct rows t = {.s = s, .chosen = chosen};

	s->blame.rows_of = mem_zalloc((s->model->chain.charges.n + 1) * sizeof(*s->blame.rows_of));
	add_charges(&t);
	if (s->crowds.charges) {
		add_crowds(&t);
		tell_victims(&t);
	}
	s->blame.waited = s->blame.charged + s->blame.unknown;
	for (size_t i = 0; i < s->blame.rows.n; i++) {
		struct blame_row *r = &s->blame.rows.v[i];

		find_place(&t, i);
		sort_by(r->victims.v, r->victims.n, sizeof(*r->victims.v), by_victim);
	}
	sort_rows(s);
	blame_sum_rows(s);
	map_done(&t.by_key);
	map_done(&t.by_victim);
	vec_done(&t.best);
	vec_done(&t.best_charge);
	vec_done(&t.crowd_best);
	vec_done(&t.crowd_charge);
	vec_done(&t.sizes);
}
