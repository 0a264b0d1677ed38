// SPDX-License-Identifier: MIT
/*
 * Cuts a lock's time into parts by following the reference wait (crowd.c), and makes pieces of
 * waits, which stalls consist of, from runs of parts behind one culprit.
 */
#include <stdlib.h>

#include "base/search.h"
#include "base/sort.h"
#include "model/charge/gather.h"

void crowd_gather_hold(struct holder_walk *w, uint32_t lock, uint32_t holder, const struct note *n)
{
	struct gather *g = w->gather;

	g->hold = chain_hold(w->c, lock, holder);
	g->hold_doing = n ? n->kind : INTERVAL_LOST;
	g->hold_row = n ? n->row : 0;
}

static struct gathered *add_part(struct gather *g, uint64_t from, uint64_t to)
{
	struct gathered *p = vec_add(&g->parts);

	p->start = from;
	p->end = to;
	p->hold = g->hold;
	p->hold_doing = g->hold_doing;
	p->row = g->hold_row;
	return p;
}

void crowd_gather_end(struct holder_walk *w, uint32_t culprit, uint32_t lock, const struct note *n,
		      bool deadlock, uint64_t from, uint64_t to)
{
	struct gather *g = w->gather;
	struct charge want = charge_wanted(w, culprit, lock, n, deadlock);
	struct gathered *p = add_part(g, from, to);
	uint32_t part = (uint32_t)g->parts.n - 1;

	p->charge = charge_of(w->c, &want);
	p->culprit = culprit + 1;
	p->lock = lock;
	p->depth = (uint8_t)w->depth;
	for (unsigned i = 1; i < w->depth; i++)
		vec_push(&g->chains, (struct at_part){w->on[i], part});
	if (w->depth == 1 || w->on[w->depth - 1] != culprit)
		vec_push(&g->chains, (struct at_part){culprit, part});
}

void crowd_gather_nobody(struct holder_walk *w, uint32_t lock, uint64_t from, uint64_t to)
{
	struct gather *g = w->gather;
	struct gathered *p;

	g->hold = chain_hold(w->c, lock, 0);
	g->hold_doing = INTERVAL_LOST;
	p = add_part(g, from, to);
	p->charge = UINT32_MAX;
	p->lock = lock;
}

/* The times in which anybody waits, and what happened to the lock in them. */
static void cut_parts(struct gather *g, const struct charged_wait *waits, size_t n)
{
	struct holder_walk *w = g->w;
	struct sort_key *spans = mem_alloc((n + 1) * sizeof(*spans));
	size_t i = 0;

	for (size_t k = 0; k < n; k++) {
		const struct note *note = &w->c->notes.v[waits[k].note];

		spans[k] = (struct sort_key){note->start, waits[k].note};
		g->to = note->end > g->to ? note->end : g->to;
	}
	sort_keys(spans, n);
	w->victim = w->on[0] = WALK_NOBODY;
	w->first = g->lock;
	w->gather = g;
	while (i < n) {
		w->lo = w->hi = spans[i].key;
		for (; i < n && spans[i].key <= w->hi; i++) {
			uint64_t end = w->c->notes.v[spans[i].at].end;

			w->hi = end > w->hi ? end : w->hi;
		}
		w->depth = 1;
		follow(w, g->lock, NULL, w->lo, g->to);
	}
	w->gather = NULL;
	w->lo = 0;
	w->hi = UINT64_MAX;
	free(spans);
}

static void make_runs(struct gather *g)
{
	for (size_t i = 0; i < g->parts.n; i++) {
		struct gathered *p = &g->parts.v[i];
		struct part_run *r = g->runs.n ? &g->runs.v[g->runs.n - 1] : NULL;

		if (!r || r->end != p->start || g->parts.v[i - 1].lock != p->lock ||
		    g->parts.v[i - 1].culprit != p->culprit) {
			r = vec_add(&g->runs);
			*r = (struct part_run){.first = i, .start = p->start};
		}
		r->n++;
		r->end = p->end;
		p->run = (uint32_t)g->runs.n - 1;
	}
}

/* Among [lo, hi). */
static size_t find_part(const struct gather *g, size_t lo, size_t hi, uint64_t ts)
{
	return SEARCH(lo + 1, hi, i, g->parts.v[i].start <= ts) - 1;
}

size_t gather_at(const struct gather *g, uint64_t ts)
{
	return find_part(g, 0, g->parts.n, ts);
}

size_t gather_near(const struct gather *g, size_t *place, uint64_t ts)
{
	size_t n = g->parts.n, lo = *place, hi = lo + 1;

	for (size_t by = 1; lo && g->parts.v[lo].start > ts; by *= 2) {
		hi = lo;
		lo = lo > by ? lo - by : 0;
	}
	for (size_t by = 1; hi < n && g->parts.v[hi].start <= ts; by *= 2) {
		lo = hi;
		hi = n - hi > by ? hi + by : n;
	}
	*place = find_part(g, lo, hi, ts);
	return *place;
}

