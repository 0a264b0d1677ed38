// SPDX-License-Identifier: MIT
#include "report/json_parts.h"

#include <inttypes.h>
#include <string.h>

#include "report/steps.h"

void json_put_capture(struct json *j, const struct model *m)
{
	const struct facts *f = &m->facts;
	uint64_t start = model_window_start(m), unix_ns = model_unix_ns(m, m->timeline.begin);
	bool timed = !model_timeless(m);

	json_obj(j, "capture");
	json_str(j, "path", f->path);
	json_str(j, "host", f->host);
	json_str(j, "kernel", f->kernel);
	json_str(j, "engine", f->engine);
	if (*f->foreign)
		json_str(j, "foreign_machine", f->foreign);
	json_u64_if(j, "start_unix_ns", timed && unix_ns, unix_ns);
	json_u64_if(j, "duration_ns", timed, m->timeline.end - m->timeline.begin);
	json_u64_if(j, "cpus", f->cpus, f->cpus);
	json_u64_if(j, "freq_hz", f->freq_hz, f->freq_hz);
	json_arr(j, "command");
	for (size_t i = 0; i < f->command.n; i++)
		json_str(j, NULL, f->command.v[i]);
	json_arr_end(j);
	json_str(j, "scope", *f->scope ? f->scope : NULL);
	json_arr(j, "targets");
	for (size_t i = 0; i < f->targets.n; i++)
		json_str(j, NULL, f->targets.v[i]);
	json_arr_end(j);
	json_str(j, "target_command", *f->target_command ? f->target_command : NULL);
	json_bool(j, "complete", f->complete);
	json_str(j, "damage", f->damage);
	json_bool(j, "symbols", f->has_symbols);
	json_arr(j, "unseen");
	for (size_t i = 0; i < ARRAY_LEN(unseen_rows); i++)
		if (f->unseen & unseen_rows[i].bit)
			json_str(j, NULL, unseen_rows[i].name);
	json_arr_end(j);
	json_u64_if(j, "window_start_ns", timed, start - m->timeline.begin);
	json_u64_if(j, "window_ns", timed, model_window_ns(m));
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

void json_put_losses(struct json *j, const struct summary *s)
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
	json_u64_if(j, "thread_time_ns", !model_timeless(s->model),
		    s->model->facts.has_switches ? s->total[INTERVAL_LOST] : 0);
	json_str(j, "not_followed",
		 *s->model->facts.not_followed ? s->model->facts.not_followed : NULL);
	json_obj_end(j);
}

static void put_list(struct json *j, const char *key, const char *words)
{
	json_arr(j, key);
	while (*words && strcmp(words, "-")) {
		size_t n = strcspn(words, ",");
		char one[64];

		snprintf(one, sizeof(one), "%.*s", (int)n, words);
		json_str(j, NULL, one);
		words += n + (words[n] == ',');
	}
	json_arr_end(j);
}

/* Imported captures, and those from before thaw had a guard, are "unchecked". */
void json_put_guard(struct json *j, const struct model *m)
{
	const struct guarded *g = &m->facts.guard;

	json_obj(j, "guard");
	json_str(j, "verdict", g->verdict ? g->verdict : "unchecked");
	json_arr(j, "findings");
	for (size_t i = 0; i < g->findings.n; i++) {
		const struct guarded_finding *f = &g->findings.v[i];

		json_obj(j, NULL);
		json_str(j, "id", f->id);
		json_str(j, "action", f->action);
		put_list(j, "mechanisms", f->mechanisms);
		json_str(j, "title", f->title);
		json_obj_end(j);
	}
	json_arr_end(j);
	if (g->passed_over.n) {
		json_arr(j, "passed_over");
		for (size_t i = 0; i < g->passed_over.n; i++)
			json_str(j, NULL, g->passed_over.v[i]);
		json_arr_end(j);
	}
	json_obj_end(j);
}

