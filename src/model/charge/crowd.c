// SPDX-License-Identifier: MIT
/*
 * Charges the waits behind a lock for which many threads wait: see struct crowd.
 *
 * First the lock's time is cut into parts, by following the reference wait: an imaginary one that
 * lasts all the time (gather). Then each wait is laid over the parts. Two stretches are followed
 * alone: where the waiter is itself on the chain of a part, and where its wait ends before the next
 * sign of the lock, so that another thread seems to hold it. The rest goes to the crowd. Counts
 * stay exact: a wait counts once for a charge, whether found in the crowd, alone, or both.
 */
#include <stdlib.h>

#include "base/sort.h"
#include "model/charge/crowd.h"
#include "model/charge/gather.h"

/* ---- one wait ---- */

/* Charges [from, to) of the current wait alone, outside of the crowd. */
static void go_alone(struct gather *g, const struct note *n, uint64_t from, uint64_t to)
{
	struct holder_walk *w = g->w;

	w->lo = from;
	w->hi = to;
	w->among = g;
	w->on[0] = w->victim;
	w->depth = 1;
	follow(w, g->lock, n, n->start, n->end);
	w->among = NULL;
	w->lo = 0;
	w->hi = UINT64_MAX;
}

static bool is_on_chain(const struct gather *g, uint32_t victim, uint32_t part)
{
	size_t i = gather_find(g->chains.v, g->chains.n, victim, part);

	return i < g->chains.n && g->chains.v[i].key == victim && g->chains.v[i].part == part;
}

/* Only waits that differ from the crowd look parts up by charge or hold: built on first use. */
static void make_by_of(struct gather *g)
{
	if (g->has_by_of)
		return;
	g->has_by_of = true;
	for (uint32_t i = 0; i < g->parts.n; i++) {
		const struct gathered *p = &g->parts.v[i];

		if (p->charge != UINT32_MAX)
			vec_push(&g->by_of, (struct at_part){p->charge * 2, i});
		vec_push(&g->by_of, (struct at_part){p->hold * 2 + 1, i});
	}
	gather_sort(g->by_of.v, g->by_of.n);
}

bool crowd_counts(struct holder_walk *w, uint32_t of)
{
	struct gather *g = w->among;

	make_by_of(g);
	for (size_t k = g->wait_from; k < g->waits.n; k++) {
		const struct crowd_wait *cw = &g->waits.v[k];
		size_t first = gather_at(g, cw->start), i;

		i = gather_find(g->by_of.v, g->by_of.n, of, (uint32_t)first);
		if (i < g->by_of.n && g->by_of.v[i].key == of &&
		    g->parts.v[g->by_of.v[i].part].start < cw->end)
			return true;
	}
	return false;
}

/*
 * The crowd's sums count a wait for a charge at the first such part after the wait began. True if
 * they miss this wait, because its thread is on that part's chain. `part` is such a part; the wait
 * stays in the crowd until `until`.
 */
static bool is_missed(struct gather *g, const struct charged_wait *lw, uint32_t of, uint64_t ended,
		      uint32_t part, uint64_t until)
{
	uint32_t victim = g->w->victim;
	size_t i;

	make_by_of(g);
	i = gather_find(g->by_of.v, g->by_of.n, of, part);
	if (ended > lw->since)
		return false;
	if (i && g->by_of.v[i - 1].key == of && g->parts.v[g->by_of.v[i - 1].part].end > lw->since)
		return false;
	for (i++; i < g->by_of.n && g->by_of.v[i].key == of; i++) {
		if (g->parts.v[g->by_of.v[i].part].start >= until)
			return false;
		if (!is_on_chain(g, victim, g->by_of.v[i].part))
			return true;
	}
	return false;
}

static void count_missed(struct gather *g, const struct charged_wait *lw, uint32_t part,
			 uint64_t until)
{
	struct chain *c = g->w->c;
	const struct gathered *p = &g->parts.v[part];
	const struct hold *h = &c->holds.v[p->hold];

	if (p->charge != UINT32_MAX &&
	    is_missed(g, lw, p->charge * 2, c->charges.v[p->charge].crowd_end, part, until))
		vec_push(&g->missed, (struct crowd_missed){p->charge * 2, g->w->victim});
	if (is_missed(g, lw, p->hold * 2 + 1, h->crowd_end, part, until))
		vec_push(&g->missed, (struct crowd_missed){p->hold * 2 + 1, g->w->victim});
}

