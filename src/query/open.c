// SPDX-License-Identifier: MIT
/*
 * `open`: what a page needs to draw its first picture. While the capture is being loaded, how far
 * that is.
 */
#include "query/private.h"

#include "report/json_parts.h"
#include "report/lead.h"

static void put_reasons(struct json *j)
{
	/* Their numbers have holes. */
	static const uint8_t ids[] = {
#define REASON(id, UPPER, name, label, words, group, traits, level, light, dark) id,
#include "timeline/reason.def"
	};

	json_arr(j, "reasons");
	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		enum reason r = ids[i];

		json_obj(j, NULL);
		json_u64(j, "id", r);
		json_str(j, "name", reason_name(r));
		json_str(j, "label", reason_label(r));
		json_str(j, "words", reason_words(r));
		json_bool(j, "idle", reason_is_idle(r));
		json_obj_end(j);
	}
	json_arr_end(j);
}

/* A thread that had no work nearly all of its time, or was never seen to do anything. */
static bool is_idle(const struct thread *t)
{
	uint64_t idle = t->waits[REASON_IDLE] + t->waits[REASON_PARKED] + t->waits[REASON_DEAD];
	uint64_t wall = thread_wall(t);

	if (!t->total[INTERVAL_RUNNING] && !t->total[INTERVAL_RUNNABLE] && !t->samples)
		return t->total[INTERVAL_WAITING] > 0;
	return idle > wall - wall / 20;
}

static void put_thread(struct json *j, const struct query *q, const struct thread *t,
		       const char *process)
{
	json_obj(j, NULL);
	json_u64(j, "index", t->index);
	json_u64(j, "pid", t->pid);
	json_u64(j, "tid", t->tid);
	json_str(j, "comm", t->name);
	json_str(j, "process", process);
	json_u64(j, "start", query_time(q, t->start));
	json_u64(j, "end", query_time(q, t->end));
	json_put_times(j, q->model, t->total, t->waits, t->samples);
	json_bool(j, "idle", is_idle(t));
	json_bool(j, "kernel", t->flags & THREAD_KERNEL);
	json_obj_end(j);
}

/* A process has the name of its main thread, the latest one with that tid. */
static void put_threads(struct json *j, const struct query *q)
{
	const struct summary *s = q->summary;
	struct map mains = {0};

	for (uint32_t i = 0; i < query_threads(q); i++) {
		const struct thread *t = query_thread(q, i);

		if (t->pid && t->tid == t->pid)
			*map_put(&mains, t->pid, NULL) = i;
	}
	json_arr(j, "threads");
	for (size_t i = 0; i < s->threads.n; i++) {
		const struct thread *t = s->threads.v[i];
		const uint64_t *main = map_get(&mains, t->pid);

		put_thread(j, q, t, main ? query_thread(q, (uint32_t)*main)->name : t->name);
	}
	json_arr_end(j);
	map_done(&mains);
}

static void open_put_lock(struct json *j, const struct summary *s, size_t lock)
{
	const struct lock_sum *l;

	if (lock >= s->locks.n) {
		json_null(j, "lock");
		return;
	}
	l = &s->locks.v[lock];
	json_obj(j, "lock");
	if (l->inferred)
		json_null(j, "id");
	else
		json_u64(j, "id", l->index);
	json_str(j, "name", l->name);
	json_str(j, "kind", lock_kind_words(l->kind));
	json_obj_end(j);
}

static unsigned class_of(enum interval_kind doing, enum reason reason)
{
	if (doing == INTERVAL_RUNNING)
		return CLASS_RUNNING;
	return doing == INTERVAL_LOST ? CLASS_LOST : (unsigned)reason;
}

/* The middle of the culprit's longest stretch of what, by the stall, it did. */
static uint64_t telling_moment(const struct query *q, const struct stall *st)
{
	const struct lane *l = &q->columns.threads.v[st->culprit->index];
	uint64_t from = query_time(q, st->start), to = from + st->ns, most = 0,
		 at = from + st->ns / 2;
	size_t i = lane_find(l, from);

	for (i = i == SIZE_MAX ? 0 : i; i < l->n && lane_start(l, i) < to; i++) {
		uint64_t a = lane_start(l, i) > from ? lane_start(l, i) : from;
		uint64_t b = lane_end(l, i) < to ? lane_end(l, i) : to;

		if (b <= a || b - a <= most || lane_class(l, i) != class_of(st->doing, st->reason))
			continue;
		most = b - a;
		at = a + (b - a) / 2;
	}
	return at;
}

