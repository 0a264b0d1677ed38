// SPDX-License-Identifier: MIT
/*
 * The report as JSON, schema "thaw.report/1": nanoseconds throughout, stacks leaf first. Later
 * versions may add keys. None is ever left out, so consumers need not check for them.
 */
#include "report/report.h"

#include "report/json_parts.h"

static size_t rows(const struct report_opts *o, size_t have)
{
	return o->top && o->top < have ? o->top : have;
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
		json_u64(j, "guessed", m->ends.guessed[u]);
		json_obj(j, "by_reason");
		for (unsigned i = 1; i < UNWIND_STOPS; i++)
			if (m->ends.by_stop[u][i] && !model_stop_whole(i))
				json_u64(j, model_stop_name(i), m->ends.by_stop[u][i]);
		json_obj_end(j);
		json_obj_end(j);
	}
	json_obj_end(j);
}

static void put_thread(struct json *j, const struct model *m, const struct thread *t)
{
	json_obj(j, NULL);
	json_u64(j, "pid", t->pid);
	json_u64(j, "tid", t->tid);
	json_str(j, "comm", t->name);
	json_u64_if(j, "wall_ns", !model_timeless(m), thread_wall(t));
	json_put_times(j, m, t->total, t->waits, t->samples);
	json_obj_end(j);
}

static void report_put_function(struct json *j, const struct names *n,
				const struct function_count *c)
{
	const struct function *f = names_function(n, c->function);

	json_obj(j, NULL);
	json_str(j, "name", f->name);
	json_str(j, "module", f->module);
	json_str(j, "file", f->file);
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
	json_put_stack(j, "stack", names, w->kstack, w->ustack);
	json_obj_end(j);
}

static void put_wait(struct json *j, const struct summary *s, const struct wait_place *w)
{
	const struct model *m = s->model;

	json_obj(j, NULL);
	json_str(j, "reason", reason_name(w->reason));
	json_str(j, "evidence", evidence_name(w->evidence));
	json_str(j, "in", reason_is_idle(w->reason) ? reason_name(w->in) : NULL);
	if (w->lock < s->locks.n)
		json_u64(j, "lock", w->lock);
	else
		json_null(j, "lock");
	json_put_file(j, "file", w->file);
	json_bool(j, "own", w->own);
	json_u64(j, "total_ns", w->total);
	json_u64(j, "count", w->count);
	json_u64(j, "not_ended", w->open);
	json_u64(j, "max_ns", w->max);
	json_u64(j, "max_start_unix_ns", model_unix_ns(m, w->max_start));
	json_put_offset(j, "max_start_ns", m, w->max_start);
	json_u64(j, "max_tid", w->max_thread ? w->max_thread->tid : 0);
	json_u64(j, "threads", w->threads);
	json_put_stack(j, "stack", &s->model->names, w->kstack, w->ustack);
	json_arr(j, "wakers");
	for (size_t i = 0; i < w->wakers.n && i < 10; i++)
		put_waker(j, &s->model->names, &w->wakers.v[i]);
	json_arr_end(j);
	json_obj_end(j);
}

/* If only some threads were recorded, what a CPU did between them is not known. */
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

void report_put_json(const struct summary *s, const struct report_opts *opts, struct json *j)
{
	json_obj(j, NULL);
	json_str(j, "schema", REPORT_SCHEMA);
	json_put_capture(j, s->model);
	json_put_losses(j, s);
	put_stacks(j, s->model);
	json_put_guard(j, s->model);
	json_put_steps(j, s->model);
	json_arr(j, "threads");
	for (size_t i = 0; i < rows(opts, s->threads.n); i++)
		put_thread(j, s->model, s->threads.v[i]);
	json_arr_end(j);
	json_arr(j, "functions");
	for (size_t i = 0; i < rows(opts, s->functions.n); i++)
		report_put_function(j, &s->model->names, &s->functions.v[i]);
	json_arr_end(j);
	json_arr(j, "waits");
	for (size_t i = 0; i < rows(opts, s->waits.n); i++)
		put_wait(j, s, &s->waits.v[i]);
	for (unsigned r = 0; r < REASONS; r++)
		if (s->placeless[r].total)
			put_wait(j, s, &s->placeless[r]);
	json_arr_end(j);
	json_put_kernel_locks(j, s);
	json_arr(j, "locks");
	for (size_t i = 0; i < rows(opts, s->locks.n); i++)
		json_put_lock(j, s, &s->locks.v[i]);
	json_arr_end(j);
	json_put_blame(j, s, rows(opts, s->blame.rows.n));
	json_put_stalls(j, s, rows(opts, s->stalls.list.n));
	json_put_finding(j, s, NULL);
	json_put_deadlocks(j, s, NULL);
	json_put_stuck(j, s, rows(opts, s->stuck.waits.n));
	put_cpus(j, s->model);
	json_obj_end(j);
}

void report_json(const struct summary *s, const struct report_opts *opts, FILE *out)
{
	struct json j;

	json_init(&j, out);
	report_put_json(s, opts, &j);
}
