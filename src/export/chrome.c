// SPDX-License-Identifier: MIT
/*
 * Chrome's trace JSON, which chrome://tracing, Perfetto and many others read: one event a line.
 *
 *   M  names of processes and threads
 *   X  what a thread did: running, runnable, waiting (with reason, lock, holder, waker and stack)
 *      and lost, where it is not known. Those of a thread tile its life: they never overlap
 *   s, f  an arrow from the waker to the thread that had waited
 *   i  samples; `sf` is their stack in stackFrames, at the end of the file
 *
 * Times are microseconds since the start of the recording, with three decimals: no number loses
 * nanoseconds on its way through a double.
 */
#include <inttypes.h>

#include "base/json.h"
#include "export/export.h"
#include "export/holders.h"
#include "report/words.h"

#define STACK_TEXT 240
/* Events between two checks whether writing failed. */
#define ASK_EVERY 4096u

/* A function called along one path from the root. */
struct chrome_node {
	uint32_t function;
	uint32_t parent; /* + 1; 0: the root */
};

struct chrome {
	const struct export_job *job;
	struct model *m;
	struct json j;
	struct holders holders;
	VEC(struct chrome_node) nodes;
	struct map by_node, by_stack; /* -> index + 1 */
	struct map by_stacks;	      /* both of a wait -> place in paths */
	VEC(char *) paths;	      /* as text */
	char **whos;		      /* "writer (4712)", by thread; the same */
	uint64_t flows;
	uint32_t events;
};

static uint32_t pid_of(const struct thread *th)
{
	return th->pid ? th->pid : th->tid;
}

/* Each event in a line of its own. */
static void begin_event(struct chrome *c, const char *ph, const char *cat, const char *name,
			const struct thread *th)
{
	struct json *j = &c->j;

	j->tight = false;
	json_obj(j, NULL);
	j->tight = true;
	json_str(j, "ph", ph);
	json_u64(j, "pid", pid_of(th));
	json_u64(j, "tid", th->tid);
	if (cat)
		json_str(j, "cat", cat);
	json_str(j, "name", name);
}

static void put_time(struct chrome *c, const char *key, uint64_t ns)
{
	json_decimal(&c->j, key, ns, 3);
}

static void put_ts(struct chrome *c, uint64_t ts)
{
	put_time(c, "ts", ts - c->m->timeline.begin);
}

static void chrome_put_name(struct chrome *c, const char *what, const struct thread *th)
{
	begin_event(c, "M", NULL, what, th);
	json_obj(&c->j, "args");
	json_str(&c->j, "name", th->name);
	json_obj_end(&c->j);
	json_obj_end(&c->j);
}

/* A process has the name of its main thread, if that was seen. */
static void put_names(struct chrome *c)
{
	const struct timeline *t = &c->m->timeline;
	struct map processes = {0};
	bool fresh;

	for (size_t i = 0; i < t->threads.n; i++) {
		const struct thread *th = t->threads.v[i], *leader;

		if (!export_wants(c->job, th))
			continue;
		leader = th->pid ? timeline_thread(t, th->pid) : th;
		map_put(&processes, pid_of(th), &fresh);
		if (fresh)
			chrome_put_name(c, "process_name",
					leader && pid_of(leader) == pid_of(th) ? leader : th);
		chrome_put_name(c, "thread_name", th);
	}
	map_done(&processes);
}

/* The node of a stack, by its functions; 0: no stack. */
static uint32_t node_of(struct chrome *c, uint32_t kstack, uint32_t ustack)
{
	const struct named_frame *f;
	bool fresh;
	uint64_t *known = map_put(&c->by_stack, (uint64_t)kstack << 32 | ustack, &fresh), *slot;
	size_t n;

	if (!fresh)
		return (uint32_t)*known;
	n = names_stack(&c->m->names, kstack, ustack, &f);
	for (uint32_t at = 0; n-- > 0; *known = at) {
		slot = map_put(&c->by_node, (uint64_t)at << 32 | f[n].function, &fresh);
		if (fresh) {
			vec_push(&c->nodes, (struct chrome_node){f[n].function, at});
			*slot = c->nodes.n;
		}
		at = (uint32_t)*slot;
	}
	return (uint32_t)*known;
}

static void put_stack_frames(struct chrome *c)
{
	struct json *j = &c->j;
	char id[24];

	j->tight = false;
	json_obj(j, "stackFrames");
	for (size_t i = 0; i < c->nodes.n; i++) {
		const struct function *f = names_function(&c->m->names, c->nodes.v[i].function);

		snprintf(id, sizeof(id), "%zu", i + 1);
		j->tight = false;
		json_obj(j, id);
		j->tight = true;
		json_str(j, "category", f->module);
		json_str(j, "name", f->name);
		if (c->nodes.v[i].parent) {
			snprintf(id, sizeof(id), "%" PRIu32, c->nodes.v[i].parent);
			json_str(j, "parent", id);
		}
		json_obj_end(j);
	}
	j->tight = false;
	json_obj_end(j);
}

