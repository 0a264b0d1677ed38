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

static int load_model(struct sql *s, bool lean)
{
	struct model_opts opts = {.times_only = lean};
	struct loading *l;
	int rc;

	columns_init(&s->columns, reader_info(s->reader)->first_ts);
	columns_attach(&s->columns, &opts);
	if (lean) {
		opts.sink = on_time;
		opts.sample_sink = NULL;
		opts.seen_sink = NULL;
		opts.restart = on_restart;
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
	if (lean)
		settle(&s->columns, s->model);
	else
		columns_seal(&s->columns, s->model);
	s->work.passes++;
	s->work.lean_passes += lean;
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
	int rc;

	sql_unload(s);
	rc = load_model(s, !(want & WANT_MODEL));
	/* Without switches, only the samples tell of time. */
	if (!rc && !(want & WANT_MODEL) && !s->model->facts.has_switches) {
		want |= WANT_MODEL;
		sql_unload(s);
		rc = load_model(s, false);
	}
	if (!rc)
		s->loaded |= WANT_TIMES | (want & WANT_MODEL);
	return rc;
}

int sql_load(struct sql *s, unsigned want)
{
	int rc = SQLITE_OK;

	want |= s->wanted;
	if (want & WANT_SUMMARY)
		want |= WANT_MODEL;
	if (!(want & ~s->loaded))
		return SQLITE_OK;
	if (want & ~s->loaded & (WANT_TIMES | WANT_MODEL))
		rc = load_times(s, want);
	if (!rc && (want & ~s->loaded & WANT_EVENTS)) {
		rc = load_events(s);
		s->loaded |= rc ? 0 : WANT_EVENTS;
	}
	if (rc)
		return rc;
	if (want & ~s->loaded & WANT_SUMMARY) {
		/* Of all threads: there is no name that could be missing. */
		(void)summary_new(s->model, &(struct summary_opts){0}, &s->summary);
		s->loaded |= WANT_SUMMARY;
	}
	tables_done(&s->tables);
	tables_init(&s->tables, s->model, s->summary, reader_stacks(s->reader));
	return SQLITE_OK;
}