static void crowd_add_wait(struct gather *g, uint64_t from, uint64_t to)
{
	const struct holder_walk *w = g->w;

	if (from < to)
		vec_push(&g->waits, (struct crowd_wait){from, to, w->since, w->victim, 0});
}

/* The next part with the waiter on its chain, from `at` on, that begins before `until`. */
static const struct gathered *next_own(const struct gather *g, size_t at, uint32_t victim,
				       uint64_t until)
{
	const struct gathered *p;

	if (at >= g->chains.n || g->chains.v[at].key != victim)
		return NULL;
	p = &g->parts.v[g->chains.v[at].part];
	return p->start < until ? p : NULL;
}

/* The crowd comes first: what a wait counts for alone depends on what it counts for there. */
static void charge_one(struct gather *g, const struct charged_wait *lw)
{
	struct holder_walk *w = g->w;
	const struct note *n = &w->c->notes.v[lw->note];
	uint64_t parts = follow_parts(w, g->lock, n->start, n->end, g->to), from = n->start;
	uint32_t first = (uint32_t)gather_near(g, &g->start_at, from);
	size_t own = gather_find(g->chains.v, g->chains.n, n->thread, first);
	const struct gathered *p;

	charge_begin(w, lw);
	g->wait_from = g->waits.n;
	for (size_t i = own; (p = next_own(g, i, n->thread, parts)); i++) {
		count_missed(g, lw, g->chains.v[i].part, parts);
		crowd_add_wait(g, from, p->start);
		from = p->end < parts ? p->end : parts;
	}
	crowd_add_wait(g, from, parts);
	from = n->start;
	for (size_t i = own; (p = next_own(g, i, n->thread, parts)); i++) {
		uint64_t start = p->start > from ? p->start : from;
		uint64_t end = p->end < parts ? p->end : parts;

		gather_pieces(g, from, start);
		if (start < end)
			go_alone(g, n, start, end);
		from = end;
	}
	gather_pieces(g, from, parts);
	if (parts < n->end)
		go_alone(g, n, parts, n->end);
	charge_take_piece(w);
}

/* ---- what is kept ---- */

/* The waits by start; `by` has room for as many. */
static void order_by_start(struct crowd *k, struct sort_key *by)
{
	size_t n = k->waits.n;
	struct crowd_wait *sorted = mem_alloc((n + 1) * sizeof(*sorted));

	for (uint32_t i = 0; i < n; i++)
		by[i] = (struct sort_key){k->waits.v[i].start, i};
	sort_keys(by, n);
	for (size_t i = 0; i < n; i++)
		sorted[i] = k->waits.v[by[i].at];
	free(k->waits.v);
	k->waits.v = sorted;
	k->waits.room = n + 1;
}

void crowd_order(struct crowd *k)
{
	size_t n = k->waits.n;
	struct sort_key *by = mem_alloc((n + 1) * sizeof(*by));

	order_by_start(k, by);
	for (uint32_t i = 0; i < n; i++)
		by[i] = (struct sort_key){k->waits.v[i].end, i};
	sort_keys(by, n);
	k->by_end = mem_alloc((n + 1) * sizeof(*k->by_end));
	for (size_t i = 0; i < n; i++)
		k->by_end[i] = by[i].at;
	for (uint32_t i = 0; i < n; i++)
		by[i] = (struct sort_key){k->waits.v[i].since, i};
	sort_keys(by, n);
	/* Equals have one rank, that of the first. */
	for (uint32_t i = 0, rank = 0; i < n; i++) {
		rank = i && by[i].key == by[i - 1].key ? rank : i;
		k->waits.v[by[i].at].rank = rank;
	}
	free(by);
}

/*
 * How many of the crowd wait at a moment, and their total waiting until then. Moments must only
 * grow.
 */
struct waited {
	const struct crowd *k;
	size_t started, ended;
	uint64_t starts, ends; /* sums of these */
};

