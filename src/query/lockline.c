// SPDX-License-Identifier: MIT
/*
 * lockline?lock&from&to[&cols]   one lock over time: who held it and who waited for it
 *
 * lock is the id that a lock has in the summary. A holder's pieces are the time in which it had the
 * lock while others waited; a waiter's are its sleeps. A piece is [start, end), of which it was so
 * for `ns`: what lies nearer to each other than a column (1/cols of the range) is one piece. The
 * matrix has, by waiter and holder, how long the one waited while the other had it; its rows and
 * columns are in the order of `waiters` and `holders`. thread null: holders that are not known, and
 * those too many to be told ("others").
 */
#include <stdlib.h>
#include <string.h>

#include "query/ask.h"
#include "query/holds.h"
#include "model/parts.h"

#define LANES_MAX 60
#define COLS_MAX 10000

/* The sums of a thread on one side; their places in the order of size. */
struct party {
	uint32_t thread; /* index + 1; 0: not known */
	uint64_t ns;	 /* of waiting, by it or behind it */
	uint64_t waits;
	uint64_t last; /* the wait that was counted last */
};

struct parties {
	VEC(struct party) list; /* by ns; the unknown one behind the others */
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

static void add(struct parties *p, uint32_t thread, uint64_t ns, uint64_t wait)
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

/* Those that are too many are one lane, behind the others. */
static void order(struct parties *p)
{
	if (p->list.n)
		qsort(p->list.v, p->list.n, sizeof(*p->list.v), by_ns);
	for (uint32_t i = 0; i < p->list.n; i++)
		p->lane[p->list.v[i].thread] = i < LANES_MAX ? i : LANES_MAX;
}

static size_t lanes(const struct parties *p)
{
	return p->list.n <= LANES_MAX ? p->list.n : LANES_MAX + 1;
}

static void take_parties(struct lockline *l)
{
	size_t threads = query_threads(l->q) + 1;

	l->waiters.lane = mem_zalloc(threads * sizeof(*l->waiters.lane));
	l->holders.lane = mem_zalloc(threads * sizeof(*l->holders.lane));
	for (size_t i = 0, at = 0; i < l->holds.waits.n; i++) {
		const struct lock_wait *w = &l->holds.waits.v[i];

		add(&l->waiters, w->waiter + 1, w->end - w->start, i + 1);
		for (; at < w->pieces; at++) {
			const struct held_piece *p = &l->holds.pieces.v[at];

			add(&l->holders, p->holder, p->end - p->start, i + 1);
		}
	}
	order(&l->waiters);
	order(&l->holders);
}

static int by_lane(const void *pa, const void *pb)
{
	const struct bar *a = pa, *b = pb;

	if (a->lane != b->lane)
		return a->lane < b->lane ? -1 : 1;
	return (a->start > b->start) - (a->start < b->start);
}

struct pieces {
	VEC(int64_t) start, end, ns;
};

static void put_pieces(struct json *j, struct pieces *p)
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
static uint64_t join(struct pieces *p, const struct bar *s, size_t n, uint64_t least)
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
	struct pieces pieces = {0};
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
	sum = join(&pieces, s, n, least);
	json_u64(j, "ns", sum);
	put_pieces(j, &pieces);
	json_obj_end(j);
}

static void put_lanes(struct json *j, const char *key, const struct parties *p, struct bar *spans,
		      size_t n, uint64_t least)
{
	size_t at = 0;

	if (n)
		qsort(spans, n, sizeof(*spans), by_lane);
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
	size_t most = h->waits.n > h->pieces.n ? h->waits.n : h->pieces.n;
	struct bar *spans = mem_alloc((most + 1) * sizeof(*spans));

	for (size_t i = 0; i < h->waits.n; i++)
		spans[i] = (struct bar){l->waiters.lane[h->waits.v[i].waiter + 1],
					h->waits.v[i].start, h->waits.v[i].end};
	put_lanes(j, "waiters", &l->waiters, spans, h->waits.n, l->least);
	for (size_t i = 0; i < h->pieces.n; i++)
		spans[i] = (struct bar){l->holders.lane[h->pieces.v[i].holder],
					h->pieces.v[i].start, h->pieces.v[i].end};
	put_lanes(j, "holders", &l->holders, spans, h->pieces.n, l->least);
	free(spans);
}

static void put_matrix(struct json *j, const struct lockline *l)
{
	size_t rows = lanes(&l->waiters), cols = lanes(&l->holders);
	int64_t *ns = mem_zalloc((rows * cols + 1) * sizeof(*ns));

	for (size_t i = 0; i < l->holds.pieces.n; i++) {
		const struct held_piece *p = &l->holds.pieces.v[i];

		ns[l->waiters.lane[p->waiter + 1] * cols + l->holders.lane[p->holder]] +=
			(int64_t)(p->end - p->start);
	}
	json_arr(j, "matrix");
	for (size_t i = 0; i < rows && cols; i++)
		json_i64s(j, NULL, ns + i * cols, cols);
	json_arr_end(j);
	free(ns);
}

static void put_lock(struct json *j, const struct query *q, uint32_t lock)
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
	put_lock(&j, l->q, lock);
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
