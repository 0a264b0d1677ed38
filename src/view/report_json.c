// SPDX-License-Identifier: MIT
/*
 * The report as JSON, schema "thaw.report/1": nanoseconds throughout, stacks leaf first. Keys may
 * be added; none is ever left out, so that a consumer need not ask whether it is there.
 */
#include "view/report.h"

#include <string.h>

#include "base/json.h"

static size_t rows(const struct report_opts *o, size_t have)
{
	return o->top && o->top < have ? o->top : have;
}

static void put_capture(struct json *j, const struct model *m)
{
	const struct facts *f = &m->facts;
	uint64_t start = model_window_start(m);

	json_obj(j, "capture");
	json_str(j, "path", f->path);
	json_str(j, "host", f->host);
	json_str(j, "kernel", f->kernel);
	json_str(j, "engine", f->engine);
	json_u64(j, "start_unix_ns", model_unix_ns(m, m->timeline.begin));
	json_u64(j, "duration_ns", m->timeline.end - m->timeline.begin);
	json_u64(j, "cpus", f->cpus);
	json_u64(j, "freq_hz", f->freq_hz);
	json_arr(j, "command");
	for (size_t i = 0; i < f->command.n; i++)
		json_str(j, NULL, f->command.v[i]);
	json_arr_end(j);
	json_bool(j, "complete", f->complete);
	json_str(j, "damage", f->damage);
	json_bool(j, "symbols", f->has_symbols);
	json_u64(j, "window_start_ns", start - m->timeline.begin);
	json_u64(j, "window_ns", model_window_ns(m));
	json_obj_end(j);
}

static uint64_t broken_stacks(const struct model *m)
{
	uint64_t n = 0;

	for (unsigned u = 0; u < STACK_USES; u++)
		for (unsigned i = 1; i < UNWIND_STOPS; i++)
			n += model_stop_whole(i) ? 0 : m->ends.by_stop[u][i];
	return n;
}

static void put_losses(struct json *j, const struct summary *s)
{
	const struct losses *l = &s->model->losses;

	json_obj(j, "losses");
	json_u64(j, "events", l->by_class[LOSS_CLASS_EVENT]);
	json_u64(j, "samples", l->by_class[LOSS_CLASS_SAMPLE]);
	json_u64(j, "stacks_broken", l->by_class[LOSS_CLASS_STACK] + broken_stacks(s->model));
	json_obj(j, "by_cause");
	for (unsigned i = 0; i < LOSS_CAUSES; i++)
		if (l->by_cause[i])
			json_u64(j, loss_name(i), l->by_cause[i]);
	if (l->unknown)
		json_u64(j, "unknown", l->unknown);
	json_obj_end(j);
	json_obj(j, "by_kind");
	for (unsigned i = 1; i < EV_KINDS; i++)
		if (l->by_kind[i])
			json_u64(j, model_event_name(i), l->by_kind[i]);
	json_obj_end(j);
	json_u64(j, "out_of_order", l->late);
	json_u64(j, "contradictions", l->odd);
	json_u64(j, "thread_time_ns", s->total[INTERVAL_LOST]);
	json_obj_end(j);
}

/* User stacks: how many reach the entry of their program or thread, and why the others do not. */
static void put_stacks(struct json *j, const struct model *m)
{
	static const char *const uses[STACK_USES] = {"samples", "waits", "wakers"};

	json_obj(j, "stacks");
	for (unsigned u = 0; u < STACK_USES; u++) {
		uint64_t whole = 0, broken = 0;

		json_obj(j, uses[u]);
		for (unsigned i = 1; i < UNWIND_STOPS; i++)
			*(model_stop_whole(i) ? &whole : &broken) += m->ends.by_stop[u][i];
		json_u64(j, "whole", whole);
		json_u64(j, "broken", broken);
		json_obj(j, "by_reason");
		for (unsigned i = 1; i < UNWIND_STOPS; i++)
			if (m->ends.by_stop[u][i] && !model_stop_whole(i))
				json_u64(j, model_stop_name(i), m->ends.by_stop[u][i]);
		json_obj_end(j);
		json_obj_end(j);
	}
	json_obj_end(j);
}

static void put_frame(struct json *j, const struct names *n, const struct named_frame *f)
{
	const struct function *fn = names_function(n, f->function);

	json_obj(j, NULL);
	json_str(j, "name", fn->name);
	json_str(j, "module", fn->module);
	if (fn->file)
		json_str(j, "file", fn->file);
	else
		json_null(j, "file");
	json_u64(j, "line", f->line);
	json_bool(j, "inlined", f->inlined);
	json_obj_end(j);
}

static void put_stack(struct json *j, struct names *names, uint32_t kstack, uint32_t ustack)
{
	const struct named_frame *f;
	size_t n = names_probed_stack(names, kstack, ustack, &f);

	json_arr(j, "stack");
	for (size_t i = 0; i < n; i++)
		put_frame(j, names, &f[i]);
	json_arr_end(j);
}

