// SPDX-License-Identifier: MIT
/* thaw record: the command line, the signals, the status line and the summary of a recording. */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/options.h"
#include "base/units.h"
#include "base/vec.h"
#include "capture/session.h"
#include "cmd/cmd.h"

struct record_opts {
	bool all, no_inherit, all_stacks, quiet;
	struct option_list pids, tids;
	const char *cgroup, *output, *engine;
	uint64_t duration_ns, freq_hz, min_wait_ns, ring_bytes;
};

#define AT(member) offsetof(struct record_opts, member)

static const struct option_row rows[] = {
	{'a', "all", OPTION_FLAG, AT(all), NULL, "the whole machine", 0, 0, 0},
	{'p', "pid", OPTION_STRV, AT(pids), "PID", "a process, all its threads and its children", 0,
	 0, 0},
	{'t', "tid", OPTION_STRV, AT(tids), "TID", "a single thread, and what it starts", 0, 0, 0},
	{0, "cgroup", OPTION_STR, AT(cgroup), "PATH", "a control group and those below it", 0, 0,
	 0},
	{'o', "output", OPTION_STR, AT(output), "FILE", "where to write (capture.thaw)", 0, 0, 0},
	{'d', "duration", OPTION_DURATION, AT(duration_ns), "TIME",
	 "stop after that long: 500ms, 10s, 2m", 0, 0, 0},
	{'F', "freq", OPTION_U64, AT(freq_hz), "HZ", "samples a second on each CPU (999); 0: none",
	 0, 100000, 0},
	{0, "min-wait", OPTION_DURATION, AT(min_wait_ns), "TIME",
	 "shorter waits get no stacks, but all are recorded (50us)", 0, 0, NSEC_PER_USEC},
	{0, "all-stacks", OPTION_FLAG, AT(all_stacks), NULL, "stacks for every wait: --min-wait 0",
	 0, 0, 0},
	{0, "no-inherit", OPTION_FLAG, AT(no_inherit), NULL, "do not follow children", 0, 0, 0},
	{0, "ring-size", OPTION_SIZE, AT(ring_bytes), "SIZE",
	 "buffer per CPU, a power of two: 1M, 8M (by CPUs)", 4096, 64 << 20, 0},
	{0, "engine", OPTION_STR, AT(engine), "NAME", "how to record: auto, bpf (auto)", 0, 0, 0},
	{'q', "quiet", OPTION_FLAG, AT(quiet), NULL, "no status line and no summary", 0, 0, 0},
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

static const char usage[] =
	"usage: thaw record [options] [--] COMMAND [ARG...]\n"
	"       thaw record [options] -p PID | -t TID | --cgroup PATH | -a\n\n"
	"Records where every thread's time goes, into capture.thaw, until the command ends,\n"
	"the time is up, or Ctrl-C (a second one quits at once; the file stays readable).\n"
	"With a command, its exit status is thaw's.\n\n";

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

		/* nohup and background shells ignore some of them: leave it so. */
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
}

/* ---- what the person sees ---- */

struct display {
	bool on;
	bool line_shown;
	uint64_t last_events, last_ns;
};

static void clear_line(struct display *d)
{
	if (d->line_shown)
		fputs("\r\033[K", stderr);
	d->line_shown = false;
}

static void progress(void *ctx, const struct session_status *st, const char *phase)
{
	struct display *d = ctx;
	char elapsed[16], rate[16], size[16], lost[16];
	uint64_t ns = st->elapsed_ns - d->last_ns;
	double share = st->elapsed_ns ? 100.0 * (double)st->cpu_ns / (double)st->elapsed_ns : 0;

	if (!d->on)
		return;
	if (phase) {
		fprintf(stderr, "\r\033[K%s ...", phase);
	} else {
		uint64_t per_s = ns ? (st->events - d->last_events) * NSEC_PER_SEC / ns : 0;

		fprintf(stderr, "\r\033[K%s  %s events/s  %s  %s lost  thaw uses %.1f%% of a CPU",
			units_duration(elapsed, sizeof(elapsed), st->elapsed_ns),
			units_count(rate, sizeof(rate), per_s),
			units_size(size, sizeof(size), st->bytes),
			units_count(lost, sizeof(lost), st->lost), share);
		d->last_events = st->events;
		d->last_ns = st->elapsed_ns;
	}
	fflush(stderr);
	d->line_shown = true;
}