void json_put_steps(struct json *j, const struct model *m)
{
	struct buf b = {0};

	json_obj(j, "watch");
	json_arr(j, "steps");
	for (size_t i = 0; i < m->steps.n; i++) {
		const struct model_step *s = &m->steps.v[i];

		buf_clear(&b);
		step_words(&b, &s->mark);
		json_obj(j, NULL);
		json_u64(j, "at_ns", s->ts - m->timeline.begin);
		json_str(j, "step", step_name(s->mark.step));
		json_str(j, "cause", step_cause_name(s->mark.cause));
		json_u64(j, "value", s->mark.value);
		json_u64(j, "limit", s->mark.limit);
		json_str(j, "note", s->note);
		json_str(j, "words", buf_cstr(&b));
		json_obj_end(j);
	}
	json_arr_end(j);
	json_obj_end(j);
	buf_done(&b);
}

void json_put_frame(struct json *j, const char *name, const struct names *names,
		    const struct named_frame *f)
{
	const struct function *fn = names_function(names, f->function);

	json_str(j, name, fn->name);
	json_str(j, "module", fn->module);
	json_str(j, "file", fn->file);
	json_u64(j, "line", f->line);
	json_bool(j, "inlined", f->inlined);
	json_bool(j, "guessed", f->guessed);
}

static void put_frames(struct json *j, const char *key, const struct names *names,
		       const struct named_frame *f, size_t n)
{
	json_arr(j, key);
	/* The mark of a guess is no function: frames say "guessed" instead. */
	for (size_t i = 0; i < n; i++) {
		if (f[i].guess)
			continue;
		json_obj(j, NULL);
		json_put_frame(j, "name", names, &f[i]);
		json_obj_end(j);
	}
	json_arr_end(j);
}

void json_put_stack(struct json *j, const char *key, struct names *names, uint32_t kstack,
		    uint32_t ustack)
{
	const struct named_frame *f;
	size_t n = names_probed_stack(names, kstack, ustack, &f);

	put_frames(j, key, names, f, n);
}

void json_put_sample_stack(struct json *j, const char *key, struct names *names, uint32_t kstack,
			   uint32_t ustack)
{
	const struct named_frame *f;
	size_t n = names_stack(names, kstack, ustack, &f);

	put_frames(j, key, names, f, n);
}

/* Where the capture has only samples, or no times at all, unknown values are null. */
void json_put_times(struct json *j, const struct model *m, const uint64_t total[INTERVAL_KINDS],
		    const uint64_t waits[REASONS], uint64_t samples)
{
	bool sampled = !m->facts.has_switches, timed = !model_timeless(m);

	json_u64_if(j, "running_ns", timed, total[INTERVAL_RUNNING]);
	json_u64_if(j, "runnable_ns", !sampled, total[INTERVAL_RUNNABLE]);
	json_u64_if(j, "waiting_ns", !sampled, total[INTERVAL_WAITING]);
	json_u64_if(j, "lost_ns", timed, sampled ? 0 : total[INTERVAL_LOST]);
	json_u64_if(j, "unseen_ns", timed, sampled ? total[INTERVAL_LOST] : 0);
	json_obj(j, "waits");
	for (unsigned r = 0; r < REASONS; r++)
		if (waits[r])
			json_u64(j, reason_name(r), waits[r]);
	json_obj_end(j);
	json_u64(j, "samples", samples);
}

void json_put_who(struct json *j, const struct thread *t)
{
	if (t) {
		json_u64(j, "pid", t->pid);
		json_u64(j, "tid", t->tid);
	} else {
		json_null(j, "pid");
		json_null(j, "tid");
	}
	json_str(j, "comm", t ? t->name : NULL);
}

void json_put_file(struct json *j, const char *key, const struct waited_file *f)
{
	if (!f) {
		json_null(j, key);
		return;
	}
	json_obj(j, key);
	json_str(j, "path", f->path);
	json_str(j, "type", *f->type ? f->type : NULL);
	json_str(j, "source", *f->source ? f->source : NULL);
	json_obj_end(j);
}

void json_put_offset(struct json *j, const char *key, const struct model *m, uint64_t ts)
{
	json_u64(j, key, ts > m->timeline.begin ? ts - m->timeline.begin : 0);
}

void json_put_address(struct json *j, const char *key, uint64_t address)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	json_str(j, key, text);
}