static void put_stalls(struct json *j, const struct query *q)
{
	const struct summary *s = q->summary;
	struct buf b = {0};

	json_arr(j, "stalls");
	for (size_t i = 0; i < s->stalls.list.n; i++) {
		const struct stall *st = &s->stalls.list.v[i];

		buf_clear(&b);
		lead_stall(s, st, &b);
		json_obj(j, NULL);
		json_u64(j, "start", query_time(q, st->start));
		json_u64(j, "ns", st->ns);
		json_u64(j, "threads", st->threads);
		json_u64(j, "of_threads", st->all);
		json_u64(j, "lost_ns", st->lost);
		open_put_lock(j, s, st->lock);
		if (st->culprit) {
			json_u64(j, "culprit", st->culprit->index);
			json_u64(j, "culprit_at", telling_moment(q, st));
		} else {
			json_null(j, "culprit");
			json_null(j, "culprit_at");
		}
		json_str(j, "text", buf_cstr(&b));
		json_obj_end(j);
	}
	json_arr_end(j);
	json_u64(j, "stalls_total", s->stalls.count);
	json_arr(j, "blackouts");
	for (size_t i = 0; i < s->stalls.blackouts.n; i++) {
		json_obj(j, NULL);
		json_u64(j, "start", query_time(q, s->stalls.blackouts.v[i].start));
		json_u64(j, "ns", s->stalls.blackouts.v[i].ns);
		json_obj_end(j);
	}
	json_arr_end(j);
	buf_done(&b);
}

static void open_put_text(struct json *j, const struct summary *s)
{
	struct buf b = {0};

	lead_sentence(s, &b);
	json_str(j, "text", b.len ? buf_cstr(&b) : "");
	buf_done(&b);
}

/* What the lead is about: the page opens with it. */
static void put_about(struct json *j, const struct summary *s)
{
	struct lead_about about;

	lead_about(s, &about);
	json_obj(j, "about");
	json_str(j, "kind", about.wait ? "wait" : "cpu");
	if (about.lock < s->locks.n && !s->locks.v[about.lock].inferred)
		json_u64(j, "lock", s->locks.v[about.lock].index);
	else
		json_null(j, "lock");
	json_arr(j, "threads");
	for (size_t i = 0; i < s->stuck.waits.n && s->stuck.waits.v[i].circle == 1; i++)
		json_u64(j, NULL, s->stuck.waits.v[i].thread->index);
	for (size_t i = 0; about.wait && !s->stuck.circles && i < s->finding.victims.n; i++)
		json_u64(j, NULL, s->finding.victims.v[i]->index);
	json_arr_end(j);
	json_obj_end(j);
}

static void put_all(struct json *j, const struct query *q)
{
	const struct model *m = q->model;

	json_put_capture(j, m);
	json_u64(j, "begin_unix_ns", model_unix_ns(m, m->timeline.begin));
	json_u64(j, "duration_ns", q->duration);
	json_bool(j, "has_switches", m->facts.has_switches);
	json_bool(j, "whole_machine", m->facts.whole_machine);
	json_u64(j, "events", m->events);
	json_u64(j, "samples", m->samples);
	open_put_text(j, q->summary);
	put_about(j, q->summary);
	json_put_finding(j, q->summary, NULL);
	put_reasons(j);
	put_threads(j, q);
	json_u64(j, "cpus", q->columns.cpus.n);
	put_stalls(j, q);
	json_put_losses(j, q->summary);
	json_put_guard(j, m);
	json_put_steps(j, m);
}

int answer_open(struct query *q, const struct request *rq, struct buf *ret)
{
	struct json j;

	json_init_buf(&j, ret);
	j.tight = true;
	json_obj(&j, NULL);
	json_str(&j, "schema", "thaw.page/1");
	json_f64(&j, "progress", query_progress(q));
	if (q->model)
		put_all(&j, q);
	json_obj_end(&j);
	return 0;
}
