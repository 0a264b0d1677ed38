// SPDX-License-Identifier: MIT
/*
 * The capture, as far as statements need it. Threads' time alone comes from a pass that makes no
 * rows, locks or reasons of it; all else from the whole model with the columns of src/query.
 */
#include "sql/private.h"

#include <string.h>

#include "base/err.h"
#include "model/load.h"
#include "store/reader.h"

enum { STEP = 1 << 17 };

static struct lane *lane_of(struct columns *c, uint32_t index)
{
	while (c->threads.n <= index)
		vec_add(&c->threads);
	return &c->threads.v[index];
}

static uint64_t since(const struct columns *c, uint64_t ts)
{
	return ts > c->base ? ts - c->base : 0;
}

/* Without reasons: a wait is of the first of them. */
static void on_time(void *arg, const struct interval *iv)
{
	static const uint8_t classes[INTERVAL_KINDS] = {
		[INTERVAL_RUNNING] = CLASS_RUNNING,
		[INTERVAL_RUNNABLE] = REASON_RUN_QUEUE,
		[INTERVAL_WAITING] = REASON_UNKNOWN,
		[INTERVAL_LOST] = CLASS_LOST,
	};
	struct columns *c = arg;

	lane_push(lane_of(c, iv->thread->index), &c->arena, since(c, iv->start), since(c, iv->end),
		  classes[iv->kind], iv->cpu, 0);
}

static void add_sum(struct sums *to, uint32_t thread, unsigned kind, uint64_t ns)
{
	size_t i = (size_t)thread * INTERVAL_KINDS + kind;
	struct sum *s;

	while (to->n <= i)
		vec_add(to);
	s = &to->v[i];
	s->shortest = s->n && s->shortest < ns ? s->shortest : ns;
	s->longest = s->longest > ns ? s->longest : ns;
	s->n++;
	s->ns += ns;
}

static void on_sum(void *arg, const struct interval *iv)
{
	add_sum(arg, iv->thread->index, iv->kind, iv->end - iv->start);
}

static void on_sum_restart(void *arg)
{
	((struct sums *)arg)->n = 0;
}

/* Where the intervals are there already. */
static void sum_lanes(struct sql *s)
{
	s->sums.n = 0;
	for (uint32_t t = 0; s->model->facts.has_switches && t < s->columns.threads.n; t++) {
		const struct lane *l = &s->columns.threads.v[t];

		for (size_t i = 0; i < l->n; i++)
			if (lane_class(l, i) != CLASS_GONE)
				add_sum(&s->sums, t, class_kind(lane_class(l, i)),
					lane_end(l, i) - lane_start(l, i));
	}
}

static void on_restart(void *arg)
{
	struct columns *c = arg;
	uint64_t base = c->base;

	columns_done(c);
	columns_init(c, base);
}

/* Times are since the columns' base so far. */
static void settle(struct columns *c, const struct model *m)
{
	uint64_t by = m->timeline.begin > c->base ? m->timeline.begin - c->base : 0;

	while (c->threads.n < m->timeline.threads.n)
		vec_add(&c->threads);
	for (size_t t = 0; by && t < c->threads.n; t++) {
		struct lane *l = &c->threads.v[t];

		for (size_t i = 0; i < l->n; i++) {
			struct stretch *s = lane_at(l, i);
			uint64_t start = s->at >> 8;

			s->at = (start > by ? start - by : 0) << 8 | (s->at & 0xff);
		}
		l->end = l->end > by ? l->end - by : 0;
	}
}

static int failed(struct sql *s)
{
	sql_why(s, "%s", err_msg());
	return SQLITE_ERROR;
}

static void show(const struct sql *s, double done)
{
	if (s->opts.progress)
		s->opts.progress(s->opts.progress_arg, done);
}

/* How much of it a pass makes. */
enum depth { DEPTH_SUMS, DEPTH_TIMES, DEPTH_MODEL };

