// SPDX-License-Identifier: MIT
#include "capture/collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "capture/collect_private.h"
#include "wire/loss.h"
#include "wire/unseen.h"

#define STACKS_BUDGET (8u << 20)	/* of this generation of stacks, and as much of the last */
#define GHOSTS_NS (200 * NSEC_PER_MSEC) /* all records of the beginning have come by then */

struct collector *collector_new(const struct plan *plan, struct engine *e, struct writer *w)
{
	struct collector *c = mem_zalloc(sizeof(*c));

	c->plan = plan;
	c->e = e;
	c->w = w;
	c->procs = procs_new(w);
	c->stacks = stacks_new(w, c->procs, e, STACKS_BUDGET);
	c->tables = tables_new(e, c->procs);
	c->places = places_new(c->procs);
	c->runs = runs_new();
	if (e->self_told)
		tables_set_miss(c->tables, collect_look_again, c);
	if (e->perf) {
		static const struct perf_stream_ops ops = {.probe = collect_probe,
							   .walk = collect_copy};

		c->stream = perf_stream_new(e->perf, &ops, c);
	}
	return c;
}

void collector_set_idle(struct collector *c, tables_idle_fn *fn, void *ctx)
{
	tables_set_idle(c->tables, fn, ctx);
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	stacks_free(c->stacks);
	tables_free(c->tables);
	places_free(c->places);
	perf_stream_free(c->stream);
	procs_free(c->procs);
	map_done(&c->born);
	map_done(&c->threads);
	map_done(&c->strangers);
	map_done(&c->refreshed);
	runs_free(c->runs);
	vec_done(&c->found);
	vec_done(&c->steps);
	vec_done(&c->ghosts);
	free(c);
}

void collector_passed(struct collector *c, uint64_t until)
{
	size_t n = 0;

	for (; n < c->steps.n && c->steps.v[n].ts <= until; n++) {
		struct step_told *t = &c->steps.v[n];
		struct event ev = {.ts = t->ts, .kind = EV_MARK, .mark = t->mark};

		ev.mark.note = t->note;
		c->last_ts = ev.ts;
		writer_event(c->w, &ev);
	}
	if (!n)
		return;
	c->steps.n -= n;
	memmove(c->steps.v, c->steps.v + n, c->steps.n * sizeof(*c->steps.v));
}

void collector_step(struct collector *c, uint64_t ts, const struct ev_mark *mark)
{
	struct step_told *t = vec_add(&c->steps);

	*t = (struct step_told){.ts = ts, .mark = *mark};
	snprintf(t->note, sizeof(t->note), "%s", mark->note ? mark->note : "");
}

void collector_detached(struct collector *c, uint64_t ts)
{
	c->detached_ns = ts;
}

void collect_put(struct collector *c, struct event *ev)
{
	if (c->steps.n)
		collector_passed(c, ev->ts);
	c->last_ts = ev->ts;
	writer_event(c->w, ev);
}

static void tell_unseen(struct collector *c)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} rows[] = {
#define UNSEEN(bit, UPPER, name, words) {UNSEEN_##UPPER, name},
#include "wire/unseen.def"
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (c->e->unseen & rows[i].bit)
			writer_meta(c->w, "unseen", rows[i].name);
}

void collector_begin(struct collector *c, uint64_t ts)
{
	struct event ev = {.ts = ts, .kind = EV_MARK, .mark = {.what = MARK_BEGIN}};

	collect_put(c, &ev);
	writer_meta(c->w, "kernel_locks", c->e->kernel_locks ? "yes" : "no");
	tell_unseen(c);
	if (c->stream)
		perf_stream_begin(c->stream, ts);
	c->armed = true;
	c->begin_ts = ts;
	/* Born between the first look and arming; gone ones are no error now. */
	(void)collect_find_all(c);
	collect_tell_found(c);
}

void collector_record(void *collector, const struct record *rec)
{
	if (rec->type == RECORD_PROBE)
		collect_probe(collector, rec);
	else
		collect_perf(collector, rec);
}

void collector_settle(struct collector *c)
{
	if (c->ghosts.n && clock_mono_ns() > c->begin_ts + GHOSTS_NS)
		collect_lay_ghosts(c);
	tables_settle(c->tables);
}

/* What walking the stacks took. */
static void tell_tables(struct collector *c)
{
	struct tables_stats st;

	tables_stats(c->tables, &st);
	const struct {
		const char *key;
		uint64_t val;
	} facts[] = {{"unwind_objects", st.objects},	 {"unwind_rows", st.rows},
		     {"unwind_bytes", st.bytes},	 {"unwind_build_ns", st.build_ns},
		     {"unwind_copies", st.copies},	 {"unwind_copy_bytes", st.copy_bytes},
		     {"unwind_published", st.published}, {"unwind_resets", st.resets}};

	for (size_t i = 0; c->tables && i < ARRAY_LEN(facts); i++) {
		char text[24];

		snprintf(text, sizeof(text), "%llu", (unsigned long long)facts[i].val);
		writer_meta(c->w, facts[i].key, text);
	}
}

/* Programs that could not be followed. */
static void tell_runs(struct collector *c)
{
	char names[256], text[320];
	size_t n = runs_missed(c->runs, names, sizeof(names));

	if (!n)
		return;
	snprintf(text, sizeof(text), "%zu (%s)", n, names);
	writer_meta(c->w, "not_followed", text);
}

void collector_notes(const struct collector *c, char *out, size_t room)
{
	size_t len = strlen(out);
	char names[160];
	size_t n = runs_missed(c->runs, names, sizeof(names));

	if (n && len < room)
		snprintf(out + len, room - len,
			 "%s%zu program%s could not be followed, being static, or having other "
			 "rights or another machine: %s",
			 len ? "; " : "", n, n == 1 ? "" : "s", names);
}

static void tell_untold(void *collector, const struct pr_klocks *r)
{
	struct collector *c = collector;

	collect_klocks(c, r, c->last_ts, 0);
}

void collector_end(struct collector *c, uint64_t ts)
{
	struct event ev = {.ts = ts > c->last_ts ? ts : c->last_ts};

	tell_tables(c);
	tell_runs(c);
	if (c->e->ops->untold)
		c->e->ops->untold(c->e, tell_untold, c);
	collector_passed(c, ev.ts);
	if (c->detached_ns && c->detached_ns < ev.ts) {
		ev.kind = EV_LOST;
		ev.cpu = EVENT_ALL_CPUS;
		ev.lost =
			(struct ev_lost){.cause = LOSS_DETACHED, .span_ns = ev.ts - c->detached_ns};
		collect_put(c, &ev);
	}
	for (size_t i = 0; i < c->e->n_sources; i++) {
		uint64_t from = c->e->ops->open_loss(c->e, i);

		if (!from || from > ev.ts)
			continue;
		ev.kind = EV_LOST;
		ev.cpu = c->e->sources[i]->cpu;
		ev.lost = (struct ev_lost){.cause = LOSS_RING_FULL, .span_ns = ev.ts - from};
		collect_put(c, &ev);
	}
	ev.kind = EV_MARK;
	ev.cpu = 0;
	ev.mark = (struct ev_mark){.what = MARK_END};
	collect_put(c, &ev);
}

uint64_t collector_alive(const struct collector *c)
{
	return c->threads.n;
}

uint64_t collector_seen(const struct collector *c)
{
	return c->seen;
}

uint64_t collector_lost(const struct collector *c)
{
	return c->lost;
}

uint64_t collector_build_ns(const struct collector *c)
{
	return tables_cpu_ns(c->tables);
}