/* Where it ran, if that is known. */
static void put_cpu(struct chrome *c, uint32_t cpu)
{
	if (c->m->facts.unseen & UNSEEN_CPUS)
		return;
	json_obj(&c->j, "args");
	json_u64(&c->j, "cpu", cpu);
	json_obj_end(&c->j);
}

static int chrome_on_sample(void *arg, const struct thread *th, uint64_t ts, uint32_t cpu,
			    uint32_t row)
{
	struct chrome *c = arg;
	const struct sample_row *r = &c->m->tally.samples.v[row];
	uint32_t node;
	char id[16];

	if (!EXPORT_HAS(c->job->kinds, EXPORT_CPU) || !export_wants(c->job, th))
		return 0;
	node = node_of(c, r->kstack, r->ustack);
	begin_event(c, "i", "sample",
		    node ? names_function(&c->m->names, c->nodes.v[node - 1].function)->name
			 : "[no stack]",
		    th);
	put_ts(c, ts);
	json_str(&c->j, "s", "t");
	if (node) {
		snprintf(id, sizeof(id), "%" PRIu32, node);
		json_str(&c->j, "sf", id);
	}
	put_cpu(c, cpu);
	json_obj_end(&c->j);
	return 0;
}

static void put_who(struct chrome *c, const char *key, const struct thread *th)
{
	struct buf b = {0};

	if (!c->whos[th->index]) {
		buf_printf(&b, "%s (%" PRIu32 ")", th->name, th->tid);
		c->whos[th->index] = mem_strdup(buf_cstr(&b));
		buf_done(&b);
	}
	json_str(&c->j, key, c->whos[th->index]);
}

static const char *stack_text(struct chrome *c, uint32_t row)
{
	const struct wait_row *r = &c->m->tally.waits.v[row];
	uint64_t stacks = (uint64_t)r->kstack << 32 | r->ustack;
	uint64_t *slot = map_get(&c->by_stacks, stacks);
	char text[STACK_TEXT + 1];

	if (!slot) {
		slot = map_put(&c->by_stacks, stacks, NULL);
		*slot = c->paths.n;
		vec_push(&c->paths, mem_strdup(words_path(text, sizeof(text), &c->m->names,
							  r->kstack, r->ustack, STACK_TEXT)));
	}
	return c->paths.v[*slot];
}

static const struct lock_sum *lock_of(const struct chrome *c, const struct interval *iv)
{
	const struct summary *s = c->job->summary;
	size_t at = iv->lock ? s->lock_at[iv->lock - 1] : 0;

	return at ? &s->locks.v[at - 1] : NULL;
}

static void put_wait_args(struct chrome *c, const struct interval *iv, enum reason reason,
			  const struct lock_sum *lock)
{
	uint32_t holder = iv->lock ? holders_interval(&c->holders, iv) : 0;
	const char *stack = stack_text(c, iv->row);
	const struct waker *w = &iv->waker;

	json_str(&c->j, "reason", reason_name(reason));
	if (lock) {
		json_str(&c->j, "lock", lock->name);
		json_str(&c->j, "kind", lock_kind_words(lock->kind));
	}
	if (holder)
		put_who(c, "holder", c->m->timeline.threads.v[holder - 1]);
	if (w->known && w->ctx != WAKE_TASK)
		json_str(&c->j, "waker", "an interrupt");
	else if (w->known && w->thread)
		put_who(c, "waker", w->thread);
	if (*stack)
		json_str(&c->j, "stack", stack);
	if (iv->open)
		json_bool(&c->j, "not_ended", true);
}

/* An arrow from the waker, if both threads are in the file. */
static void put_flow(struct chrome *c, const struct interval *iv)
{
	const struct waker *w = &iv->waker;

	if (!w->known || w->ctx != WAKE_TASK || !w->thread || iv->open || w->ts != iv->end ||
	    !export_wants(c->job, w->thread))
		return;
	c->flows++;
	begin_event(c, "s", "wake", "wake", w->thread);
	put_ts(c, w->ts);
	json_u64(&c->j, "id", c->flows);
	json_obj_end(&c->j);
	begin_event(c, "f", "wake", "wake", iv->thread);
	put_ts(c, w->ts);
	json_u64(&c->j, "id", c->flows);
	json_str(&c->j, "bp", "e");
	json_obj_end(&c->j);
}

static bool wants_wait(const struct chrome *c, enum reason reason)
{
	return EXPORT_HAS(c->job->kinds, EXPORT_WAIT) ||
	       (EXPORT_HAS(c->job->kinds, EXPORT_LOCK) && reason_has(reason, TRAIT_LOCK));
}

