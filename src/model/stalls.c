// SPDX-License-Identifier: MIT
/*
 * Stalls, from the pieces of waits that chain.h keeps: for each cause the times at which enough
 * threads are behind it at once, joined over short gaps. A lock has one holder at a time, and who
 * wants it cannot go on: two threads are enough there. A disk or a CPU limit is shared by threads
 * that have nothing to do with each other: at least half of those that ever wait long for it.
 */
#include "model/stalls.h"

#include <stdlib.h>

#include "model/chain.h"
#include "model/parts.h"

#define STALL_GAP_NS 1000000u
#define STALLS_MAX 1000

struct part {
	uint64_t cause;
	uint64_t start, end;
	const struct piece *piece;
};

static int descending(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int by_cause(const void *pa, const void *pb)
{
	const struct part *a = pa, *b = pb;

	if (a->cause != b->cause)
		return a->cause > b->cause ? 1 : -1;
	if (a->start != b->start)
		return a->start > b->start ? 1 : -1;
	if (a->end != b->end)
		return a->end > b->end ? 1 : -1;
	return (a->piece->victim > b->piece->victim) - (a->piece->victim < b->piece->victim);
}

static enum reason reason_of(const struct model *m, const struct piece *p)
{
	return p->reason ? p->reason : m->tally.waits.v[p->row].verdict.reason;
}

/* Numbers for causes: locks and their holders apart from the shared ones. 0: none. */
static uint64_t cause_of(const struct summary *s, const struct piece *p)
{
	const struct model *m = s->model;
	uint32_t lock;

	if (p->lock != UINT32_MAX) {
		lock = locks_index(&m->locks, p->lock + 1);
		if (!lock_has_holders(&m->locks.list.v[lock]) || !s->lock_at[lock])
			return 0;
		return ((uint64_t)lock + 1) << 32 | p->culprit;
	}
	if (m->timeline.threads.v[p->victim]->flags & THREAD_KERNEL)
		return 0;
	switch (reason_of(m, p)) {
	case REASON_DISK:
	case REASON_PAGE_FAULT:
	case REASON_MEMORY:
	case REASON_THROTTLED:
	case REASON_STOPPED:
	case REASON_FROZEN:
		return 1 + reason_of(m, p);
	default:
		return 0;
	}
}

static uint32_t distinct(const struct part *p, size_t n)
{
	struct map seen = {0};
	uint32_t count;

	for (size_t i = 0; i < n; i++)
		map_put(&seen, p[i].piece->victim, NULL);
	count = (uint32_t)seen.n;
	map_done(&seen);
	return count;
}

struct edge {
	uint64_t ts;
	int step;
};

static int by_ts(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;

	if (a->ts != b->ts)
		return a->ts > b->ts ? 1 : -1;
	return a->step - b->step;
}

static void fill(struct summary *s, struct stall *st, const struct part *p, size_t n)
{
	const struct model *m = s->model;
	const struct piece *most = NULL;
	uint64_t longest = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t from = p[i].start > st->start ? p[i].start : st->start;
		uint64_t to = p[i].end < st->start + st->ns ? p[i].end : st->start + st->ns;

		if (from >= to)
			continue;
		st->lost += to - from;
		if (to - from > longest) {
			longest = to - from;
			most = p[i].piece;
		}
	}
	st->lock = SIZE_MAX;
	st->function = UINT32_MAX;
	if (most->lock == UINT32_MAX) {
		st->doing = most->reason ? INTERVAL_RUNNABLE : INTERVAL_WAITING;
		st->reason = reason_of(m, most);
		return;
	}
	st->lock = summary_lock(s, most->lock);
	st->doing = INTERVAL_LOST;
	if (!most->culprit)
		return;
	st->culprit = m->timeline.threads.v[most->culprit - 1];
	for (size_t i = 0; i < s->blame.rows.n && most->charge != UINT32_MAX; i++) {
		const struct blame_row *r = &s->blame.rows.v[i];
		const struct charge *c = &m->chain.charges.v[most->charge];

		if (r->culprit->index != c->culprit || r->doing != c->doing ||
		    r->lock != summary_lock(s, c->lock) || r->first != summary_lock(s, c->first))
			continue;
		st->doing = r->doing;
		st->reason = r->reason;
		st->kstack = r->kstack;
		st->ustack = r->ustack;
		st->function = r->function;
		break;
	}
}

