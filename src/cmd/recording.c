// SPDX-License-Identifier: MIT
#include "cmd/recording.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "base/units.h"
#include "engine/engine.h"
#include "guard/budget.h"
#include "report/steps.h"
#include "scout/procfs.h"
#include "scout/scout.h"

/* To read the command line of one process, and those of all. */
#define COMMAND_NS (100 * NSEC_PER_MSEC)
#define COMMANDS_NS NSEC_PER_SEC

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	if (stop++)
		_exit(128 + sig);
}

static void catch_signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal};
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
		struct sigaction old;

		/* nohup and background shells ignore some of them: keep that. */
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
}

const char *recording_engine_word(size_t i)
{
	if (!i)
		return "auto";
	return i <= engine_count() ? engine_at(i - 1)->name : NULL;
}

typedef VEC(uint32_t) pid_list;

static void take_pid(void *ctx, uint32_t pid, uint32_t tid)
{
	pid_list *list = ctx;

	(void)tid;
	if (!list->n || list->v[list->n - 1] != pid)
		vec_push(list, pid);
}

/* Those whose command line begins with the program's name. */
struct commanded {
	const char *name;
	pid_list *found;
};

static void take_commanded(void *ctx, const struct scout_answer *a)
{
	struct commanded *c = ctx;
	size_t n = a->n_text ? strnlen(a->text, a->n_text) : 0, len = strlen(c->name);
	bool called = n >= len && !memcmp(a->text + n - len, c->name, len);

	if (called && (n == len || a->text[n - len - 1] == '/') && !a->status)
		take_pid(c->found, a->q.pid, a->q.pid);
}

/* Who reads the command line of a process waits for its locks of memory: that is the scout's. */
static void find_commanded(const pid_list *all, const char *name, pid_list *found)
{
	struct commanded c = {name, found};
	uint64_t until = clock_mono_ns() + COMMANDS_NS;
	struct scout *scout = scout_new();

	if (!scout)
		return;
	scout_on(scout, SCOUT_COMMAND, take_commanded, &c);
	for (size_t i = 0; i < all->n && clock_mono_ns() < until; i++) {
		struct scout_question q = {.kind = SCOUT_COMMAND, .pid = all->v[i]};

		if (all->v[i] != (uint32_t)getpid())
			(void)scout_wait(scout, scout_ask(scout, &q, true), COMMAND_NS, true);
	}
	scout_free(scout);
}

/* "postgres", as pidof has it: all processes of that name. */
static int parse_name(const char *name, struct recording *rec)
{
	pid_list all = {0}, found = {0};
	struct map seen = {0};
	size_t before = rec->ids.n;
	bool fresh;

	procfs_each_thread(0, take_pid, &all);
	procfs_each_named(name, take_pid, &found);
	find_commanded(&all, name, &found);
	for (size_t i = 0; i < found.n; i++) {
		map_put(&seen, found.v[i], &fresh);
		if (fresh)
			vec_push(&rec->ids, found.v[i]);
	}
	map_done(&seen);
	vec_done(&found);
	vec_done(&all);
	if (rec->ids.n > before)
		return 0;
	return err_set(-ESRCH,
		       "no process is called '%s', and it is not a process number: pgrep -fl finds "
		       "those that have a word in their command line",
		       name);
}

/* "12" or "12,13,14", possibly several times. */
static int parse_ids(const struct option_list *list, const char *what, struct recording *rec)
{
	for (size_t i = 0; i < list->n; i++) {
		const char *s = list->v[i];

		do {
			char *end;
			unsigned long v = isdigit((unsigned char)*s) ? strtoul(s, &end, 10) : 0;

			if (!v || v > INT32_MAX || (*end && *end != ','))
				return err_set(-EINVAL, "'%s' is not a %s number", list->v[i],
					       what);
			vec_push(&rec->ids, (uint32_t)v);
			s = *end ? end + 1 : end;
		} while (*s);
	}
	return 0;
}

static int parse_processes(const struct option_list *list, struct recording *rec)
{
	struct option_list ids = {0};
	int rc = 0;

	for (size_t i = 0; i < list->n && !rc; i++) {
		if (strspn(list->v[i], "0123456789,") == strlen(list->v[i]))
			ids.v[ids.n++] = list->v[i];
		else
			rc = parse_name(list->v[i], rec);
	}
	return rc ? rc : parse_ids(&ids, "process", rec);
}

static int parse_accepted(const struct option_list *list, uint32_t *ret)
{
	int rc = 0;

	for (size_t i = 0; i < list->n && !rc; i++)
		rc = guard_accept(list->v[i], ret);
	return rc;
}

