// SPDX-License-Identifier: MIT
/*
 * Stalls, from the pieces of waits that chain.h keeps: for each cause the times at which enough
 * threads are behind it at once, joined over short gaps. Nobody gets past the holder of a lock, so
 * two waiters are enough there. A disk or a CPU limit is shared by unrelated threads: there it
 * takes at least half of those that ever wait long for it.
 */
#include "model/summary/stalls.h"

#include <stdlib.h>

#include "base/search.h"
#include "base/sort.h"
#include "model/charge/chain.h"
#include "model/summary/parts.h"

#define STALL_GAP_NS 1000000u
#define STALLS_MAX 1000

struct stall_part {
	uint64_t cause;
	uint64_t start, end;
	uint64_t since, until; /* with what lies outside of the window */
	const struct wait_piece *piece;
};

static int stalls_descending(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int by_cause(const void *pa, const void *pb)
{
	const struct stall_part *a = pa, *b = pb;

	if (a->cause != b->cause)
		return a->cause > b->cause ? 1 : -1;
	if (a->start != b->start)
		return a->start > b->start ? 1 : -1;
	if (a->end != b->end)
		return a->end > b->end ? 1 : -1;
	return (a->piece->victim > b->piece->victim) - (a->piece->victim < b->piece->victim);
}

static enum reason reason_of(const struct model *m, const struct wait_piece *p)
{
	return p->reason ? p->reason : m->tally.waits.v[p->row].verdict.reason;
}

/* A number for the cause: a lock with its holder, or a shared cause. 0: none. */
static uint64_t cause_of(const struct summary *s, const struct wait_piece *p)
{
	const struct model *m = s->model;
	const struct thread *victim = m->timeline.threads.v[p->victim];
	uint32_t lock;

	if (victim->flags & THREAD_OWN)
		return 0;
	if (p->lock != UINT32_MAX) {
		lock = locks_index(&m->locks, p->lock + 1);
		if (!lock_has_holders(&m->locks.list.v[lock]) || !s->lock_at[lock])
			return 0;
		return ((uint64_t)lock + 1) << 32 | p->culprit;
	}
	if (!thread_is_subject(victim))
		return 0;
	return reason_has(reason_of(m, p), TRAIT_STALLS) ? 1 + reason_of(m, p) : 0;
}

static uint32_t distinct(const struct stall_part *p, size_t n)
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

static int stalls_by_ts(const void *pa, const void *pb)
{
	const struct edge *a = pa, *b = pb;

	if (a->ts != b->ts)
		return a->ts > b->ts ? 1 : -1;
	return a->step - b->step;
}

/* The first row of blame for this culprit, doing and locks, wherever it was. */
static uint64_t row_key(uint32_t culprit, unsigned doing, size_t lock, size_t first)
{
	return map_mix(map_mix(((uint64_t)culprit << 8 | doing) + 1) + lock) * 31 + first;
}

static void find_rows(const struct summary *s, struct map *rows)
{
	for (size_t i = 0; i < s->blame.rows.n; i++) {
		const struct blame_row *r = &s->blame.rows.v[i];
		uint64_t *slot = map_put(
			rows, row_key(r->culprit->index, r->doing, r->lock, r->first), NULL);

		if (!*slot)
			*slot = i + 1;
	}
}

static void fill_culprit(struct summary *s, struct stall *st, const struct map *rows,
			 const struct charge *c)
{
	const uint64_t *slot = map_get(rows, row_key(c->culprit, c->doing, summary_lock(s, c->lock),
						     summary_lock(s, c->first)));
	const struct blame_row *r;

	if (!slot)
		return;
	r = &s->blame.rows.v[*slot - 1];
	st->doing = r->doing;
	st->reason = r->reason;
	st->kstack = r->kstack;
	st->ustack = r->ustack;
	st->function = r->function;
}

/* Sums of a stall: the time lost, and the part that lost most (of equals the first). */
struct fill {
	uint64_t lost, longest;
	size_t most;
	int64_t covers; /* how many more parts cover this whole stall than the one before */
	size_t cover;	/* the first of them; SIZE_MAX: none */
	size_t next;	/* the next stall without a cover, or a step towards it */
};

static void fill_cut(struct fill *f, const struct stall *st, const struct stall_part *p, size_t i)
{
	uint64_t from = p[i].start > st->start ? p[i].start : st->start;
	uint64_t to = p[i].end < st->start + st->ns ? p[i].end : st->start + st->ns;

	f->lost += to - from;
	if (to - from > f->longest) {
		f->longest = to - from;
		f->most = i;
	}
}

static size_t fill_next(struct fill *f, size_t i)
{
	while (f[i].next != i) {
		f[i].next = f[f[i].next].next;
		i = f[i].next;
	}
	return i;
}

/* A part that spans many stalls is cut only in the first and the last; it covers the others. */
static void fill_part(struct fill *f, const struct stall *st, size_t n, const struct stall_part *p,
		      size_t i)
{
	size_t lo = SEARCH(0, n, at, st[at].start + st[at].ns <= p[i].start);
	size_t last = SEARCH(lo, n, at, st[at].start < p[i].end);

	if (lo == last--)
		return;
	fill_cut(&f[lo], &st[lo], p, i);
	if (last == lo)
		return;
	fill_cut(&f[last], &st[last], p, i);
	f[lo + 1].covers++;
	f[last].covers--;
	for (size_t k = fill_next(f, lo + 1); k < last; k = fill_next(f, k)) {
		f[k].cover = i;
		f[k].next = k + 1;
	}
}

static void fill_cause(struct summary *s, struct stall *st, const struct map *rows,
		       const struct wait_piece *most)
{
	const struct model *m = s->model;
	const struct piece_part *best = NULL;

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
	for (size_t i = 0; i < PIECE_PARTS; i++) {
		const struct piece_part *p = &most->parts[i];
		const struct charge *c =
			p->charge != UINT32_MAX ? &m->chain.charges.v[p->charge] : NULL;

		if (p->ns && c)
			doings_add(&st->did, c->doing, charge_reason(m, c), p->ns);
		if (p->ns && c && (!best || p->ns > best->ns))
			best = p;
	}
	/* The piece keeps only its PIECE_PARTS largest parts: the total is the piece's length. */
	if (st->did.total < most->end - most->start)
		st->did.total = most->end - most->start;
	doings_order(&st->did);
	if (best)
		fill_culprit(s, st, rows, &m->chain.charges.v[best->charge]);
}

/* Stalls of one cause, in the order of time, from its parts. */
static void stalls_fill(struct summary *s, struct stall *st, size_t stalls, const struct map *rows,
			const struct stall_part *p, size_t n)
{
	struct fill *f = mem_zalloc((stalls + 1) * sizeof(*f));
	int64_t covers = 0;

	for (size_t k = 0; k <= stalls; k++) {
		f[k].next = k;
		f[k].cover = SIZE_MAX;
	}
	for (size_t i = 0; i < n; i++)
		fill_part(f, st, stalls, p, i);
	for (size_t k = 0; k < stalls; k++) {
		covers += f[k].covers;
		st[k].lost = f[k].lost + (uint64_t)covers * st[k].ns;
		if (f[k].cover != SIZE_MAX && (st[k].ns > f[k].longest || f[k].cover < f[k].most))
			f[k].most = f[k].cover;
		fill_cause(s, &st[k], rows, p[f[k].most].piece);
	}
	free(f);
}

/* Cuts a stall to the window; false if it is too short or outside. Its whole length counts. */
static bool cut_span(const struct timeline *t, struct stall *st)
{
	uint64_t end = st->start + st->ns;

	if (st->ns < STALL_MIN_NS)
		return false;
	st->start = st->start > t->from ? st->start : t->from;
	end = end < t->to ? end : t->to;
	st->ns = end > st->start ? end - st->start : 0;
	return st->ns > 0;
}

/* The spans in which at least `enough` parts of one cause are at once. */
static void sweep(struct summary *s, const struct map *rows, const struct stall_part *p, size_t n,
		  uint32_t enough, uint32_t all)
{
	struct edge *e = mem_alloc(2 * n * sizeof(*e));
	VEC(struct stall) spans = {0};
	size_t stalls = 0;
	uint32_t now = 0;

	for (size_t i = 0; i < n; i++) {
		e[2 * i] = (struct edge){p[i].since, 1};
		e[2 * i + 1] = (struct edge){p[i].until, -1};
	}
	sort_by(e, 2 * n, sizeof(*e), stalls_by_ts);
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
	for (size_t i = 0; i < spans.n; i++)
		if (cut_span(&s->model->timeline, &spans.v[i]))
			spans.v[stalls++] = spans.v[i];
	if (stalls)
		stalls_fill(s, spans.v, stalls, rows, p, n);
	for (size_t i = 0; i < stalls; i++)
		vec_push(&s->stalls.list, spans.v[i]);
	free(e);
	vec_done(&spans);
}

static int by_length(const void *pa, const void *pb)
{
	const struct stall *a = pa, *b = pb;
	int c = stalls_descending(a->ns, b->ns);

	if (!c)
		c = stalls_descending(a->threads, b->threads);
	if (!c)
		c = (a->start > b->start) - (a->start < b->start);
	return c ? c : (a->lock > b->lock) - (a->lock < b->lock);
}

static int stalls_by_start(const void *pa, const void *pb)
{
	const struct stall *a = pa, *b = pb;

	return (a->start > b->start) - (a->start < b->start);
}

static void stalls_order(struct stalls *t)
{
	uint64_t end = 0;

	if (!t->list.n)
		return;
	sort_by(t->list.v, t->list.n, sizeof(*t->list.v), stalls_by_start);
	for (size_t i = 0; i < t->list.n; i++) {
		uint64_t from = t->list.v[i].start > end ? t->list.v[i].start : end;
		uint64_t to = t->list.v[i].start + t->list.v[i].ns;

		t->total += to > from ? to - from : 0;
		end = to > end ? to : end;
	}
	t->count = t->list.n;
	sort_by(t->list.v, t->list.n, sizeof(*t->list.v), by_length);
	for (size_t i = STALLS_MAX; i < t->list.n; i++)
		doings_done(&t->list.v[i].did);
	if (t->list.n > STALLS_MAX)
		t->list.n = STALLS_MAX;
}

static int by_gap(const void *pa, const void *pb)
{
	const struct blackout *a = pa, *b = pb;
	int c = stalls_descending(a->ns, b->ns);

	return c ? c : (a->start > b->start) - (a->start < b->start);
}

/* Only with a sampling clock does silence mean a blackout. */
static void take_blackouts(struct summary *s)
{
	const struct model *m = s->model;
	uint64_t period = m->facts.freq_hz ? 1000000000ull / m->facts.freq_hz : 0;

	for (size_t i = 0; i < m->gaps.n && period; i++) {
		const struct gap *g = &m->gaps.v[i];
		const struct span *lost = spans_next(&m->timeline.spans.any, g->start);

		if (!g->running || g->end - g->start < 10 * period ||
		    (lost && lost->start < g->end))
			continue;
		vec_push(&s->stalls.blackouts,
			 (struct blackout){g->start, g->end - g->start, g->running});
	}
	sort_by(s->stalls.blackouts.v, s->stalls.blackouts.n, sizeof(*s->stalls.blackouts.v),
		by_gap);
}

/* ---- deadlocks ---- */

struct circles {
	uint64_t *closed; /* by circle: since when nobody goes on */
	uint64_t *ended;  /* the same: until when */
	uint32_t *of;	  /* by thread: its circle; 0: none */
};

static void circles_init(struct circles *c, const struct summary *s)
{
	const struct stuck *st = &s->stuck;

	c->closed = mem_zalloc((st->circles + 1) * sizeof(*c->closed));
	c->ended = mem_zalloc((st->circles + 1) * sizeof(*c->ended));
	c->of = mem_zalloc((s->model->timeline.threads.n + 1) * sizeof(*c->of));
	for (size_t i = 0; i < st->waits.n && st->waits.v[i].circle; i++) {
		const struct stuck_wait *w = &st->waits.v[i];

		c->of[w->thread->index] = w->circle;
		if (c->closed[w->circle] < w->start)
			c->closed[w->circle] = w->start;
		if (!c->ended[w->circle] || c->ended[w->circle] > w->end)
			c->ended[w->circle] = w->end;
	}
}

static void circles_done(struct circles *c)
{
	free(c->closed);
	free(c->ended);
	free(c->of);
}

/* Leaves of a part what was before the deadlock that it stands behind; false: nothing. */
static bool cut_deadlock(const struct circles *c, struct stall_part *p)
{
	uint32_t culprit = p->piece->culprit, circle = culprit ? c->of[culprit - 1] : 0;

	if (!circle || p->until <= c->closed[circle])
		return true;
	p->end = p->until = c->closed[circle];
	return p->start < p->end;
}

/* Of the circle whose threads wait in these: the first of them is held up by the next. */
static void add_deadlock(struct summary *s, const struct circles *c, const struct stuck_wait *w,
			 size_t n)
{
	const struct timeline *t = &s->model->timeline;
	const struct stuck *stuck = &s->stuck;
	const struct stuck_wait *next = &w[n > 1];
	uint64_t since = c->closed[w->circle], from = since > t->from ? since : t->from;
	uint64_t end = c->ended[w->circle], to = end < t->to ? end : t->to;
	struct stall st = {.start = from,
			   .ns = to > from ? to - from : 0,
			   .lock = w->lock,
			   .culprit = next->thread,
			   .doing = INTERVAL_WAITING,
			   .reason = next->reason,
			   .kstack = next->kstack,
			   .ustack = next->ustack,
			   .function = where_function(&s->model->names, next->kstack, next->ustack),
			   .circle = w->circle};

	for (size_t i = 0; i < stuck->waits.n; i++) {
		const struct stuck_wait *one = &stuck->waits.v[i];
		uint64_t stood = one->start > from ? one->start : from;

		if (one->circle != w->circle && one->behind != w->circle)
			continue;
		st.threads++;
		st.lost += to > stood ? to - stood : 0;
	}
	st.all = st.threads;
	if (st.threads < 2 || !st.ns)
		return;
	doings_add(&st.did, st.doing, st.reason, st.ns);
	vec_push(&s->stalls.list, st);
}

static void add_deadlocks(struct summary *s, const struct circles *c)
{
	const struct stuck *st = &s->stuck;

	for (size_t i = 0, n; i < st->waits.n && st->waits.v[i].circle; i += n) {
		for (n = 1; i + n < st->waits.n; n++)
			if (st->waits.v[i + n].circle != st->waits.v[i].circle)
				break;
		add_deadlock(s, c, &st->waits.v[i], n);
	}
}

void summary_stalls(struct summary *s, const bool *chosen)
{
	const struct chain *c = &s->model->chain;
	VEC(struct stall_part) parts = {0};
	struct circles circles;
	struct map rows = {0};

	take_blackouts(s);
	circles_init(&circles, s);
	add_deadlocks(s, &circles);
	find_rows(s, &rows);
	for (size_t i = 0; i < c->pieces.n; i++) {
		const struct wait_piece *p = &c->pieces.v[i];
		uint64_t cause = chosen[p->victim] ? cause_of(s, p) : 0;
		struct stall_part part = {
			cause, p->start, p->end, p->start - p->before, p->end + p->after, p};

		if (cause && cut_deadlock(&circles, &part))
			vec_push(&parts, part);
	}
	circles_done(&circles);
	sort_by(parts.v, parts.n, sizeof(*parts.v), by_cause);
	for (size_t i = 0, n; i < parts.n; i += n) {
		bool lock = parts.v[i].piece->lock != UINT32_MAX;
		uint32_t all;

		for (n = 1; i + n < parts.n && parts.v[i + n].cause == parts.v[i].cause; n++)
			;
		all = distinct(&parts.v[i], n);
		if (all >= 2)
			sweep(s, &rows, &parts.v[i], n, lock || all <= 2 ? 2 : (all + 1) / 2, all);
	}
	map_done(&rows);
	vec_done(&parts);
	stalls_order(&s->stalls);
}
