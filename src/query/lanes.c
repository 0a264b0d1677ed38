// SPDX-License-Identifier: MIT
/*
 * `lanes` and `cpus`: what threads, or CPUs, did in each of so many columns of time, as shares.
 *
 *   for each lane: u32 runs; each run: u32 first column, u32 columns, u32 n, n times
 *   u32 class | share << 8
 *
 * A run is a row of equal columns; empty columns are in no run. The shares of a column are parts of
 * 65535, its whole time; what is missing is time without a thread. They are rounded so that they
 * add up to the rounded total. A column of no length (there are more columns than nanoseconds)
 * shows the class at that moment.
 */
#include "query/private.h"

enum { AHEAD = 8 }; /* columns, as long as memory takes */

enum { COLS_MAX = 1 << 16, CELLS_MAX = 1 << 21, WHOLE = 65535 };

struct column {
	uint32_t n;
	uint32_t cells[SLOTS];
};

struct picture {
	uint64_t *edges; /* one more than there are columns */
	size_t cols;
	struct buf *ret;
};

static void put_u32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, sizeof(v));
}

static uint32_t share_of(uint64_t part, uint64_t width)
{
	/* Drops low bits so that the product fits 64. */
	while (width >> 47) {
		width >>= 1;
		part >>= 1;
	}
	return (uint32_t)((part * WHOLE + width / 2) / width);
}

static void cell(struct column *c, unsigned slot, uint32_t share)
{
	if (share)
		c->cells[c->n++] = slot_class(slot) | share << 8;
}

static void lanes_fill(struct column *c, const struct lane_walk *w, const uint64_t *before,
		       const uint64_t *now, uint64_t width)
{
	uint64_t sum = 0;
	uint32_t last = 0;

	c->n = 0;
	for (unsigned i = 0; i < w->n; i++) {
		unsigned slot = w->slots[i];
		uint32_t upto;

		if (now[slot] == before[slot])
			continue;
		sum += now[slot] - before[slot];
		upto = share_of(sum, width);
		cell(c, slot, upto - last);
		last = upto;
	}
}

static void lanes_moment(struct column *c, const struct lane *l, uint64_t ts)
{
	size_t i = lane_find(l, ts);

	c->n = 0;
	if (i != SIZE_MAX && lane_class(l, i) != CLASS_GONE)
		cell(c, class_slot(lane_class(l, i)), WHOLE);
}

static bool same(const struct column *a, const struct column *b)
{
	return a->n == b->n && !memcmp(a->cells, b->cells, a->n * sizeof(*a->cells));
}

static uint32_t put_run(struct buf *b, const struct column *c, size_t first, size_t end)
{
	if (!c->n || first == end)
		return 0;
	put_u32(b, (uint32_t)first);
	put_u32(b, (uint32_t)(end - first));
	put_u32(b, c->n);
	buf_put(b, c->cells, c->n * sizeof(*c->cells));
	return 1;
}

static void put_lane(struct picture *p, const struct lane *l)
{
	uint64_t sums[2][SLOTS] = {0}, *before = sums[0], *now = sums[1], *spare;
	struct column run = {0}, c;
	size_t at = p->ret->len, first = 0;
	uint32_t runs = 0;
	struct lane_walk w;

	put_u32(p->ret, 0);
	lane_walk_init(&w, l);
	lane_walk_to(&w, p->edges[0], before);
	for (size_t i = 0; i < p->cols; i++) {
		uint64_t width = p->edges[i + 1] - p->edges[i];

		if (i + AHEAD <= p->cols)
			lane_walk_soon(&w, p->edges[i + AHEAD]);
		lane_walk_to(&w, p->edges[i + 1], now);
		if (width)
			lanes_fill(&c, &w, before, now, width);
		else
			lanes_moment(&c, l, p->edges[i]);
		spare = before;
		before = now;
		now = spare;
		if (i && same(&c, &run))
			continue;
		runs += put_run(p->ret, &run, first, i);
		run = c;
		first = i;
	}
	runs += put_run(p->ret, &run, first, p->cols);
	memcpy(p->ret->p + at, &runs, sizeof(runs));
}

static int picture_init(struct picture *p, struct query *q, const struct request *rq, size_t lanes,
			struct buf *ret)
{
	uint64_t from, to, cols;
	int rc = query_range(q, rq, &from, &to);

	rc = rc ? rc : request_need(rq, "cols", COLS_MAX, &cols);
	if (rc)
		return rc;
	if (!cols)
		return err_set(-EINVAL, "cols must be a number from 1 to %d", COLS_MAX);
	if (lanes * cols > CELLS_MAX)
		return err_set(-EINVAL, "%zu lanes of %zu columns are more than can be shown",
			       lanes, (size_t)cols);
	*p = (struct picture){.cols = (size_t)cols, .ret = ret};
	p->edges = mem_alloc((p->cols + 1) * sizeof(*p->edges));
	for (size_t i = 0; i <= p->cols; i++)
		p->edges[i] = from + (to - from) / cols * i + (to - from) % cols * i / cols;
	return 0;
}

int answer_lanes(struct query *q, const struct request *rq, struct buf *ret)
{
	struct number_list threads;
	struct picture p;
	int rc = request_list(rq, "threads", query_threads(q), &threads);

	if (rc)
		return rc;
	rc = picture_init(&p, q, rq, threads.n, ret);
	for (size_t i = 0; !rc && i < threads.n; i++)
		put_lane(&p, &q->columns.threads.v[threads.v[i]]);
	if (!rc)
		free(p.edges);
	free(threads.v);
	return rc;
}

int answer_cpus(struct query *q, const struct request *rq, struct buf *ret)
{
	struct picture p;
	int rc = picture_init(&p, q, rq, q->columns.cpus.n, ret);

	if (rc)
		return rc;
	for (size_t i = 0; i < q->columns.cpus.n; i++)
		put_lane(&p, &q->columns.cpus.v[i]);
	free(p.edges);
	return 0;
}
