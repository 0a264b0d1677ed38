// SPDX-License-Identifier: MIT
/*
 * Loads what statements need of the capture. If threads' time is enough, a pass without rows, locks
 * and reasons does; all else comes from the whole model with the columns of src/query.
 */
#include "base/sort.h"
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

static uint64_t load_since(const struct columns *c, uint64_t ts)
{
	return ts > c->base ? ts - c->base : 0;
}

/* Without reasons: every wait is REASON_UNKNOWN. */
static void on_time(void *arg, const struct interval *iv)
{
	static const uint8_t classes[INTERVAL_KINDS] = {
		[INTERVAL_RUNNING] = CLASS_RUNNING,
		[INTERVAL_RUNNABLE] = REASON_RUN_QUEUE,
		[INTERVAL_WAITING] = REASON_UNKNOWN,
		[INTERVAL_LOST] = CLASS_LOST,
	};
	struct columns *c = arg;

	lane_push(lane_of(c, iv->thread->index), &c->arena, load_since(c, iv->start),
		  load_since(c, iv->end), classes[iv->kind], iv->cpu, 0);
}

static void on_restart(void *arg)
{
	struct columns *c = arg;
	uint64_t base = c->base;

	columns_done(c);
	columns_init(c, base);
}

/* Makes times count from the start of the recording instead of the columns' base. */
static void load_settle(struct columns *c, const struct model *m)
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

static int load_failed(struct sql *s)
{
	sql_why(s, "%s", err_msg());
	return SQLITE_ERROR;
}

static void load_show(const struct sql *s, double done)
{
	if (s->opts.progress)
		s->opts.progress(s->opts.progress_arg, done);
}

/* How much of it a pass makes. */
enum depth { DEPTH_SUMS, DEPTH_REASONS, DEPTH_TIMES, DEPTH_MODEL };

static void load_attach(struct sql *s, enum depth depth, struct model_opts *opts)
{
	*opts = (struct model_opts){.times_only = depth == DEPTH_SUMS || depth == DEPTH_TIMES,
				    .reasons_only = depth == DEPTH_REASONS};
	if (depth >= DEPTH_TIMES)
		columns_attach(&s->columns, opts);
	if (depth == DEPTH_TIMES) {
		opts->sink = on_time;
		opts->sample_sink = NULL;
		opts->seen_sink = NULL;
		opts->restart = on_restart;
	}
	if (depth <= DEPTH_REASONS) {
		opts->sink = depth == DEPTH_SUMS ? sums_on_kind : sums_on_reason;
		opts->restart = sums_clear;
		opts->sink_arg = &s->sums;
	}
}

static int load_model(struct sql *s, enum depth depth)
{
	struct model_opts opts;
	struct loading *l;
	int rc;

	columns_init(&s->columns, reader_info(s->reader)->first_ts);
	sums_clear(&s->sums);
	load_attach(s, depth, &opts);
	l = loading_new(s->reader, &opts);
	while ((rc = loading_step(l, STEP)) > 0 && !s->stop)
		load_show(s, loading_progress(l));
	load_show(s, -1);
	if (rc) {
		loading_free(l);
		columns_done(&s->columns);
		return rc > 0 ? SQLITE_INTERRUPT : load_failed(s);
	}
	s->model = loading_finish(l, s->path);
	if (depth == DEPTH_TIMES)
		load_settle(&s->columns, s->model);
	else if (depth == DEPTH_MODEL)
		columns_seal(&s->columns, s->model);
	else
		sums_finish(&s->sums, s->model);
	s->work.passes++;
	s->work.lean_passes += depth < DEPTH_MODEL;
	return SQLITE_OK;
}

static int sql_by_ts(const void *pa, const void *pb)
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
		sort_by(v, n, sizeof(*v), sql_by_ts);
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
	return rc > 0 ? SQLITE_INTERRUPT : load_failed(s);
}

void sql_unload(struct sql *s)
{
	for (size_t i = 0; s->holders && i < s->model->locks.list.n; i++)
		main_holders_done(&s->holders[i]);
	free(s->holders);
	s->holders = NULL;
	tables_done(&s->tables);
	summary_free(s->summary);
	model_free(s->model);
	columns_done(&s->columns);
	s->summary = NULL;
	s->model = NULL;
	s->loaded &= WANT_EVENTS;
}

/* Lanes clamp times out of range: then sums made while reading differ from the rows. */
static bool sums_are_exact(const struct sql *s)
{
	const struct timeline *t = &s->model->timeline;

	return s->sums.first >= t->begin && t->begin >= s->columns.base &&
	       t->end - s->columns.base < LANE_TIME_MAX;
}

static int load_times(struct sql *s, unsigned want)
{
	static const unsigned has[] = {
		[DEPTH_SUMS] = WANT_SUMS,
		[DEPTH_REASONS] = WANT_SUMS | WANT_REASONS,
		[DEPTH_TIMES] = WANT_TIMES,
		[DEPTH_MODEL] = WANT_TIMES | WANT_MODEL,
	};
	enum depth depth = want & WANT_MODEL	 ? DEPTH_MODEL
			   : want & WANT_TIMES	 ? DEPTH_TIMES
			   : want & WANT_REASONS ? DEPTH_REASONS
						 : DEPTH_SUMS;
	enum depth next = depth;
	int rc;

	sql_unload(s);
	rc = load_model(s, depth);
	/* Without switches, times come from samples, which only the model has. */
	if (!rc && depth < DEPTH_MODEL && !s->model->facts.has_switches)
		next = DEPTH_MODEL;
	else if (!rc && depth <= DEPTH_REASONS && !sums_are_exact(s))
		next = depth == DEPTH_SUMS ? DEPTH_TIMES : DEPTH_MODEL;
	if (next != depth) {
		sql_unload(s);
		rc = load_model(s, next);
	}
	s->loaded |= rc ? 0 : has[next];
	return rc;
}

static int load_missing(struct sql *s, unsigned want)
{
	const unsigned sums = WANT_SUMS | WANT_REASONS;
	unsigned missing;
	int rc = SQLITE_OK;

	/* If intervals are loaded, sums are made from them, and that takes the model's reasons. */
	if (want & ~s->loaded & WANT_REASONS && (want | s->loaded) & WANT_TIMES)
		want |= WANT_MODEL;
	missing = want & ~s->loaded;
	if (missing & (WANT_TIMES | WANT_MODEL) || (missing & sums && !(s->loaded & WANT_TIMES)))
		rc = load_times(s, want | (s->loaded & ~sums));
	missing = want & ~s->loaded;
	if (!rc && (missing & sums)) {
		sums_from_lanes(&s->sums, &s->columns, s->model);
		s->loaded |= s->loaded & WANT_MODEL ? sums : WANT_SUMS;
	}
	if (!rc && (missing & WANT_EVENTS)) {
		rc = load_events(s);
		s->loaded |= rc ? 0 : WANT_EVENTS;
	}
	if (!rc && (missing & WANT_SUMMARY)) {
		/* Cannot fail: no thread is named. */
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
	if (want & WANT_REASONS)
		want |= WANT_SUMS;
	if (!(want & ~s->loaded))
		return SQLITE_OK;
	rc = load_missing(s, want);
	if (rc)
		return rc;
	tables_done(&s->tables);
	tables_init(&s->tables, s->model, s->summary, reader_stacks(s->reader));
	return SQLITE_OK;
}
