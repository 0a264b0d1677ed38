// SPDX-License-Identifier: MIT
/*
 * plan -> open -> find -> attach -> arm -> run -> disarm -> drain -> name -> seal.
 *
 * The kernel side never wakes the collector: it polls, seldom when little happens and often when a
 * ring fills. Whatever fails on the way, what has been written stays a readable capture.
 */
#include "capture/session.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "capture/collect.h"
#include "capture/engine.h"
#include "capture/guarded.h"
#include "capture/launch.h"
#include "capture/machine.h"
#include "capture/outfile.h"
#include "capture/symbolize.h"
#include "capture/watch.h"
#include "guard/guard.h"
#include "ring/order.h"
#include "store/reader.h"
#include "store/writer.h"

#define POLL_MIN_NS (2 * NSEC_PER_MSEC)
#define POLL_MAX_NS (40 * NSEC_PER_MSEC)
#define POLL_HURRY_NS (200 * NSEC_PER_USEC)
#define POLL_EVENTS 20000 /* that many between two polls are plenty */
#define WINDOW_NS (20 * NSEC_PER_MSEC)
#define STASH_BYTES (32u << 20)
#define COLLECTOR_NICE (-20)

struct session {
	struct plan plan; /* with the command's pid filled in */
	const struct session_hooks *hooks;
	struct session_result *res;
	struct launch child;
	uint32_t child_id;
	struct engine *engine;
	struct writer *writer;
	struct collector *collector;
	struct order *order;
	struct watch *watch;
	uint64_t begin_ns, end_ns, cpu_before_ns;
	uint64_t detached_ns; /* when it took itself off the machine; 0: it did not */
	enum end_reason reason;
};

/*
 * The one who drains the rings, and the one who compresses what it hands on, must get a CPU in time
 * however busy the machine is, or events are lost; they need little, and never run for long without
 * a pause. Niceness alone does not help against a load in another session (autogroups share the CPU
 * first). Threads made meanwhile inherit it.
 */
static void urgent(bool on)
{
	struct sched_param param = {.sched_priority = on ? 1 : 0};

	(void)sched_setscheduler(0, on ? SCHED_RR : SCHED_OTHER, &param);
}

/* For the rest, niceness: a busy machine should not keep its doctor waiting for seconds. */
static void hurried(bool on)
{
	(void)setpriority(PRIO_PROCESS, 0, on ? COLLECTOR_NICE : 0);
}

/* ---- the file ---- */

static int open_output(struct session *s)
{
	int rc = outfile_put_aside(s->plan.output, s->res->saved_as, sizeof(s->res->saved_as));

	if (rc)
		return rc;
	urgent(true);
	rc = writer_open(s->plan.output, &(struct writer_opts){0}, &s->writer);
	urgent(false);
	if (rc)
		return rc;
	s->res->file_written = true;
	outfile_give(s->plan.output);
	machine_describe(s->writer, &s->plan, s->engine->ops->name);
	guard_describe(s->writer, &s->plan, s->engine->ops->name);
	return 0;
}

/* ---- running ---- */

static void status(struct session *s, const char *phase)
{
	struct session_status *st = &s->res->st;

	st->elapsed_ns = (s->end_ns ? s->end_ns : clock_mono_ns()) - s->begin_ns;
	st->events = writer_events(s->writer);
	st->bytes = writer_bytes(s->writer);
	st->lost = collector_lost(s->collector);
	st->threads = collector_seen(s->collector);
	st->cpu_ns = machine_own_cpu_ns() - s->cpu_before_ns;
	if (s->hooks->progress)
		s->hooks->progress(s->hooks->ctx, st, phase);
}

/* Why to end now, or NULL to go on. */
static const char *over(struct session *s, uint64_t now)
{
	if (s->hooks->stop && *s->hooks->stop) {
		s->reason = s->detached_ns ? END_STOPPED : END_INTERRUPTED;
		return "interrupted";
	}
	/* A command is not stopped for that: it is waited for, and what it does is not recorded. */
	if (s->detached_ns && !s->child.pid)
		return "stopped, to spare the machine";
	if (s->plan.duration_ns && now - s->begin_ns >= s->plan.duration_ns)
		return "the time is up";
	if (s->child.pid && launch_ended(&s->child))
		return "the command ended";
	if (!s->detached_ns && (s->plan.scope == SCOPE_PROCESS || s->plan.scope == SCOPE_THREAD) &&
	    !collector_alive(s->collector))
		return s->plan.scope == SCOPE_PROCESS ? "the process ended" : "the thread ended";
	return NULL;
}

/* ---- stepping back ---- */

static void tell_step(struct session *s, uint64_t now, const struct watch_news *news)
{
	struct session_result *res = s->res;
	struct ev_mark mark = {.what = MARK_STEP,
			       .step = news->step,
			       .cause = news->cause,
			       .value = news->value,
			       .limit = news->limit,
			       .note = news->note};

	collector_step(s->collector, now, &mark);
	if (news->step >= STEP_RATE && news->step <= STEP_DETACH)
		res->st.step = news->step;
	if (res->n_steps == SESSION_STEPS)
		return;
	res->steps[res->n_steps] = (struct session_step){.at_ns = now - s->begin_ns, .mark = mark};
	snprintf(res->steps[res->n_steps].note, sizeof(res->steps[0].note), "%s", news->note);
	res->n_steps++;
}