static uint64_t waited_until(struct waited *a, uint64_t ts)
{
	const struct crowd *k = a->k;

	for (; a->started < k->waits.n && k->waits.v[a->started].start <= ts; a->started++)
		a->starts += k->waits.v[a->started].start;
	for (; a->ended < k->waits.n && k->waits.v[k->by_end[a->ended]].end <= ts; a->ended++)
		a->ends += k->waits.v[k->by_end[a->ended]].end;
	return a->started * ts - a->starts - (a->ended * ts - a->ends);
}

static void vote_samples(struct gather *g, struct waited *at, const struct gathered *p)
{
	struct holder_walk *w = g->w;
	const struct note_sample *s;
	size_t n = charge_samples(w->ix, p->culprit - 1, p->start, p->end, &s);

	for (size_t i = 0; i < n; i++) {
		waited_until(at, s[i].ts);
		if (at->started == at->ended)
			continue;
		charge_vote(w->c, p->charge * 2, s[i].row, true, at->started - at->ended);
		if (p->depth == 1)
			charge_vote(w->c, p->hold * 2 + 1, s[i].row, true, at->started - at->ended);
	}
}

static void crowd_vote(struct gather *g, const struct crowd *k)
{
	struct chain *c = g->w->c;
	struct waited at = {.k = k}, in = {.k = k};

	for (size_t i = 0; i < g->parts.n; i++) {
		const struct gathered *p = &g->parts.v[i];
		uint64_t before = waited_until(&at, p->start), ns;
		struct charge *ch = p->charge != UINT32_MAX ? &c->charges.v[p->charge] : NULL;

		ns = waited_until(&at, p->end) - before;
		if (!ns)
			continue; /* all waiters are on its chain */
		if (p->hold_doing == INTERVAL_WAITING)
			charge_vote(c, p->hold * 2 + 1, p->row, false, ns);
		if (ch && p->depth > ch->depth)
			ch->depth = p->depth;
		if (ch && ch->doing == INTERVAL_RUNNING)
			vote_samples(g, &in, p);
	}
}

static void note_before(struct crowd *k, uint32_t of, uint64_t *end, uint64_t *crowd_end,
			uint64_t until)
{
	if (*end > *crowd_end)
		vec_push(&k->before, (struct crowd_before){*end, of});
	*crowd_end = until > *crowd_end ? until : *crowd_end;
}

static void crowd_keep(struct gather *g)
{
	struct chain *c = g->w->c;
	struct crowd *k = vec_add(&c->crowds);

	k->lock = g->lock;
	memcpy(&k->waits, &g->waits, sizeof(k->waits));
	memset(&g->waits, 0, sizeof(g->waits));
	memcpy(&k->missed, &g->missed, sizeof(k->missed));
	memset(&g->missed, 0, sizeof(g->missed));
	crowd_order(k);
	crowd_vote(g, k);
	vec_reserve(&k->parts, g->parts.n);
	for (size_t i = 0; i < g->parts.n; i++) {
		const struct gathered *p = &g->parts.v[i];

		vec_push(&k->parts, (struct crowd_part){p->start, p->end, p->charge,
							p->hold * 4 + p->hold_doing});
		if (p->charge != UINT32_MAX)
			note_before(k, p->charge * 2, &c->charges.v[p->charge].end,
				    &c->charges.v[p->charge].crowd_end, p->end);
		note_before(k, p->hold * 2 + 1, &c->holds.v[p->hold].end,
			    &c->holds.v[p->hold].crowd_end, p->end);
	}
}

void crowd_done(struct crowd *k)
{
	vec_done(&k->parts);
	vec_done(&k->waits);
	vec_done(&k->before);
	vec_done(&k->missed);
	free(k->by_end);
}

void crowd_charge(struct holder_walk *w, uint32_t lock, const struct charged_wait *waits, size_t n)
{
	struct gather g = {.w = w, .lock = lock};

	gather_parts(&g, waits, n);
	for (size_t i = 0; i < n; i++)
		charge_one(&g, &waits[i]);
	crowd_keep(&g);
	vec_done(&g.parts);
	vec_done(&g.runs);
	vec_done(&g.long_runs);
	vec_done(&g.chains);
	vec_done(&g.by_of);
	vec_done(&g.waits);
	vec_done(&g.missed);
}
