// SPDX-License-Identifier: MIT
/*
 * Most captures lost nothing, or only stacks and samples: their events go into the model as they
 * come. Where threads' time is missing, earlier intervals depend on that: then a first pass only
 * collects the loss spans and the mark of the start, and a second one feeds a new model.
 */
#include "model/load.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "store/inspect.h"
#include "wire/meta.h"
#include "wire/unseen.h"

static size_t source_stack(void *arg, uint32_t index, const struct frame **ret)
{
	return reader_stack(arg, index, ret);
}

static size_t source_symbol(void *arg, uint32_t module, uint64_t offset, const struct symbol **ret)
{
	return reader_symbol(arg, module, offset, ret);
}

static const struct module *source_module(void *arg, uint32_t index)
{
	return reader_module(arg, index);
}

static uint32_t source_stop(void *arg, uint32_t index)
{
	return reader_stack_stop(arg, index);
}

static bool source_guessed(void *arg, uint32_t index)
{
	return reader_stack_guessed(arg, index);
}

static uint32_t source_stacks(void *arg)
{
	return reader_stacks(arg);
}

static const struct data_symbol *source_data(void *arg, uint32_t module, uint64_t address)
{
	return reader_data(arg, module, address);
}

static void load_set(char **to, const struct reader *r, const char *key)
{
	const char *val = reader_meta(r, key, 0);

	if (!val)
		return;
	free(*to);
	*to = mem_strdup(val);
}

static uint64_t load_number(const struct reader *r, const char *key)
{
	const char *val = reader_meta(r, key, 0);
	uint64_t n = 0;

	return val && !units_parse_u64(val, &n) ? n : 0;
}

/* Skips names from later versions. */
static uint32_t take_unseen(const struct reader *r)
{
	uint32_t unseen = 0;
	const char *name;

	for (size_t i = 0; (name = reader_meta(r, META_UNSEEN, i)); i++)
		for (size_t k = 0; k < ARRAY_LEN(unseen_rows); k++)
			if (!strcmp(unseen_rows[k].name, name))
				unseen |= unseen_rows[k].bit;
	return unseen;
}

/* The time that a sample stands for if there are no switches; else 0. */
static uint64_t sample_ns(const struct reader *r)
{
	uint64_t hz = load_number(r, META_FREQ_HZ);

	if (!(take_unseen(r) & UNSEEN_SWITCHES))
		return 0;
	return hz && hz <= NSEC_PER_SEC ? NSEC_PER_SEC / hz : 1;
}

static void take_facts(struct facts *f, const struct reader *r, const char *path)
{
	const struct reader_info *info = reader_info(r);
	const char *arg, *scope, *kernel_locks;

	free(f->path);
	f->path = mem_strdup(path);
	load_set(&f->host, r, META_HOST);
	load_set(&f->kernel, r, META_KERNEL);
	load_set(&f->engine, r, META_ENGINE);
	if (!arch_find(reader_meta(r, META_MACHINE, 0)))
		load_set(&f->foreign, r, META_MACHINE);
	load_set(&f->not_followed, r, META_NOT_FOLLOWED);
	for (size_t i = 0; (arg = reader_meta(r, META_COMMAND, i)); i++)
		vec_push(&f->command, mem_strdup(arg));
	for (size_t i = 0; (arg = reader_meta(r, META_TARGET, i)); i++)
		vec_push(&f->targets, mem_strdup(arg));
	load_set(&f->scope, r, META_SCOPE);
	load_set(&f->target_command, r, META_TARGET_COMMAND);
	scope = reader_meta(r, META_SCOPE, 0);
	kernel_locks = reader_meta(r, META_KERNEL_LOCKS, 0);
	f->no_kernel_locks = !kernel_locks || !strcmp(kernel_locks, "no");
	f->unseen = take_unseen(r);
	f->whole_machine = scope && !strcmp(scope, "system");
	f->has_switches = !sample_ns(r);
	f->cpus = load_number(r, META_CPUS);
	f->freq_hz = load_number(r, META_FREQ_HZ);
	f->unix_ns = info->start_unix_ns;
	f->mono_ns = info->start_mono_ns;
	f->complete = info->complete;
	f->sealed = info->sealed;
	f->interrupted = info->sealed && info->cause == END_INTERRUPTED;
	f->no_space = info->sealed && info->cause == END_NO_SPACE;
	f->failed = info->sealed && info->cause == END_ERROR;
	f->has_symbols = info->has_symbols;
	free(f->damage);
	f->damage = mem_strdup(info->damage);
	guarded_take(&f->guard, r);
}

/* Does this event need a scan first? */
static bool too_soon(const struct model *m, const struct event *ev)
{
	return ev->kind == EV_LOST && (!m->timeline.begun || model_loses_time(ev));
}

