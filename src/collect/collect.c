// SPDX-License-Identifier: MIT
#include "collect/collect.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "collect/collect_private.h"
#include "guard/budget.h"
#include "wire/loss.h"
#include "wire/meta.h"
#include "wire/unseen.h"

#define STACKS_BUDGET (8u << 20) /* for each of two generations of stacks */

/* Building unwind tables may take half of thaw's share of the machine. */
static uint64_t build_share(const struct plan *plan)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return plan->max_overhead < BUDGET_WHOLE
		       ? plan->max_overhead * (cpus > 0 ? (uint64_t)cpus : 1) / 2
		       : 0;
}

/* The command line of the process that thaw attached to; nothing waits for this answer. */
static void take_command(void *ctx, const struct scout_answer *a)
{
	struct collector *c = ctx;
	struct buf b = {0};

	for (size_t i = 0; !a->status && i < a->n_text; i++) {
		char one = a->text[i] ? a->text[i] : ' ';

		if (a->text[i] || i + 1 < a->n_text)
			buf_put(&b, &one, 1);
	}
	if (b.len)
		writer_meta(c->w, META_TARGET_COMMAND, buf_cstr(&b));
	buf_done(&b);
}

static void ask_command(struct collector *c)
{
	struct scout_question q = {.kind = SCOUT_COMMAND};

	scout_on(c->scout, SCOUT_COMMAND, take_command, c);
	if (c->plan->scope != SCOPE_PROCESS || c->plan->n_ids != 1)
		return;
	q.pid = c->plan->ids[0];
	(void)scout_ask(c->scout, &q, true);
}

struct collector *collector_new(const struct plan *plan, struct engine *e, struct writer *w,
				struct scout *scout)
{
	struct collector *c = mem_zalloc(sizeof(*c));

	c->plan = plan;
	c->e = e;
	c->w = w;
	c->procs = procs_new(w);
	c->scout = scout;
	procs_set_scout(c->procs, scout);
	scout_on(scout, SCOUT_CALLS, collect_take_calls, c);
	c->stacks = stacks_new(w, c->procs, e, STACKS_BUDGET);
	c->tables = unwinds_new(
		e, c->procs,
		&(struct unwinds_opts){.dir = plan->tables_dir, .share = build_share(plan)});
	c->places = places_new(c->procs, scout);
	ask_command(c);
	c->runs = runs_new();
	if (e->self_told)
		unwinds_set_miss(c->tables, collect_look_again, c);
	if (e->perf) {
		static const struct perf_stream_ops ops = {.probe = collect_probe,
							   .walk = collect_copy};

		c->stream = perf_stream_new(e->perf, &ops, c);
	}
	return c;
}

void collector_set_idle(struct collector *c, unwinds_idle_fn *fn, void *ctx)
{
	unwinds_set_idle(c->tables, fn, ctx);
	scout_set_idle(c->scout, fn, ctx);
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	stacks_free(c->stacks);
	unwinds_free(c->tables);
	places_free(c->places);
	perf_stream_free(c->stream);
	procs_free(c->procs);
	map_done(&c->born);
	map_done(&c->own);
	map_done(&c->threads);
	map_done(&c->strangers);
	map_done(&c->refreshed);
	runs_free(c->runs);
	vec_done(&c->found);
	map_done(&c->found_at);
	collect_free_asleep(c);
	free(c->held);
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

		collect_tell_late(c, t->ts);
		ev.mark.note = t->note;
		c->last_ts = ev.ts;
		writer_event(c->w, &ev);
	}
	collect_tell_late(c, until);
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

static __attribute__((noinline)) void put_behind(struct collector *c, struct event *ev)
{
	collector_passed(c, ev->ts);
	c->last_ts = ev->ts;
	writer_event(c->w, ev);
}

void collect_put(struct collector *c, struct event *ev)
{
	if (c->steps.n || c->late_told < c->late.n) {
		put_behind(c, ev);
		return;
	}
	c->last_ts = ev->ts;
	writer_event(c->w, ev);
}

void collector_begin(struct collector *c, uint64_t ts)
{
	struct event ev = {.ts = ts, .kind = EV_MARK, .mark = {.what = MARK_BEGIN}};

	collect_put(c, &ev);
	writer_meta(c->w, META_KERNEL_LOCKS, c->e->kernel_locks ? "yes" : "no");
	writer_unseen(c->w, c->e->unseen);
	if (c->stream)
		perf_stream_begin(c->stream, ts);
	c->armed = true;
	c->begin_ts = ts;
	collect_look_again_asleep(c);
	procs_set_tell(c->procs, collect_tell_map, c);
	/* Find threads born between the first look and arming. Ended ones are no error now. */
	(void)collect_find_all(c);
	collect_find_own(c);
	collect_tell_found(c);
	collect_read_asleep(c, false);
	collect_tell_asleep(c);
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
	if (c->ghosts.n)
		collect_lay_ghosts(c, false);
	scout_pump(c->scout);
	unwinds_settle(c->tables);
}