/* Off the machine. What the rings hold is still good. */
static void detach(struct session *s)
{
	s->engine->ops->disarm(s->engine);
	s->detached_ns = clock_mono_ns();
	s->res->detached = true;
	s->reason = END_STOPPED;
	order_drain(s->order, collector_record, s->collector);
	collector_losses(s->collector, order_late(s->order));
	collector_detached(s->collector, s->detached_ns);
	urgent(false);
}

static uint64_t used_ns(const struct session *s)
{
	return machine_own_cpu_ns() - collector_build_ns(s->collector);
}

/*
 * The probes have switched themselves off. If that was because we gave no sign of life (SIGSTOP, a
 * machine that stood still, a disk that did not answer), we do now, and go on. If they are too
 * slow, they will be so again.
 */
static void check_fuse(struct session *s)
{
	const struct engine_ops *ops = s->engine->ops;
	struct watch_news news = {.note = ""};
	struct fuse fuse;
	uint64_t now;

	if (!ops->blown || !ops->blown(s->engine, &fuse))
		return;
	if (fuse.reason == FUSE_SLOW || ops->attach(s->engine)) {
		bool slow = fuse.reason == FUSE_SLOW;

		detach(s);
		collector_detached(s->collector, fuse.ts);
		news.step = STEP_DETACH;
		news.cause = slow ? STEP_CAUSE_SLOW_PROBE : STEP_CAUSE_NO_ANSWER;
		news.value = slow ? fuse.took : s->detached_ns - fuse.ts;
		news.limit = slow ? FUSE_SLOW_NS : FUSE_STALE_NS;
		tell_step(s, s->detached_ns, &news);
		return;
	}
	order_drain(s->order, collector_record, s->collector);
	now = collector_resume(s->collector, fuse.ts);
	watch_resume(s->watch, now, used_ns(s));
	news.step = STEP_PAUSE;
	news.cause = STEP_CAUSE_NO_ANSWER;
	news.value = now - fuse.ts;
	news.limit = FUSE_STALE_NS;
	tell_step(s, now, &news);
}

static void look_after_machine(struct session *s, uint64_t now)
{
	uint64_t used = used_ns(s);
	struct watch_news news;

	while (!s->detached_ns && watch_look(s->watch, now, used, &news)) {
		if (news.step == STEP_DETACH)
			detach(s);
		tell_step(s, s->detached_ns ? s->detached_ns : now, &news);
	}
}

static void snooze(struct session *s, uint64_t *poll_ns, uint64_t events)
{
	struct timespec t;

	if (s->detached_ns) {
		t = (struct timespec){.tv_nsec = POLL_MAX_NS};
		nanosleep(&t, NULL);
		return;
	}
	if (s->engine->ops->hurry(s->engine)) {
		t = (struct timespec){.tv_nsec = POLL_HURRY_NS};
		nanosleep(&t, NULL);
		return;
	}
	if (events > POLL_EVENTS)
		*poll_ns /= 2;
	else if (events < POLL_EVENTS / 4)
		*poll_ns += *poll_ns / 4;
	if (*poll_ns < POLL_MIN_NS)
		*poll_ns = POLL_MIN_NS;
	if (*poll_ns > POLL_MAX_NS)
		*poll_ns = POLL_MAX_NS;
	if (s->engine->poll_ns && *poll_ns > s->engine->poll_ns)
		*poll_ns = s->engine->poll_ns;
	t = (struct timespec){.tv_nsec = (long)*poll_ns};
	nanosleep(&t, NULL);
}

/* A record has to wait for the unwind table of a large library: the rings must not. */
static bool idle(void *ctx)
{
	struct session *s = ctx;

	engine_beat(s->engine);
	return order_stash(s->order, clock_mono_ns(), STASH_BYTES);
}

static int run(struct session *s)
{
	uint64_t poll_ns = 10 * NSEC_PER_MSEC, told_ns = s->begin_ns, now, before;
	int rc = 0;

	status(s, NULL);
	do {
		before = writer_events(s->writer);
		now = clock_mono_ns();
		if (!s->detached_ns) {
			engine_beat(s->engine);
			order_run(s->order, now, collector_record, s->collector);
			collector_settle(s->collector);
			check_fuse(s);
			look_after_machine(s, now);
		}
		collector_passed(s->collector, now - WINDOW_NS);
		writer_tick(s->writer, now);
		if (now - told_ns >= NSEC_PER_SEC) {
			told_ns = now;
			collector_losses(s->collector, order_late(s->order));
			status(s, NULL);
		}
		rc = writer_status(s->writer);
		s->res->why = over(s, now);
		if (rc || s->res->why)
			break;
		snooze(s, &poll_ns, writer_events(s->writer) - before);
	} while (true);
	return rc;
}