static const char *const cats[INTERVAL_KINDS] = {
	[INTERVAL_RUNNING] = "running",
	[INTERVAL_RUNNABLE] = "runnable",
	[INTERVAL_WAITING] = "waiting",
	[INTERVAL_LOST] = "lost",
};

static const char *interval_name(const struct interval *iv, enum reason reason,
				 const struct lock_sum *lock)
{
	if (iv->kind == INTERVAL_WAITING)
		return lock ? lock->name : reason_label(reason);
	if (iv->kind == INTERVAL_RUNNABLE && (iv->state & STATE_THROTTLED))
		return reason_label(REASON_THROTTLED);
	return iv->kind == INTERVAL_LOST ? "not recorded" : cats[iv->kind];
}

static int chrome_on_interval(void *arg, const struct interval *iv)
{
	struct chrome *c = arg;
	bool waits = iv->kind == INTERVAL_WAITING;
	enum reason reason = waits ? c->m->tally.waits.v[iv->row].verdict.reason : REASON_UNKNOWN;
	const struct lock_sum *lock = waits ? lock_of(c, iv) : NULL;

	if (!c->m->facts.has_switches || !export_wants(c->job, iv->thread) ||
	    (waits && !wants_wait(c, reason)))
		return 0;
	begin_event(c, "X", cats[iv->kind], interval_name(iv, reason, lock), iv->thread);
	put_ts(c, iv->start);
	put_time(c, "dur", iv->end - iv->start);
	if (waits) {
		json_obj(&c->j, "args");
		put_wait_args(c, iv, reason, lock);
		json_obj_end(&c->j);
	} else if (iv->kind == INTERVAL_RUNNING) {
		put_cpu(c, iv->cpu);
	}
	json_obj_end(&c->j);
	if (waits)
		put_flow(c, iv);
	return 0;
}

static int chrome_on_event(void *arg, const struct event *ev, bool inside)
{
	struct chrome *c = arg;

	holders_event(&c->holders, ev);
	return ++c->events % ASK_EVERY ? 0 : export_written(c->job);
}

static int chrome_on_seen(void *arg, const struct seen *seen)
{
	struct chrome *c = arg;

	holders_seen(&c->holders, seen);
	return 0;
}

static void put_other(struct chrome *c)
{
	const struct facts *f = &c->m->facts;
	char number[24];

	c->j.tight = false;
	json_obj(&c->j, "otherData");
	json_str(&c->j, "recorded_by", "thaw");
	json_str(&c->j, "capture", c->job->title);
	json_str(&c->j, "host", f->host);
	json_str(&c->j, "kernel", f->kernel);
	if (f->unix_ns) {
		snprintf(number, sizeof(number), "%" PRIu64,
			 model_unix_ns(c->m, c->m->timeline.begin));
		json_str(&c->j, "begin_unix_ns", number);
	}
	json_obj_end(&c->j);
}

static void chrome_done(struct chrome *c)
{
	for (size_t i = 0; i < c->paths.n; i++)
		free(c->paths.v[i]);
	for (size_t i = 0; i < c->m->timeline.threads.n; i++)
		free(c->whos[i]);
	vec_done(&c->paths);
	map_done(&c->by_stacks);
	free(c->whos);
	vec_done(&c->nodes);
	map_done(&c->by_node);
	map_done(&c->by_stack);
	holders_done(&c->holders);
}

static int chrome_run(const struct export_job *job)
{
	struct model *m = job->model;
	struct chrome c = {
		.job = job,
		.m = m,
		.whos = mem_zalloc((m->timeline.threads.n + 1) * sizeof(*c.whos)),
	};
	struct walk walk = {
		.event = chrome_on_event,
		.interval = chrome_on_interval,
		.sample = chrome_on_sample,
		.seen = chrome_on_seen,
		.arg = &c,
		.progress = job->progress,
		.progress_arg = job->progress_arg,
	};
	int rc;

	json_init(&c.j, job->out);
	json_obj(&c.j, NULL);
	json_str(&c.j, "displayTimeUnit", "ns");
	put_other(&c);
	json_arr(&c.j, "traceEvents");
	put_names(&c);
	rc = model_walk(m, job->reader, &walk);
	c.j.tight = false;
	json_arr_end(&c.j);
	put_stack_frames(&c);
	json_obj_end(&c.j);
	chrome_done(&c);
	return rc;
}

const struct exporter export_chrome = {
	.name = "chrome",
	.words = "Chrome's trace JSON, for chrome://tracing and others",
	.suffix = ".json",
	.kinds = EXPORT_ALL,
	.needs = UNSEEN_TIMES,
	.run = chrome_run,
};
