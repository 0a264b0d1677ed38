// SPDX-License-Identifier: MIT
/*
 * lockline?lock&from&to[&cols]   one lock over time: who held it and who waited for it
 *
 * lock is the id that a lock has in the summary. A holder's pieces are the time in which it had the
 * lock while others waited; a waiter's are its sleeps. A piece is [start, end), of which `ns`
 * count: pieces nearer to each other than a column (1/cols of the range) are merged. The matrix
 * has, by waiter and holder, how long the one waited while the other had the lock; its rows and
 * columns are in the order of `waiters` and `holders`. thread null: unknown holders, and those too
 * many to list ("others").
 */
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "model/charge/crowd.h"
#include "model/summary/parts.h"
#include "query/ask.h"
#include "query/holds.h"

#define LANES_MAX 60
#define COLS_MAX 10000

/* The sums of one thread, as waiter or as holder. */
struct party {
	uint32_t thread; /* index + 1; 0: not known */
	uint64_t ns;	 /* of waiting, by it or behind it */
	uint64_t waits;
	uint64_t last; /* the wait that was counted last */
};

struct parties {
	VEC(struct party) list; /* by ns; the unknown one after the others */
	uint32_t *lane;		/* by thread + 1: its place; LANES_MAX: one of the others */
};

struct bar {
	uint32_t lane;
	uint64_t start, end;
};

struct lockline {
	const struct query *q;
	struct holds holds;
	struct parties waiters, holders;
	uint64_t least;
};