static int start(struct session *s)
{
	int rc = collector_find(s->collector);

	if (rc)
		return rc;
	rc = s->engine->ops->attach(s->engine);
	if (rc)
		return rc;
	urgent(true);
	s->begin_ns = clock_mono_ns();
	s->watch = watch_new(&s->plan, s->engine, s->begin_ns);
	writer_meta(s->writer, "watch_log", watch_sees_log(s->watch) ? "yes" : "no");
	s->engine->ops->arm(s->engine);
	collector_begin(s->collector, s->begin_ns);
	return s->child.pid ? launch_go(&s->child, s->plan.command[0]) : 0;
}

/* ---- the end ---- */

static void add_names(struct session *s)
{
	struct reader *r;
	struct symtab *st;

	status(s, "finding names");
	if (writer_flush(s->writer, true) || reader_open(s->plan.output, &r))
		return;
	st = symbolize(r, s->res->notes, sizeof(s->res->notes));
	reader_close(r);
	writer_symbols(s->writer, st);
	symtab_free(st);
}

static void tell_number(struct session *s, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	writer_meta(s->writer, key, text);
}

/* How it went. */
static void tell_itself(struct session *s)
{
	const struct engine_ops *ops = s->engine->ops;

	tell_number(s, "drain_gap_ns", order_gap_ns(s->order));
	tell_number(s, "thaw_cpu_ns", machine_own_cpu_ns() - s->cpu_before_ns);
	if (ops->own_ns)
		tell_number(s, "probe_ns", ops->own_ns(s->engine));
}

static void finish(struct session *s)
{
	s->end_ns = s->detached_ns && !s->child.pid ? s->detached_ns : clock_mono_ns();
	if (!s->detached_ns) {
		s->engine->ops->disarm(s->engine);
		order_drain(s->order, collector_record, s->collector);
	}
	urgent(false);
	hurried(false);
	collector_losses(s->collector, order_late(s->order));
	collector_end(s->collector, s->end_ns);
	tell_itself(s);
}

static int record(struct session *s)
{
	int rc = open_output(s);
	struct stat st;

	if (rc)
		return rc;
	s->collector = collector_new(&s->plan, s->engine, s->writer);
	s->order = order_new(s->engine->sources, s->engine->n_sources,
			     s->engine->window_ns ? s->engine->window_ns : WINDOW_NS);
	collector_set_idle(s->collector, idle, s);
	rc = start(s);
	if (rc) {
		s->engine->ops->disarm(s->engine);
		writer_abandon(s->writer);
		s->writer = NULL;
		unlink(s->plan.output);
		s->res->file_written = false;
		return rc;
	}
	rc = run(s);
	finish(s);
	if (!rc)
		add_names(s);
	collector_notes(s->collector, s->res->notes, sizeof(s->res->notes));
	status(s, "sealing");
	if (rc == -ENOSPC)
		s->reason = END_NO_SPACE;
	else if (rc)
		s->reason = END_ERROR;
	rc = writer_close(s->writer, s->reason);
	s->writer = NULL;
	if (!stat(s->plan.output, &st))
		s->res->st.bytes = (uint64_t)st.st_size;
	return rc;
}

int session_run(const struct plan *plan, const struct session_hooks *hooks,
		struct session_result *ret)
{
	struct session s = {.plan = *plan, .hooks = hooks, .res = ret, .reason = END_DONE};
	const struct engine_ops *ops;
	struct guard guard;
	int rc;

	*ret = (struct session_result){.why = ""};
	guard_look(&guard, plan->accepted, false);
	s.plan.guard = &guard;
	s.plan.freq_hz = guard_rate(&guard, plan->freq_hz);
	rc = engine_choose(&s.plan, &ops);
	if (!rc)
		guard_note(&s.plan, ops->name, ret->guard_note, sizeof(ret->guard_note));
	s.cpu_before_ns = machine_own_cpu_ns();
	if (!rc && ops->opens_first)
		rc = ops->open(&s.plan, &s.engine);
	if (!rc && plan->scope == SCOPE_COMMAND) {
		rc = launch_prepare(plan->command, s.engine ? s.engine->env : NULL, &s.child);
		s.child_id = (uint32_t)s.child.pid;
		s.plan.ids = &s.child_id;
		s.plan.n_ids = 1;
	}
	hurried(true); /* not before the command was forked */
	if (!rc && !ops->opens_first)
		rc = ops->open(&s.plan, &s.engine);
	if (!rc && s.engine->freq_hz)
		s.plan.freq_hz = s.engine->freq_hz;
	rc = rc ? rc : record(&s);
	watch_free(s.watch);
	order_free(s.order);
	collector_free(s.collector);
	if (s.engine)
		s.engine->ops->close(s.engine);
	if (s.child.pid) {
		bool interrupted = hooks->stop && *hooks->stop;

		ret->command_ran = s.child.go_fd < 0;
		/* Ctrl-C has reached the command too: it ends as it sees fit. */
		if (!s.child.done && !(interrupted && ret->command_ran))
			launch_stop(&s.child);
		launch_wait(&s.child);
		ret->exit_status = launch_exit_status(&s.child);
	}
	return rc;
}