static void put_thread(struct json *j, const struct thread *t)
{
	json_obj(j, NULL);
	json_u64(j, "pid", t->pid);
	json_u64(j, "tid", t->tid);
	json_str(j, "comm", t->name);
	json_u64(j, "wall_ns", thread_wall(t));
	json_u64(j, "running_ns", t->total[INTERVAL_RUNNING]);
	json_u64(j, "runnable_ns", t->total[INTERVAL_RUNNABLE]);
	json_u64(j, "waiting_ns", t->total[INTERVAL_WAITING]);
	json_u64(j, "lost_ns", t->total[INTERVAL_LOST]);
	json_obj(j, "waits");
	for (unsigned r = 0; r < REASONS; r++)
		if (t->waits[r])
			json_u64(j, reason_name(r), t->waits[r]);
	json_obj_end(j);
	json_u64(j, "samples", t->samples);
	json_obj_end(j);
}

static void put_function(struct json *j, const struct names *n, const struct function_count *c)
{
	const struct function *f = names_function(n, c->function);

	json_obj(j, NULL);
	json_str(j, "name", f->name);
	json_str(j, "module", f->module);
	if (f->file)
		json_str(j, "file", f->file);
	else
		json_null(j, "file");
	json_u64(j, "line", f->line);
	json_u64(j, "self_samples", c->self);
	json_u64(j, "total_samples", c->total);
	json_obj_end(j);
}

static void put_waker(struct json *j, struct names *names, const struct waker_sum *w)
{
	json_obj(j, NULL);
	json_str(j, "kind", w->interrupt ? "interrupt" : "thread");
	json_u64(j, "pid", w->thread ? w->thread->pid : 0);
	json_u64(j, "tid", w->tid);
	json_str(j, "comm", w->interrupt ? "interrupt" : w->thread ? w->thread->name : "?");
	json_u64(j, "total_ns", w->total);
	json_u64(j, "count", w->count);
	put_stack(j, names, w->kstack, w->ustack);
	json_obj_end(j);
}

static void put_wait(struct json *j, const struct summary *s, const struct wait_place *w)
{
	const struct model *m = s->model;

	json_obj(j, NULL);
	json_str(j, "reason", reason_name(w->reason));
	json_u64(j, "total_ns", w->total);
	json_u64(j, "count", w->count);
	json_u64(j, "not_ended", w->open);
	json_u64(j, "max_ns", w->max);
	json_u64(j, "max_start_unix_ns", model_unix_ns(m, w->max_start));
	json_u64(j, "max_tid", w->max_thread ? w->max_thread->tid : 0);
	json_u64(j, "threads", w->threads);
	put_stack(j, &s->model->names, w->kstack, w->ustack);
	json_arr(j, "wakers");
	for (size_t i = 0; i < w->wakers.n && i < 10; i++)
		put_waker(j, &s->model->names, &w->wakers.v[i]);
	json_arr_end(j);
	json_obj_end(j);
}

/* Where only some threads were looked at, nobody knows what a CPU did in between. */
static void put_cpus(struct json *j, const struct model *m)
{
	const struct timeline *t = &m->timeline;

	json_arr(j, "cpus");
	for (size_t i = 0; m->facts.whole_machine && i < t->cpus.n; i++) {
		if (!t->cpus.v[i].seen)
			continue;
		json_obj(j, NULL);
		json_u64(j, "cpu", i);
		json_u64(j, "busy_ns", t->cpus.v[i].busy_ns);
		json_u64(j, "idle_ns", t->cpus.v[i].idle_ns);
		json_obj_end(j);
	}
	json_arr_end(j);
}

void report_json(const struct summary *s, const struct report_opts *opts, FILE *out)
{
	struct json j;

	json_init(&j, out);
	json_obj(&j, NULL);
	json_str(&j, "schema", "thaw.report/1");
	put_capture(&j, s->model);
	put_losses(&j, s);
	put_stacks(&j, s->model);
	json_obj(&j, "guard");
	json_str(&j, "verdict", "unchecked");
	json_arr(&j, "findings");
	json_arr_end(&j);
	json_obj_end(&j);
	json_arr(&j, "threads");
	for (size_t i = 0; i < rows(opts, s->threads.n); i++)
		put_thread(&j, s->threads.v[i]);
	json_arr_end(&j);
	json_arr(&j, "functions");
	for (size_t i = 0; i < rows(opts, s->functions.n); i++)
		put_function(&j, &s->model->names, &s->functions.v[i]);
	json_arr_end(&j);
	json_arr(&j, "waits");
	for (size_t i = 0; i < rows(opts, s->waits.n); i++)
		put_wait(&j, s, &s->waits.v[i]);
	for (unsigned r = 0; r < REASONS; r++)
		if (s->placeless[r].total)
			put_wait(&j, s, &s->placeless[r]);
	json_arr_end(&j);
	json_arr(&j, "locks");
	json_arr_end(&j);
	put_cpus(&j, s->model);
	json_obj_end(&j);
}
