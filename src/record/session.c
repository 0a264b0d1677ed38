// SPDX-License-Identifier: MIT
/*
 * plan -> open -> find -> attach -> arm -> run -> disarm -> drain -> name -> seal.
 *
 * The probes never wake the recorder: it polls, seldom when little happens and often when a ring
 * fills. Whatever fails, the part that has been written stays a readable capture.
 */
#include "record/session.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "collect/collect.h"
#include "engine/engine.h"
#include "guard/budget.h"
#include "guard/guard.h"
#include "record/guarded.h"
#include "record/launch.h"
#include "record/machine.h"
#include "record/outfile.h"
#include "record/starting.h"
#include "record/symbolize.h"
#include "record/watch.h"
#include "ring/order.h"
#include "scout/procfs.h"
#include "scout/scout.h"
#include "store/reader.h"
#include "store/syncer.h"
#include "store/writer.h"
#include "unwind_tables/builder.h"
#include "wire/meta.h"

#define POLL_MIN_NS (2 * NSEC_PER_MSEC)
#define POLL_MAX_NS (40 * NSEC_PER_MSEC)
#define POLL_HURRY_NS (200 * NSEC_PER_USEC)
#define POLL_EVENTS 20000 /* that many between two polls are plenty */
#define WINDOW_NS (20 * NSEC_PER_MSEC)
#define STASH_BYTES (64u << 20)
#define WAIT_BYTES (8u << 20) /* may gather while a record waits: they are still to be written */
#define LOOK_NS (20 * NSEC_PER_MSEC)
#define LOOK_RECORDS 1024
#define COLLECTOR_NICE (-20)

struct session {
	struct plan plan; /* with the command's pid filled in */
	const struct session_hooks *hooks;
	struct session_result *res;
	struct launch child;
	uint32_t child_id;
	struct engine *engine;
	struct writer *writer;
	char *path; /* of the capture */
	struct collector *collector;
	struct order *order;
	struct watch *watch;
	struct scout *scout;
	struct syncer *syncer;	   /* until the writer has it */
	struct starting *starting; /* NULL when it has begun */
	uint64_t asked_ns;
	uint64_t begin_ns, end_ns, cpu_before_ns;
	uint64_t detached_ns; /* when thaw stopped recording by itself; 0: never */
	uint64_t looked_ns;   /* at the rings */
	unsigned since_look;  /* records */
	pthread_t settling;   /* gives the capture its name */
	bool settles;	      /* that thread runs */
	bool running;	      /* between start and end */
	enum end_cause cause;
};

/*
 * The thread that drains the rings, and the one that compresses, must get a CPU in time however
 * busy the machine is, or events are lost. They need little, and pause often. Niceness alone does
 * not help against a load in another session (autogroups share the CPU first). Threads made
 * meanwhile inherit the priority.
 */
static void urgent(bool on)
{
	struct sched_param param = {.sched_priority = on ? 1 : 0};

	(void)sched_setscheduler(0, on ? SCHED_RR : SCHED_OTHER, &param);
}

/* Elsewhere niceness is enough: a busy machine must not make the user wait for seconds. */
static void hurried(bool on)
{
	(void)setpriority(PRIO_PROCESS, 0, on ? COLLECTOR_NICE : 0);
}

/* ---- the file ---- */

static int open_output(struct session *s)
{
	int fd, rc = outfile_open(s->plan.output, &s->path, &fd);

	if (rc)
		return rc;
	urgent(true);
	rc = writer_open_fd(fd, s->plan.output, &(struct writer_opts){.syncer = s->syncer},
			    &s->writer);
	urgent(false);
	s->syncer = NULL;
	if (rc)
		return rc;
	s->res->file_written = true;
	machine_describe(s->writer, &s->plan, s->engine->ops->name);
	guard_describe(s->writer, &s->plan, s->engine->ops->name);
	return 0;
}

/* ---- running ---- */

/* Includes both children: the one that reads programs and libraries, and the scout. */
static uint64_t own_cpu_ns(const struct session *s)
{
	return machine_own_cpu_ns() + collector_child_ns(s->collector) +
	       collector_scout_ns(s->collector) - s->cpu_before_ns;
}

static void status(struct session *s, const char *phase)
{
	struct session_status *st = &s->res->st;

	st->elapsed_ns = (s->end_ns ? s->end_ns : clock_mono_ns()) - s->begin_ns;
	st->events = writer_events(s->writer);
	st->bytes = writer_bytes(s->writer);
	collector_lost(s->collector, st->lost_by);
	st->lost = 0;
	for (size_t i = 0; i < LOSS_CAUSES; i++)
		st->lost += st->lost_by[i];
	st->threads = collector_seen(s->collector);
	st->cpu_ns = own_cpu_ns(s);
	if (s->hooks->progress)
		s->hooks->progress(s->hooks->ctx, st, phase);
}