/* The spans in which at least `enough` parts of one cause are at once. */
static void sweep(struct summary *s, const struct part *p, size_t n, uint32_t enough, uint32_t all)
{
	struct edge *e = mem_alloc(2 * n * sizeof(*e));
	VEC(struct stall) spans = {0};
	uint32_t now = 0;

	for (size_t i = 0; i < n; i++) {
		e[2 * i] = (struct edge){p[i].start, 1};
		e[2 * i + 1] = (struct edge){p[i].end, -1};
	}
	qsort(e, 2 * n, sizeof(*e), by_ts);
	for (size_t i = 0; i < 2 * n; i++) {
		struct stall *last = spans.n ? &spans.v[spans.n - 1] : NULL;

		if (e[i].step > 0 && ++now == enough) {
			if (!last || e[i].ts > last->start + last->ns + STALL_GAP_NS)
				vec_push(&spans, (struct stall){.start = e[i].ts, .all = all});
			last = &spans.v[spans.n - 1];
		}
		if (last && now >= enough && now > last->threads)
			last->threads = now;
		if (e[i].step < 0 && now-- == enough)
			last->ns = e[i].ts - last->start;
	}
	for (size_t i = 0; i < spans.n; i++) {
		if (spans.v[i].ns < STALL_MIN_NS)
			continue;
		fill(s, &spans.v[i], p, n);
		vec_push(&s->stalls.list, spans.v[i]);
	}
	free(e);
	vec_done(&spans);
}

static int by_length(const void *pa, const void *pb)
{
	const struct stall *a = pa, *b = pb;
	int c = descending(a->ns, b->ns);

	if (!c)
		c = descending(a->threads, b->threads);
	if (!c)
		c = (a->start > b->start) - (a->start < b->start);
	return c ? c : (a->lock > b->lock) - (a->lock < b->lock);
}

static int by_start(const void *pa, const void *pb)
{
	const struct stall *a = pa, *b = pb;

	return (a->start > b->start) - (a->start < b->start);
}

static void order(struct stalls *t)
{
	uint64_t end = 0;

	if (!t->list.n)
		return;
	qsort(t->list.v, t->list.n, sizeof(*t->list.v), by_start);
	for (size_t i = 0; i < t->list.n; i++) {
		uint64_t from = t->list.v[i].start > end ? t->list.v[i].start : end;
		uint64_t to = t->list.v[i].start + t->list.v[i].ns;

		t->total += to > from ? to - from : 0;
		end = to > end ? to : end;
	}
	t->count = t->list.n;
	qsort(t->list.v, t->list.n, sizeof(*t->list.v), by_length);
	if (t->list.n > STALLS_MAX)
		t->list.n = STALLS_MAX;
}

static int by_gap(const void *pa, const void *pb)
{
	const struct blackout *a = pa, *b = pb;
	int c = descending(a->ns, b->ns);

	return c ? c : (a->start > b->start) - (a->start < b->start);
}

/* Without a sampling clock a silent CPU proves nothing. */
static void take_blackouts(struct summary *s)
{
	const struct model *m = s->model;
	uint64_t period = m->facts.freq_hz ? 1000000000ull / m->facts.freq_hz : 0;

	for (size_t i = 0; i < m->gaps.n && period; i++) {
		const struct gap *g = &m->gaps.v[i];
		const struct span *lost = spans_next(&m->timeline.spans.any, g->start);

		if (g->end - g->start < 10 * period || (lost && lost->start < g->end))
			continue;
		vec_push(&s->stalls.blackouts,
			 (struct blackout){g->start, g->end - g->start, g->running});
	}
	if (s->stalls.blackouts.n)
		qsort(s->stalls.blackouts.v, s->stalls.blackouts.n, sizeof(*s->stalls.blackouts.v),
		      by_gap);
}

void summary_stalls(struct summary *s, const bool *chosen)
{
	const struct chain *c = &s->model->chain;
	VEC(struct part) parts = {0};

	take_blackouts(s);
	for (size_t i = 0; i < c->pieces.n; i++) {
		const struct piece *p = &c->pieces.v[i];
		uint64_t cause = chosen[p->victim] ? cause_of(s, p) : 0;

		if (cause)
			vec_push(&parts, (struct part){cause, p->start, p->end, p});
	}
	if (parts.n)
		qsort(parts.v, parts.n, sizeof(*parts.v), by_cause);
	for (size_t i = 0, n; i < parts.n; i += n) {
		bool lock = parts.v[i].piece->lock != UINT32_MAX;
		uint32_t all;

		for (n = 1; i + n < parts.n && parts.v[i + n].cause == parts.v[i].cause; n++)
			;
		all = distinct(&parts.v[i], n);
		if (all >= 2)
			sweep(s, &parts.v[i], n, lock || all <= 2 ? 2 : (all + 1) / 2, all);
	}
	vec_done(&parts);
	order(&s->stalls);
}