static void summary(const struct plan *plan, const struct session_result *res)
{
	char elapsed[16], events[16], size[16];
	const struct session_status *st = &res->st;

	fprintf(stderr, "thaw: %s%s%s of %llu thread%s, %s events, %s in %s (%s)\n", res->why,
		res->why[0] ? ": " : "", units_duration(elapsed, sizeof(elapsed), st->elapsed_ns),
		(unsigned long long)st->threads, st->threads == 1 ? "" : "s",
		units_count(events, sizeof(events), st->events),
		units_size(size, sizeof(size), st->bytes), plan->output,
		st->lost ? "some were lost" : "nothing lost");
	if (st->lost)
		fprintf(stderr,
			"thaw: %llu events were lost: see thaw info %s; a larger --ring-size "
			"helps\n",
			(unsigned long long)st->lost, plan->output);
	if (res->saved_as[0])
		fprintf(stderr, "thaw: the file that was there before is now %s\n", res->saved_as);
	if (res->notes[0])
		fprintf(stderr, "thaw: %s\n", res->notes);
	fprintf(stderr, "thaw: look at it with: thaw report%s%s\n",
		strcmp(plan->output, "capture.thaw") ? " " : "",
		strcmp(plan->output, "capture.thaw") ? plan->output : "");
}

/* ---- the command line ---- */

typedef VEC(uint32_t) id_vec;

/* "12" or "12,13,14", possibly several times. */
static int parse_ids(const struct option_list *list, const char *what, id_vec *out)
{
	for (size_t i = 0; i < list->n; i++) {
		const char *s = list->v[i];

		do {
			char *end;
			unsigned long v = isdigit((unsigned char)*s) ? strtoul(s, &end, 10) : 0;

			if (!v || v > INT32_MAX || (*end && *end != ','))
				return err_set(-EINVAL, "'%s' is not a %s number", list->v[i],
					       what);
			vec_push(out, (uint32_t)v);
			s = *end ? end + 1 : end;
		} while (*s);
	}
	return 0;
}

static int make_plan(const struct record_opts *o, char **command, id_vec *ids, struct plan *ret)
{
	int ways = o->all + !!o->pids.n + !!o->tids.n + !!o->cgroup + !!command[0];
	int rc;

	if (!ways)
		return err_set(-EINVAL,
			       "what to record? Give a command, or -p, -t, --cgroup or -a");
	if (ways > 1)
		return err_set(-EINVAL, "only one of -a, -p, -t, --cgroup or a command at a time");
	if (o->engine && strcmp(o->engine, "auto") && strcmp(o->engine, "bpf"))
		return err_set(-EINVAL, "there is no engine '%s'; there are: auto, bpf", o->engine);
	if (o->ring_bytes & (o->ring_bytes - 1))
		return err_set(-EINVAL, "--ring-size must be a power of two, such as 1M or 8M");
	rc = parse_ids(&o->pids, "process", ids);
	rc = rc ? rc : parse_ids(&o->tids, "thread", ids);
	if (rc)
		return rc;
	*ret = (struct plan){
		.scope = o->all	     ? SCOPE_SYSTEM
			 : o->pids.n ? SCOPE_PROCESS
			 : o->tids.n ? SCOPE_THREAD
			 : o->cgroup ? SCOPE_CGROUP
				     : SCOPE_COMMAND,
		.ids = ids->v,
		.n_ids = ids->n,
		.cgroup = o->cgroup,
		.command = command[0] ? command : NULL,
		.output = o->output,
		.duration_ns = o->duration_ns,
		.freq_hz = o->freq_hz,
		.min_wait_ns = o->all_stacks ? 0 : o->min_wait_ns,
		.ring_bytes = o->ring_bytes,
		.no_inherit = o->no_inherit,
	};
	return 0;
}

/* What a shell would say of a command that could not be run. */
static int failure_status(int rc, bool command_failed)
{
	if (!command_failed)
		return 1;
	return rc == -ENOENT ? 127 : 126;
}

int cmd_record(int argc, char **argv)
{
	struct record_opts o = {
		.output = "capture.thaw", .freq_hz = 999, .min_wait_ns = 50 * NSEC_PER_USEC};
	struct display d = {0};
	struct session_hooks hooks = {.progress = progress, .ctx = &d, .stop = &stop};
	struct session_result res;
	struct plan plan;
	id_vec ids = {0};
	int first, rc;

	rc = options_parse(rows, argc, argv, 0, &o, &first);
	if (rc == 1) {
		fputs(usage, stdout);
		options_help(rows, stdout);
		return 0;
	}
	rc = rc ? rc : make_plan(&o, argv + first, &ids, &plan);
	if (rc) {
		vec_done(&ids);
		return cmd_usage_error("record");
	}
	d.on = !o.quiet && isatty(STDERR_FILENO);
	catch_signals();
	rc = session_run(&plan, &hooks, &res);
	clear_line(&d);
	vec_done(&ids);
	if (rc) {
		bool command_failed = plan.command && res.command_ran && !res.file_written;

		(void)cmd_fail("record");
		if (res.file_written)
			fprintf(stderr, "thaw: what was recorded before that is in %s\n",
				plan.output);
		return failure_status(rc, command_failed);
	}
	if (!o.quiet)
		summary(&plan, &res);
	return res.command_ran ? res.exit_status : 0;
}