size_t gather_find(const struct at_part *v, size_t n, uint32_t key, uint32_t part)
{
	return SEARCH(0, n, mid, v[mid].key < key || (v[mid].key == key && v[mid].part < part));
}

/* ---- pieces of waits, for stalls ---- */

/* A wait walks over at most this many parts; for more it uses the run's sums. */
enum { RUN_PARTS = 64 };

/* What the culprit did in a run, summed once for all waiters. */
static const struct piece_part *run_sums(struct gather *g, struct part_run *r)
{
	struct wait_piece all = {0};

	if (r->summed)
		return r->sums;
	for (size_t i = r->first; i < r->first + r->n; i++)
		charge_piece_part(&all, g->parts.v[i].charge,
				  g->parts.v[i].end - g->parts.v[i].start);
	memcpy(r->sums, all.parts, sizeof(r->sums));
	r->summed = true;
	return r->sums;
}

/* An estimate for a piece of the run: the run's sums in proportion to time. */
static void add_run_sums(struct gather *g, struct part_run *r, uint64_t from, uint64_t to)
{
	const struct gathered *p = &g->parts.v[r->first];
	const struct piece_part *sums = run_sums(g, r);
	double share = (double)(to - from) / (double)(r->end - r->start);

	for (size_t i = 0; i < PIECE_PARTS; i++)
		if (sums[i].ns || !i)
			charge_piece(g->w, p->lock, p->culprit, sums[i].charge,
				     (uint64_t)((double)sums[i].ns * share), i ? to : from, to);
}

/* Parts [first, last] are of one run. */
static void add_run_part(struct gather *g, size_t first, size_t last, uint64_t from, uint64_t to)
{
	if (last - first >= RUN_PARTS) {
		add_run_sums(g, &g->runs.v[g->parts.v[first].run], from, to);
		return;
	}
	for (size_t i = first; i <= last; i++) {
		const struct gathered *p = &g->parts.v[i];
		uint64_t start = p->start > from ? p->start : from;
		uint64_t end = p->end < to ? p->end : to;

		charge_piece(g->w, p->lock, p->culprit, p->charge, end - start, start, end);
	}
}

/* chain_piece() drops shorter pieces, and raises the limit as pieces become too many. */
static void find_long_runs(struct gather *g)
{
	if (g->long_min == g->w->c->piece_min)
		return;
	g->long_min = g->w->c->piece_min;
	g->long_runs.n = 0;
	for (size_t i = 0; i < g->runs.n; i++)
		if (g->runs.v[i].end - g->runs.v[i].start >= g->long_min)
			vec_push(&g->long_runs, (uint32_t)i);
}

static void add_long_runs(struct gather *g, uint32_t behind, uint32_t before)
{
	size_t lo;

	find_long_runs(g);
	lo = SEARCH(0, g->long_runs.n, mid, g->long_runs.v[mid] <= behind);
	for (; lo < g->long_runs.n && g->long_runs.v[lo] < before; lo++) {
		const struct part_run *r = &g->runs.v[g->long_runs.v[lo]];

		add_run_part(g, r->first, r->first + r->n - 1, r->start, r->end);
	}
}

void gather_pieces(struct gather *g, uint64_t from, uint64_t to)
{
	size_t first, last;
	const struct part_run *r, *s;

	if (from >= to)
		return;
	first = gather_near(g, &g->start_at, from);
	last = gather_near(g, &g->end_at, to - 1);
	r = &g->runs.v[g->parts.v[first].run];
	s = &g->runs.v[g->parts.v[last].run];
	if (r == s) {
		add_run_part(g, first, last, from, to);
		return;
	}
	add_run_part(g, first, r->first + r->n - 1, from, r->end);
	add_long_runs(g, g->parts.v[first].run, g->parts.v[last].run);
	add_run_part(g, s->first, last, s->start, to);
}

/* They come in the order of their parts. */
void gather_sort(struct at_part *v, size_t n)
{
	struct sort_key *by = mem_alloc((n + 1) * sizeof(*by));

	for (size_t i = 0; i < n; i++)
		by[i] = (struct sort_key){v[i].key, v[i].part};
	sort_keys(by, n);
	for (size_t i = 0; i < n; i++)
		v[i] = (struct at_part){(uint32_t)by[i].key, by[i].at};
	free(by);
}

void gather_parts(struct gather *g, const struct charged_wait *waits, size_t n)
{
	cut_parts(g, waits, n);
	gather_sort(g->chains.v, g->chains.n);
	make_runs(g);
}