static int load_model(struct sql *s, enum depth depth)
{
	struct model_opts opts = {.times_only = depth < DEPTH_MODEL};
	struct loading *l;
	int rc;

	columns_init(&s->columns, reader_info(s->reader)->first_ts);
	columns_attach(&s->columns, &opts);
	if (depth < DEPTH_MODEL) {
		opts.sink = depth == DEPTH_SUMS ? on_sum : on_time;
		opts.sample_sink = NULL;
		opts.seen_sink = NULL;
		opts.restart = depth == DEPTH_SUMS ? on_sum_restart : on_restart;
	}
	if (depth == DEPTH_SUMS) {
		opts.sink_arg = &s->sums;
		s->sums.n = 0;
	}
	l = loading_new(s->reader, &opts);
	while ((rc = loading_step(l, STEP)) > 0 && !s->stop)
		show(s, loading_progress(l));
	show(s, -1);
	if (rc) {
		loading_free(l);
		columns_done(&s->columns);
		return rc > 0 ? SQLITE_INTERRUPT : failed(s);
	}
	s->model = loading_finish(l, s->path);
	if (depth == DEPTH_TIMES)
		settle(&s->columns, s->model);
	else if (depth == DEPTH_MODEL)
		columns_seal(&s->columns, s->model);
	s->work.passes++;
	s->work.lean_passes += depth < DEPTH_MODEL;
	return SQLITE_OK;
}

static int by_ts(const void *pa, const void *pb)
{
	const struct event *a = pa, *b = pb;

	return (a->ts > b->ts) - (a->ts < b->ts);
}

/* Nearly always they are in order. */
static void sort_events(struct event *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (v[i - 1].ts <= v[i].ts)
			continue;
		qsort(v, n, sizeof(*v), by_ts);
		return;
	}
}

static int load_events(struct sql *s)
{
	struct event ev;
	int rc;

	reader_rewind(s->reader);
	while ((rc = reader_next(s->reader, &ev)) > 0 && !s->stop) {
		if (ev.kind == EV_WAKING)
			vec_push(&s->wakes, ev);
		else if (ev.kind == EV_LOST)
			vec_push(&s->losses, ev);
	}
	s->work.passes++;
	if (!rc) {
		sort_events(s->wakes.v, s->wakes.n);
		sort_events(s->losses.v, s->losses.n);
		return SQLITE_OK;
	}
	s->wakes.n = s->losses.n = 0;
	return rc > 0 ? SQLITE_INTERRUPT : failed(s);
}

void sql_unload(struct sql *s)
{
	tables_done(&s->tables);
	summary_free(s->summary);
	model_free(s->model);
	columns_done(&s->columns);
	s->summary = NULL;
	s->model = NULL;
	s->loaded &= WANT_EVENTS;
}

static int load_times(struct sql *s, unsigned want)
{
	enum depth depth = want & WANT_MODEL   ? DEPTH_MODEL
			   : want & WANT_TIMES ? DEPTH_TIMES
					       : DEPTH_SUMS;
	int rc;

	sql_unload(s);
	rc = load_model(s, depth);
	/* Without switches, only the samples tell of time. */
	if (!rc && depth != DEPTH_MODEL && !s->model->facts.has_switches) {
		depth = DEPTH_MODEL;
		sql_unload(s);
		rc = load_model(s, depth);
	}
	if (rc)
		return rc;
	s->loaded |= depth == DEPTH_SUMS    ? WANT_SUMS
		     : depth == DEPTH_TIMES ? WANT_TIMES
					    : WANT_TIMES | WANT_MODEL;
	return SQLITE_OK;
}

static int load_missing(struct sql *s, unsigned want)
{
	unsigned missing = want & ~s->loaded;
	int rc = SQLITE_OK;

	/* Sums are made of intervals, where there are any. */
	if (missing & (WANT_TIMES | WANT_MODEL) ||
	    (missing & WANT_SUMS && !(s->loaded & WANT_TIMES)))
		rc = load_times(s, want | (s->loaded & ~(unsigned)WANT_SUMS));
	missing = want & ~s->loaded;
	if (!rc && (missing & WANT_SUMS)) {
		sum_lanes(s);
		s->loaded |= WANT_SUMS;
	}
	if (!rc && (missing & WANT_EVENTS)) {
		rc = load_events(s);
		s->loaded |= rc ? 0 : WANT_EVENTS;
	}
	if (!rc && (missing & WANT_SUMMARY)) {
		/* Of all threads: there is no name that could be missing. */
		(void)summary_new(s->model, &(struct summary_opts){0}, &s->summary);
		s->loaded |= WANT_SUMMARY;
	}
	return rc;
}

int sql_load(struct sql *s, unsigned want)
{
	int rc;

	want |= s->wanted;
	if (want & WANT_SUMMARY)
		want |= WANT_MODEL;
	if (want & WANT_MODEL)
		want |= WANT_TIMES;
	if (!(want & ~s->loaded))
		return SQLITE_OK;
	rc = load_missing(s, want);
	if (rc)
		return rc;
	tables_done(&s->tables);
	tables_init(&s->tables, s->model, s->summary, reader_stacks(s->reader));
	return SQLITE_OK;
}