/* "3", "0.5%": in millionths. */
static int parse_share(const char *s, uint64_t *ret)
{
	char *end;
	double percent = isdigit((unsigned char)*s) || *s == '.' ? strtod(s, &end) : -1;

	if (percent <= 0 || percent > 100 || (strcmp(end, "") && strcmp(end, "%")))
		return err_set(-EINVAL,
			       "--max-overhead: '%s' is not a percentage above 0 and up to 100 "
			       "(100: no limit)",
			       s);
	*ret = (uint64_t)(percent * (BUDGET_WHOLE / 100));
	return 0;
}

int recording_targets(const struct recording_opts *o, char *const *command)
{
	return o->all + !!o->pids.n + !!o->tids.n + !!o->cgroup + (command && command[0]);
}

static int recording_check(const struct recording_opts *o, int targets)
{
	if (!targets)
		return err_set(-EINVAL,
			       "what to record? Give a command, or -p, -t, --cgroup or -a");
	if (targets > 1)
		return err_set(-EINVAL, "only one of -a, -p, -t, --cgroup or a command at a time");
	if (o->engine && strcmp(o->engine, "auto") && !engine_known(o->engine))
		return err_set(-EINVAL, "there is no engine '%s'; there are: auto, %s", o->engine,
			       engine_names());
	if (o->ring_bytes & (o->ring_bytes - 1))
		return err_set(-EINVAL, "--ring-size must be a power of two, such as 1M or 8M");
	return 0;
}

int recording_plan(const struct recording_opts *o, char *const *command, const char *output,
		   struct recording *ret)
{
	uint64_t max_overhead = BUDGET_DEFAULT;
	struct recording rec = {0};
	uint32_t accepted = 0;
	int rc = recording_check(o, recording_targets(o, command));

	rc = rc ? rc : parse_processes(&o->pids, &rec);
	rc = rc ? rc : parse_ids(&o->tids, "thread", &rec);
	rc = rc ? rc : parse_accepted(&o->accept, &accepted);
	rc = rc || !o->max_overhead ? rc : parse_share(o->max_overhead, &max_overhead);
	if (rc) {
		recording_done(&rec);
		return rc;
	}
	rec.plan = (struct plan){
		.scope = o->all	     ? SCOPE_SYSTEM
			 : o->pids.n ? SCOPE_PROCESS
			 : o->tids.n ? SCOPE_THREAD
			 : o->cgroup ? SCOPE_CGROUP
				     : SCOPE_COMMAND,
		.ids = rec.ids.v,
		.n_ids = rec.ids.n,
		.cgroup = o->cgroup,
		.command = command && command[0] ? command : NULL,
		.output = output,
		.duration_ns = o->duration_ns,
		.freq_hz = o->freq_hz,
		.min_wait_ns = o->all_stacks ? 0 : o->min_wait_ns,
		.max_overhead = max_overhead,
		.ring_bytes = o->ring_bytes,
		.tables_bytes = o->unwind_bytes,
		.tables_dir = o->unwind_dir && !strcmp(o->unwind_dir, "none") ? "" : o->unwind_dir,
		.no_inherit = o->no_inherit,
		.accepted = accepted,
		.engine = o->engine && strcmp(o->engine, "auto") ? o->engine : NULL,
	};
	*ret = rec;
	return 0;
}

void recording_done(struct recording *rec)
{
	vec_done(&rec->ids);
}

int recording_run(const struct recording *rec, const struct session_hooks *hooks,
		  struct session_result *ret)
{
	struct session_hooks with = *hooks;

	with.stop = &stop;
	catch_signals();
	return session_run(&rec->plan, &with, ret);
}

int recording_failed(const struct recording *rec, int rc, const struct session_result *res)
{
	if (!rec->plan.command || !res->command_ran || res->file_written)
		return 1;
	return rc == -ENOENT ? 127 : 126;
}

void recording_tell_starting(void *ctx, const char *what, uint64_t elapsed_ns)
{
	char after[32];

	fprintf(stderr, "thaw: still starting after %s: %s\n",
		units_duration(after, sizeof(after), elapsed_ns), what);
}

void recording_tell_steps(const struct session_result *res)
{
	for (size_t i = 0; i < res->n_steps; i++) {
		const struct session_step *s = &res->steps[i];
		struct ev_mark mark = s->mark;
		struct buf b = {0};
		char at[16];

		mark.note = s->note;
		step_words(&b, &mark);
		fprintf(stderr, "thaw: at %s: %s\n", units_duration(at, sizeof(at), s->at_ns),
			buf_cstr(&b));
		buf_done(&b);
	}
}