struct loading {
	struct reader *r;
	struct model_opts opts;
	struct frame_source frames;
	struct model *m;
	bool scanning; /* this pass only looks for what is lost */
	bool scanned;
	const struct event *ready; /* read, but not yet taken */
	size_t n_ready;
	uint64_t events; /* of this pass, */
	uint64_t of;	 /* of about so many */
};

static void begin_pass(struct loading *l, bool scanning)
{
	l->scanning = scanning;
	l->scanned |= scanning;
	l->events = 0;
	l->n_ready = 0;
	reader_rewind(l->r);
}

struct loading *loading_new(struct reader *r, const struct model_opts *opts)
{
	struct loading *l = mem_zalloc(sizeof(*l));

	l->r = r;
	l->opts = *opts;
	l->frames = (struct frame_source){r,	       source_stack, source_symbol,  source_module,
					  source_stop, source_data,  source_guessed, source_stacks};
	l->opts.frames = &l->frames;
	l->opts.machine = reader_meta(r, META_MACHINE, 0);
	l->opts.sample_ns = sample_ns(r);
	l->m = model_new(&l->opts);
	l->of = reader_events(r);
	begin_pass(l, opts->scan_first || !reader_info(r)->complete);
	return l;
}

void loading_free(struct loading *l)
{
	if (!l)
		return;
	model_free(l->m);
	free(l);
}

static void scan_event(struct model *m, const struct event *ev)
{
	if (ev->kind == EV_LOST)
		model_add_loss(m, ev);
	else if (ev->kind == EV_MARK && ev->mark.what == MARK_BEGIN)
		timeline_begin(&m->timeline, ev->ts);
}

/* The model was fed without knowing of the loss: starts over with a scan. */
static void start_over(struct loading *l)
{
	model_free(l->m);
	l->m = model_new(&l->opts);
	if (l->opts.restart)
		l->opts.restart(l->opts.sink_arg);
	begin_pass(l, true);
}

/* Takes up to n of the events that are ready; false if all have to be read again. */
static bool take_events(struct loading *l, uint64_t n)
{
	const struct event *ev = l->ready, *end = ev + (n < l->n_ready ? (size_t)n : l->n_ready);
	event_fn sink = l->opts.event_sink;
	struct model *m = l->m;

	l->events += (uint64_t)(end - ev);
	l->n_ready -= (size_t)(end - ev);
	l->ready = end;
	for (; l->scanning && ev < end; ev++)
		scan_event(l->m, ev);
	for (; ev < end; ev++) {
		if (ev->kind == EV_LOST && !l->scanned && too_soon(l->m, ev)) {
			start_over(l);
			return false;
		}
		if (sink)
			sink(l->opts.sink_arg, ev);
		model_event(m, ev);
	}
	return true;
}

int loading_step(struct loading *l, uint64_t events)
{
	uint64_t end = l->events + events;
	int rc = 1;

	while (rc > 0 && l->events < end) {
		if (!l->n_ready)
			rc = reader_next_many(l->r, &l->ready, &l->n_ready);
		if (rc > 0 && !take_events(l, end - l->events))
			break;
	}
	if (!rc && l->scanning) {
		begin_pass(l, false);
		return 1;
	}
	return rc;
}

double loading_progress(const struct loading *l)
{
	double done = l->of ? (double)l->events / (double)l->of : 1;

	if (done > 1)
		done = 1;
	return !l->scanned ? done : l->scanning ? done / 4 : 0.25 + done * 0.75;
}

struct model *loading_finish(struct loading *l, const char *path)
{
	struct model *m = l->m;

	l->m = NULL;
	m->scanned = l->scanned;
	/* model_finish() needs the facts: what the engine sees is evidence. */
	take_facts(&m->facts, l->r, path);
	model_finish(m);
	loading_free(l);
	return m;
}

int model_load(struct reader *r, const char *path, const struct model_opts *opts,
	       struct model **ret)
{
	struct loading *l = loading_new(r, opts);
	int rc;

	do
		rc = loading_step(l, UINT64_MAX);
	while (rc > 0);
	if (rc) {
		loading_free(l);
		return rc;
	}
	*ret = loading_finish(l, path);
	return 0;
}

struct model *model_follow(struct reader *r, const struct model_opts *opts)
{
	const struct frame_source frames = {
		r,	     source_stack, source_symbol,  source_module,
		source_stop, source_data,  source_guessed, source_stacks};
	struct model_opts with = *opts;

	with.frames = &frames;
	with.machine = reader_meta(r, META_MACHINE, 0);
	with.sample_ns = sample_ns(r);
	return model_new(&with);
}

int model_follow_more(struct model *m, struct reader *r)
{
	struct event ev;
	int rc;

	while ((rc = reader_next(r, &ev)) > 0)
		model_event(m, &ev);
	return rc;
}

void model_follow_finish(struct model *m, const struct reader *r, const char *path)
{
	model_finish(m);
	take_facts(&m->facts, r, path);
}