static int by_ns(const void *pa, const void *pb)
{
	const struct party *a = pa, *b = pb;

	if (!a->thread != !b->thread)
		return a->thread ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static void lockline_add(struct parties *p, uint32_t thread, uint64_t ns, uint64_t wait)
{
	struct party *one;

	if (!p->lane[thread]) {
		vec_push(&p->list, (struct party){.thread = thread});
		p->lane[thread] = (uint32_t)p->list.n;
	}
	one = &p->list.v[p->lane[thread] - 1];
	one->ns += ns;
	one->waits += one->last != wait;
	one->last = wait;
}

/* Threads beyond the limit share one lane after the others. */
static void lockline_order(struct parties *p)
{
	sort_by(p->list.v, p->list.n, sizeof(*p->list.v), by_ns);
	for (uint32_t i = 0; i < p->list.n; i++)
		p->lane[p->list.v[i].thread] = i < LANES_MAX ? i : LANES_MAX;
}

static size_t lanes(const struct parties *p)
{
	return p->list.n <= LANES_MAX ? p->list.n : LANES_MAX + 1;
}

/* Holders of a crowd, by what all waiters together lost to them: model/charge/crowd.h. */
static void take_crowd(struct lockline *l)
{
	const struct holds *h = &l->holds;
	size_t threads = query_threads(l->q) + 1;
	struct crowd k = {0};
	struct crowd_sums sums;
	bool *chosen = mem_zalloc(threads);

	memset(chosen, true, threads);
	for (size_t i = 0; i < h->waits.n; i++) {
		const struct lock_wait *w = &h->waits.v[i];

		vec_push(&k.waits, (struct crowd_wait){w->start, w->end, w->start, w->waiter, 0});
	}
	for (size_t i = 0; i < h->held.n; i++) {
		const struct held *one = &h->held.v[i];

		vec_push(&k.parts, (struct crowd_part){one->start, one->end, UINT32_MAX,
						       one->thread * 4 + INTERVAL_RUNNING});
	}
	crowd_order(&k);
	crowd_sum_holds(&k, chosen, threads, &sums);
	for (uint32_t i = 0; i < threads; i++) {
		if (!sums.holds[i].blamed)
			continue;
		lockline_add(&l->holders, i, sums.holds[i].blamed, i + 1);
		l->holders.list.v[l->holders.lane[i] - 1].waits = sums.holds[i].count;
	}
	crowd_sums_done(&sums);
	crowd_done(&k);
	free(chosen);
}

static void take_parties(struct lockline *l)
{
	size_t threads = query_threads(l->q) + 1;

	l->waiters.lane = mem_zalloc(threads * sizeof(*l->waiters.lane));
	l->holders.lane = mem_zalloc(threads * sizeof(*l->holders.lane));
	for (size_t i = 0, at = 0; i < l->holds.waits.n; i++) {
		const struct lock_wait *w = &l->holds.waits.v[i];

		lockline_add(&l->waiters, w->waiter + 1, w->end - w->start, i + 1);
		for (; at < w->pieces; at++) {
			const struct held_piece *p = &l->holds.pieces.v[at];

			lockline_add(&l->holders, p->holder, p->end - p->start, i + 1);
		}
	}
	if (l->holds.crowd)
		take_crowd(l);
	lockline_order(&l->waiters);
	lockline_order(&l->holders);
}

static int by_lane(const void *pa, const void *pb)
{
	const struct bar *a = pa, *b = pb;

	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

struct line_pieces {
	VEC(int64_t) start, end, ns;
};

static void put_pieces(struct json *j, struct line_pieces *p)
{
	json_obj(j, "piece");
	json_i64s(j, "start", p->start.v, p->start.n);
	json_i64s(j, "end", p->end.v, p->end.n);
	json_i64s(j, "ns", p->ns.v, p->ns.n);
	json_obj_end(j);
	vec_done(&p->start);
	vec_done(&p->end);
	vec_done(&p->ns);
}

/* Spans of one lane, in the order of time; those of several waiters overlap. */
static uint64_t lockline_join(struct line_pieces *p, const struct bar *s, size_t n, uint64_t least)
{
	uint64_t sum = 0, seen = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t start = s[i].start > seen ? s[i].start : seen;
		size_t last = p->end.n - 1;

		if (start >= s[i].end)
			continue;
		if (p->end.n && start - (uint64_t)p->end.v[last] <= least) {
			p->end.v[last] = (int64_t)s[i].end;
			p->ns.v[last] += (int64_t)(s[i].end - start);
		} else {
			vec_push(&p->start, (int64_t)start);
			vec_push(&p->end, (int64_t)s[i].end);
			vec_push(&p->ns, (int64_t)(s[i].end - start));
		}
		sum += s[i].end - start;
		seen = s[i].end;
	}
	return sum;
}

static void put_party(struct json *j, const struct parties *p, size_t lane, const struct bar *s,
		      size_t n, uint64_t least)
{
	const struct party *one = &p->list.v[lane];
	struct line_pieces pieces = {0};
	uint64_t ns = 0, waits = 0, sum;
	bool others = lane == LANES_MAX;

	for (size_t i = lane; i < (others ? p->list.n : lane + 1); i++) {
		ns += p->list.v[i].ns;
		waits += p->list.v[i].waits;
	}
	json_obj(j, NULL);
	if (others || !one->thread)
		json_null(j, "thread");
	else
		json_u64(j, "thread", one->thread - 1);
	json_u64(j, "others", others ? p->list.n - LANES_MAX : 0);
	json_u64(j, "wait_ns", ns);
	json_u64(j, "waits", waits);
	sum = lockline_join(&pieces, s, n, least);
	json_u64(j, "ns", sum);
	put_pieces(j, &pieces);
	json_obj_end(j);
}

static void put_lanes(struct json *j, const char *key, const struct parties *p, struct bar *spans,
		      size_t n, uint64_t least)
{
	size_t at = 0;

	sort_by(spans, n, sizeof(*spans), by_lane);
	json_u64(j, key[0] == 'w' ? "waiters_total" : "holders_total", p->list.n);
	json_arr(j, key);
	for (size_t lane = 0; lane < lanes(p); lane++) {
		size_t first = at;

		while (at < n && spans[at].lane == lane)
			at++;
		put_party(j, p, lane, spans + first, at - first, least);
	}
	json_arr_end(j);
}

static void put_sides(struct json *j, const struct lockline *l)
{
	const struct holds *h = &l->holds;
	size_t pieces = h->crowd ? h->held.n : h->pieces.n;
	size_t most = h->waits.n > pieces ? h->waits.n : pieces;
	struct bar *spans = mem_alloc((most + 1) * sizeof(*spans));

	for (size_t i = 0; i < h->waits.n; i++)
		spans[i] = (struct bar){l->waiters.lane[h->waits.v[i].waiter + 1],
					h->waits.v[i].start, h->waits.v[i].end};
	put_lanes(j, "waiters", &l->waiters, spans, h->waits.n, l->least);
	for (size_t i = 0; i < pieces && !h->crowd; i++)
		spans[i] = (struct bar){l->holders.lane[h->pieces.v[i].holder],
					h->pieces.v[i].start, h->pieces.v[i].end};
	for (size_t i = 0; i < pieces && h->crowd; i++)
		spans[i] = (struct bar){l->holders.lane[h->held.v[i].thread], h->held.v[i].start,
					h->held.v[i].end};
	put_lanes(j, "holders", &l->holders, spans, pieces, l->least);
	free(spans);
}

struct matrix_row {
	const struct lockline *l;
	int64_t *ns;
};

static void add_cell(void *arg, uint32_t holder, uint64_t ns)
{
	struct matrix_row *r = arg;

	r->ns[r->l->holders.lane[holder]] += (int64_t)ns;
}

/* One row for each listed waiter, and one for the rest. */
static void crowd_matrix(struct lockline *l, int64_t *ns, size_t rows, size_t cols)
{
	struct holds *h = &l->holds;

	for (size_t i = 0, n; i < h->waits.n; i += n) {
		uint32_t lane = l->waiters.lane[h->waits.v[i].waiter + 1];
		struct matrix_row row = {l, ns + lane * cols};

		for (n = 1; i + n < h->waits.n && h->waits.v[i + n].waiter == h->waits.v[i].waiter;)
			n++;
		if (lane < LANES_MAX)
			holds_cut(h, &h->waits.v[i], n, &row, add_cell);
	}
	for (size_t i = 0; rows > LANES_MAX && i < l->holders.list.n; i++)
		ns[LANES_MAX * cols + l->holders.lane[l->holders.list.v[i].thread]] +=
			(int64_t)l->holders.list.v[i].ns;
	for (size_t i = 0; rows > LANES_MAX && i < LANES_MAX; i++)
		for (size_t k = 0; k < cols; k++) {
			int64_t *left = &ns[LANES_MAX * cols + k];

			*left = *left > ns[i * cols + k] ? *left - ns[i * cols + k] : 0;
		}
}

static void put_matrix(struct json *j, struct lockline *l)
{
	size_t rows = lanes(&l->waiters), cols = lanes(&l->holders);
	int64_t *ns = mem_zalloc((rows * cols + 1) * sizeof(*ns));

	for (size_t i = 0; i < l->holds.pieces.n; i++) {
		const struct held_piece *p = &l->holds.pieces.v[i];

		ns[l->waiters.lane[p->waiter + 1] * cols + l->holders.lane[p->holder]] +=
			(int64_t)(p->end - p->start);
	}
	if (l->holds.crowd && cols)
		crowd_matrix(l, ns, rows, cols);
	json_arr(j, "matrix");
	for (size_t i = 0; i < rows && cols; i++)
		json_i64s(j, NULL, ns + i * cols, cols);
	json_arr_end(j);
	free(ns);
}

static void lockline_put_lock(struct json *j, const struct query *q, uint32_t lock)
{
	const struct lock *l = &q->model->locks.list.v[lock];
	bool named;
	char *name = lock_name(q->model, l, &named);

	json_obj(j, "lock");
	json_u64(j, "id", lock);
	json_str(j, "name", name);
	json_bool(j, "named", named);
	json_str(j, "kind", lock_kind_name(l->kind));
	json_bool(j, "held", lock_has_holders(l));
	json_obj_end(j);
	free(name);
}

static void put_lockline(struct lockline *l, uint32_t lock, uint64_t from, uint64_t to,
			 struct buf *ret)
{
	uint64_t total = 0;
	struct json j;

	holds_take(&l->holds, l->q->model, &l->q->columns, lock, from, to);
	take_parties(l);
	for (size_t i = 0; i < l->waiters.list.n; i++)
		total += l->waiters.list.v[i].ns;
	json_init_buf(&j, ret);
	j.tight = true;
	json_obj(&j, NULL);
	lockline_put_lock(&j, l->q, lock);
	json_u64(&j, "from", from);
	json_u64(&j, "to", to);
	json_u64(&j, "wait_ns", total);
	json_u64(&j, "waits", l->holds.waits.n);
	put_sides(&j, l);
	put_matrix(&j, l);
	json_obj_end(&j);
	holds_done(&l->holds);
	vec_done(&l->waiters.list);
	vec_done(&l->holders.list);
	free(l->waiters.lane);
	free(l->holders.lane);
}

int answer_lockline(struct query *q, const struct request *rq, struct buf *ret)
{
	struct lockline l = {.q = q};
	uint64_t lock, from, to, cols, end;
	int rc = request_need(rq, "lock", UINT32_MAX, &lock);

	rc = rc ? rc : query_range(q, rq, &from, &to);
	rc = rc ? rc : request_u64(rq, "cols", COLS_MAX, 1000, &cols);
	if (!rc && lock >= q->model->locks.list.n)
		rc = err_set(-ENOENT, "there is no such lock");
	if (rc)
		return rc;
	end = to < q->duration ? to : q->duration;
	l.least = cols && from < end ? (end - from) / cols : 0;
	put_lockline(&l, locks_index(&q->model->locks, (uint32_t)lock + 1), from, to, ret);
	return 0;
}