/* What walking the stacks took. */
static void tell_tables(struct collector *c)
{
	struct unwinds_stats st;

	unwinds_stats(c->tables, &st);
	const struct {
		const char *key;
		uint64_t val;
	} facts[] = {{META_UNWIND_OBJECTS, st.objects.objects},
		     {META_UNWIND_ROWS, st.objects.rows},
		     {META_UNWIND_BYTES, st.objects.bytes},
		     {META_UNWIND_BUILT, st.objects.built},
		     {META_UNWIND_READ, st.objects.read},
		     {META_UNWIND_EVICTED, st.objects.evicted},
		     {META_UNWIND_REFUSED, st.objects.refused},
		     {META_UNWIND_BUILD_NS, st.objects.build_ns},
		     {META_UNWIND_COPIES, st.copies},
		     {META_UNWIND_COPY_BYTES, st.copy_bytes},
		     {META_UNWIND_PUBLISHED, st.published},
		     {META_UNWIND_RESETS, st.resets}};

	for (size_t i = 0; c->tables && i < ARRAY_LEN(facts); i++)
		writer_meta_number(c->w, facts[i].key, facts[i].val);
}

/* Counts what could not be read. */
static void tell_unread(struct collector *c)
{
	const char *const *list;
	size_t n, all = procs_silent(c->procs, &list, &n);
	uint64_t untold = places_untold(c->places);
	struct asleep_untold asleep = collect_asleep_untold(c);
	char text[96];

	for (size_t i = 0; i < n; i++)
		writer_meta(c->w, META_UNREAD, list[i]);
	snprintf(text, sizeof(text), "%zu more", all - n);
	if (all > n)
		writer_meta(c->w, META_UNREAD, text);
	if (untold)
		writer_meta_number(c->w, META_PLACES_UNTOLD, untold);
	if (asleep.threads)
		writer_meta_number(c->w, META_ASLEEP_UNREAD, asleep.threads);
	if (asleep.files)
		writer_meta_number(c->w, META_ASLEEP_FILES_UNREAD, asleep.files);
	writer_meta_number(c->w, META_SCOUT_CPU_NS, scout_cpu_ns(c->scout));
}

/* Programs that could not be followed. */
static void tell_runs(struct collector *c)
{
	char names[256], text[320];
	size_t n = runs_missed(c->runs, names, sizeof(names));

	if (!n)
		return;
	snprintf(text, sizeof(text), "%zu (%s)", n, names);
	writer_meta(c->w, META_NOT_FOLLOWED, text);
}

static void note_unread(const struct collector *c, char *out, size_t room)
{
	const char *const *list;
	size_t n, len = strlen(out), all = procs_silent(c->procs, &list, &n);

	if (all && len < room)
		snprintf(out + len, room - len,
			 "%s%zu file%s could not be read, not answering: %s%s", len ? "; " : "",
			 all, all == 1 ? "" : "s", list[0], all > 1 ? " and others" : "");
}

static void note_asleep(const struct collector *c, char *out, size_t room)
{
	struct asleep_untold n = collect_asleep_untold(c);
	size_t len = strlen(out);

	if (n.threads && len < room)
		snprintf(out + len, room - len,
			 "%sthe stack or the lock of a sleeping thread was not read in time, "
			 "%" PRIu64 " time%s",
			 len ? "; " : "", n.threads, n.threads == 1 ? "" : "s");
	len = strlen(out);
	if (n.files && len < room)
		snprintf(out + len, room - len,
			 "%sthe file that a sleeping thread waits for was not read, %" PRIu64
			 " time%s",
			 len ? "; " : "", n.files, n.files == 1 ? "" : "s");
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
	note_unread(c, out, room);
	note_asleep(c, out, room);
}

static void tell_untold(void *collector, const struct pr_klocks *r)
{
	struct collector *c = collector;

	collect_klocks(c, r, c->last_ts, 0);
}

void collector_stopping(struct collector *c)
{
	unwinds_hurry(c->tables);
	collect_look_asleep(c);
}

void collector_end(struct collector *c, uint64_t ts)
{
	struct event ev = {.ts = ts > c->last_ts ? ts : c->last_ts};

	collect_lay_ghosts(c, true);
	if (!c->detached_ns) {
		collector_passed(c, ev.ts);
		c->last_ts = ev.ts;
		collect_read_asleep(c, true);
		collect_tell_asleep(c);
	}
	unwinds_end(c->tables);
	tell_tables(c);
	tell_runs(c);
	tell_unread(c);
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

void collector_lost(const struct collector *c, uint64_t *ret_by_cause)
{
	static const enum loss_class classes[LOSS_CAUSES] = {
#define LOSS(id, UPPER, name, class, words, advice) [id] = LOSS_CLASS_##class,
#include "wire/loss.def"
	};

	for (uint32_t i = 0; i < LOSS_CAUSES; i++)
		ret_by_cause[i] = classes[i] == LOSS_CLASS_STACK ? 0 : c->lost[i];
}

uint64_t collector_scout_ns(const struct collector *c)
{
	return scout_cpu_ns(c->scout);
}

uint64_t collector_build_ns(const struct collector *c)
{
	return unwinds_cpu_ns(c->tables);
}

uint64_t collector_child_ns(const struct collector *c)
{
	return unwinds_child_ns(c->tables);
}