static bool time_is_up(const struct session *s, uint64_t now)
{
	return s->plan.duration_ns && now - s->begin_ns >= s->plan.duration_ns;
}

/* Why to end now, or NULL to go on. */
static const char *over(struct session *s, uint64_t now)
{
	if (s->hooks->stop && *s->hooks->stop) {
		s->cause = s->detached_ns ? END_STOPPED : END_INTERRUPTED;
		return "interrupted";
	}
	/* A command runs on, unrecorded: thaw waits for it. */
	if (s->detached_ns && !s->child.pid)
		return "stopped, to spare the machine";
	if (s->end_ns || time_is_up(s, now))
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

/* Disarms the engine for good, but keeps what the rings still hold. */
static void detach(struct session *s)
{
	s->engine->ops->disarm(s->engine);
	s->detached_ns = clock_mono_ns();
	s->res->detached = true;
	s->cause = END_STOPPED;
	order_drain(s->order, collector_record, s->collector);
	collector_losses(s->collector, order_late(s->order));
	collector_detached(s->collector, s->detached_ns);
	urgent(false);
}

static uint64_t used_ns(const struct session *s)
{
	uint64_t build = collector_build_ns(s->collector);

	return budget_counted(own_cpu_ns(s), build, BUILDER_FREE_NS);
}

/*
 * The probes have switched themselves off. If they had missed our sign of life (SIGSTOP, a machine
 * that stood still, a disk that did not answer), attach them again. If they were too slow, they
 * would be so again: detach.
 */
static void check_fuse(struct session *s)
{
	const struct engine_ops *ops = s->engine->ops;
	struct watch_news news = {.note = ""};
	struct fuse fuse;
	uint64_t now;

	if (!ops->blown || !ops->blown(s->engine, &fuse))
		return;
	if (fuse.cause == FUSE_SLOW || ops->attach(s->engine)) {
		bool slow = fuse.cause == FUSE_SLOW;

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

/*
 * Reads the clock itself, because draining may have taken long. A step with too early a time would
 * claim that the machine was spared sooner than it was.
 */
static void look_after_machine(struct session *s)
{
	uint64_t now = clock_mono_ns(), used = used_ns(s);
	struct watch_news news;

	while (!s->detached_ns && watch_look(s->watch, now, used, &news)) {
		if (news.step == STEP_DETACH)
			detach(s);
		tell_step(s, s->detached_ns ? s->detached_ns : clock_mono_ns(), &news);
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

/* Stops recording. The rings still have to be drained. */
static void stop_engine(struct session *s)
{
	collector_stopping(s->collector);
	s->end_ns = clock_mono_ns();
	s->engine->ops->disarm(s->engine);
}

/* Neither the heart nor the end of the recording waits for what is being written. */
static void session_look(struct session *s)
{
	s->looked_ns = clock_mono_ns();
	engine_beat(s->engine);
	if (s->running && !s->detached_ns && !s->end_ns && time_is_up(s, s->looked_ns))
		stop_engine(s);
}

/* Called while a record waits for an unwind table or for a file: the rings may not wait with it. */
static bool idle(void *ctx)
{
	struct session *s = ctx;

	session_look(s);
	if (s->hooks->stop && *s->hooks->stop)
		return false;
	return order_stash(s->order, s->looked_ns, STASH_BYTES) &&
	       order_stashed(s->order) < WAIT_BYTES;
}

/* The rings go on filling while much is written, as after a wait: they are emptied in between. */
static void session_take(void *ctx, const struct record *rec)
{
	struct session *s = ctx;

	collector_record(s->collector, rec);
	if (++s->since_look < LOOK_RECORDS)
		return;
	s->since_look = 0;
	if (clock_mono_ns() - s->looked_ns < LOOK_NS)
		return;
	session_look(s);
	(void)order_stash(s->order, s->looked_ns, STASH_BYTES);
}

static int session_loop(struct session *s)
{
	uint64_t poll_ns = 10 * NSEC_PER_MSEC, told_ns = s->begin_ns, now, before;
	int rc = 0;

	s->running = true;
	status(s, NULL);
	do {
		before = writer_events(s->writer);
		now = clock_mono_ns();
		if (!s->detached_ns) {
			engine_beat(s->engine);
			s->looked_ns = now;
			order_run(s->order, now, session_take, s);
			collector_settle(s->collector);
		}
		if (!s->detached_ns && !s->end_ns)
			check_fuse(s);
		if (!s->detached_ns && !s->end_ns)
			look_after_machine(s);
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
	s->running = false;
	return rc;
}

static void started(struct session *s)
{
	starting_end(s->starting);
	s->starting = NULL;
}

/* A zombie has an entry in /proc, but does not live. */
static void count_living(void *ctx, uint32_t pid, uint32_t tid)
{
	struct thread_facts facts;
	size_t *living = ctx;

	*living += !procfs_thread(pid, tid, &facts) && !(facts.state & (STATE_ZOMBIE | STATE_DEAD));
}

/* Fails if one of the plan's targets is not there. Counts their living threads. */
static int find_targets(const struct plan *plan, size_t *ret_living)
{
	uint32_t pid;
	int rc = 0;

	*ret_living = 0;
	for (size_t i = 0; i < plan->n_ids && !rc; i++) {
		if (plan->scope == SCOPE_PROCESS) {
			rc = procfs_each_thread(plan->ids[i], count_living, ret_living);
		} else if (plan->scope == SCOPE_THREAD) {
			rc = procfs_pid_of(plan->ids[i], &pid);
			if (!rc)
				count_living(ret_living, pid, plan->ids[i]);
		}
	}
	return rc;
}

/* Does not ask whether the engine may look at the targets: the engine itself reports that. */
static bool targets_ended(const struct plan *plan)
{
	size_t living;

	return (plan->scope == SCOPE_PROCESS || plan->scope == SCOPE_THREAD) &&
	       (find_targets(plan, &living) || !living);
}

static int ended_meanwhile(const struct session *s)
{
	char took[32];

	return err_set(
		-ESRCH,
		"%s ended while thaw started, which took %s: nothing was recorded (start thaw "
		"first: thaw record -- COMMAND)",
		s->plan.scope == SCOPE_THREAD ? "the thread" : "the process",
		units_duration(took, sizeof(took), clock_mono_ns() - s->asked_ns));
}

static int session_start(struct session *s)
{
	int rc;

	starting_at(s->starting, "looking for the threads, and what their processes have mapped");
	rc = collector_find(s->collector);
	if ((rc == -ESRCH || (!rc && !collector_alive(s->collector))) && targets_ended(&s->plan))
		return ended_meanwhile(s);
	if (rc)
		return rc;
	starting_at(s->starting, "waiting for the kernel to switch the probes on");
	rc = s->engine->ops->attach(s->engine);
	if (rc)
		return rc;
	urgent(true);
	s->begin_ns = clock_mono_ns();
	s->watch = watch_new(&s->plan, s->engine, s->begin_ns);
	writer_meta(s->writer, META_WATCH_LOG, watch_sees_log(s->watch) ? "yes" : "no");
	s->engine->ops->arm(s->engine);
	starting_at(s->starting, "looking at the threads that sleep");
	collector_begin(s->collector, s->begin_ns);
	started(s);
	return s->child.pid ? launch_go(&s->child, s->plan.command[0]) : 0;
}

/* ---- the end ---- */

static void add_names(struct session *s)
{
	struct namer *namer;
	struct reader *r;
	struct symtab *st;

	status(s, "finding names");
	if (writer_flush(s->writer, true) || writer_reader(s->writer, &r))
		return;
	namer = namer_new(s->plan.tables_dir);
	if (s->engine->ops->own_code)
		s->engine->ops->own_code(s->engine, namer_own_code, namer);
	st = symbolize(r, namer, s->res->notes, sizeof(s->res->notes));
	namer_free(namer);
	reader_close(r);
	writer_symbols(s->writer, st);
	symtab_free(st);
}

/* Writes how the recording went. */
static void tell_itself(struct session *s)
{
	const struct engine_ops *ops = s->engine->ops;

	writer_meta_number(s->writer, META_DRAIN_GAP_NS, order_gap_ns(s->order));
	writer_meta_number(s->writer, META_THAW_CPU_NS, own_cpu_ns(s));
	if (ops->own_ns)
		writer_meta_number(s->writer, META_PROBE_NS, ops->own_ns(s->engine));
}

static void session_finish(struct session *s)
{
	if (s->detached_ns) {
		s->end_ns = s->child.pid ? clock_mono_ns() : s->detached_ns;
	} else {
		if (!s->end_ns)
			stop_engine(s);
		order_drain(s->order, collector_record, s->collector);
	}
	urgent(false);
	collector_losses(s->collector, order_late(s->order));
	collector_end(s->collector, s->end_ns);
	tell_itself(s);
}

/*
 * The command runs by now: a name that cannot be had must not cost its recording. Replacing an old
 * capture may take a file system seconds, for which the rings cannot wait: it has a thread.
 */
static void settle(struct session *s)
{
	if (outfile_settle(&s->path, s->res->saved_as, sizeof(s->res->saved_as)))
		snprintf(s->res->beside, sizeof(s->res->beside), "%s", s->path);
}

static void *run_settling(void *arg)
{
	urgent(false);
	hurried(false);
	settle(arg);
	return NULL;
}

static void begin_settling(struct session *s)
{
	sigset_t all, old;

	/* Signals are for the thread that records. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	s->settles = !pthread_create(&s->settling, NULL, run_settling, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!s->settles)
		settle(s);
}

/* Until then, only that thread touches the path. */
static void end_settling(struct session *s)
{
	if (s->settles)
		pthread_join(s->settling, NULL);
	s->settles = false;
}

static int session_record(struct session *s)
{
	struct stat st;
	int rc;

	starting_at(s->starting, "making the file");
	rc = open_output(s);
	if (rc)
		return rc;
	s->collector = collector_new(&s->plan, s->engine, s->writer, s->scout);
	s->order = order_new(s->engine->sources, s->engine->n_sources,
			     s->engine->window_ns ? s->engine->window_ns : WINDOW_NS);
	collector_set_idle(s->collector, idle, s);
	rc = session_start(s);
	if (rc) {
		s->engine->ops->disarm(s->engine);
		writer_abandon(s->writer);
		s->writer = NULL;
		unlink(s->path);
		s->res->file_written = false;
		return rc;
	}
	begin_settling(s);
	rc = session_loop(s);
	session_finish(s);
	end_settling(s);
	if (!rc)
		add_names(s);
	collector_notes(s->collector, s->res->notes, sizeof(s->res->notes));
	status(s, "sealing");
	if (rc == -ENOSPC)
		s->cause = END_NO_SPACE;
	else if (rc)
		s->cause = END_ERROR;
	rc = writer_close(s->writer, s->cause);
	s->writer = NULL;
	hurried(false);
	if (!stat(s->path, &st))
		s->res->st.bytes = (uint64_t)st.st_size;
	return rc;
}

int session_run(const struct plan *plan, const struct session_hooks *hooks,
		struct session_result *ret)
{
	struct session s = {.plan = *plan, .hooks = hooks, .res = ret, .cause = END_DONE};
	const struct engine_ops *ops;
	struct guard guard;
	size_t living;
	int rc, sync_error;

	*ret = (struct session_result){.why = ""};
	s.asked_ns = clock_mono_ns();
	mem_be_thrifty();
	rc = find_targets(plan, &living);
	if (rc)
		return rc;
	/* Fork these first, so that they inherit as little as possible. */
	s.scout = scout_new();
	if (!s.scout)
		return -EAGAIN;
	s.syncer = syncer_new();
	s.starting = starting_new(hooks->starting, hooks->ctx, s.asked_ns);
	guard_look(&guard, plan->accepted, false);
	s.plan.guard = &guard;
	s.plan.freq_hz = guard_rate(&guard, plan->freq_hz);
	rc = engine_choose(&s.plan, &ops);
	if (!rc)
		guard_note(&s.plan, ops->name, ret->guard_note, sizeof(ret->guard_note));
	s.cpu_before_ns = machine_own_cpu_ns();
	starting_at(s.starting, "waiting for the kernel to check and load the probes");
	if (!rc && ops->opens_first)
		rc = ops->open(&s.plan, &s.engine);
	if (!rc && plan->scope == SCOPE_COMMAND) {
		rc = launch_prepare(plan->command, s.engine ? s.engine->env : NULL, &s.child);
		s.child_id = (uint32_t)s.child.pid;
		s.plan.ids = &s.child_id;
		s.plan.n_ids = 1;
	}
	hurried(true); /* only now, lest the command inherit it */
	if (!rc && !ops->opens_first)
		rc = ops->open(&s.plan, &s.engine);
	if (!rc && s.engine->freq_hz)
		s.plan.freq_hz = s.engine->freq_hz;
	rc = rc ? rc : session_record(&s);
	started(&s);
	free(s.path);
	watch_free(s.watch);
	order_free(s.order);
	collector_free(s.collector);
	scout_free(s.scout);
	syncer_end(s.syncer, 0, &sync_error);
	if (s.engine)
		s.engine->ops->close(s.engine);
	if (s.child.pid) {
		bool interrupted = hooks->stop && *hooks->stop;

		ret->command_ran = s.child.go_fd < 0;
		/* Ctrl-C has reached the command too, which decides itself how to end. */
		if (!s.child.done && !(interrupted && ret->command_ran))
			launch_stop(&s.child);
		launch_wait(&s.child);
		ret->exit_status = launch_exit_status(&s.child);
	}
	return rc;
}
