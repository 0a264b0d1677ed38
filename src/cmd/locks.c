// SPDX-License-Identifier: MIT
/* thaw locks: which locks threads waited for, from a capture or from a recording of its own. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/live.h"
#include "cmd/load.h"
#include "cmd/output.h"
#include "cmd/recording.h"
#include "cmd/status.h"
#include "report/locks.h"

enum { DETAILS = 3 };
#define UNSET UINT64_MAX
#define LOCKS_ENGINE "bpf" /* the others do not see locks */

struct locks_args {
	struct recording_opts rec;
	struct cmd_choice choice;
	const char *kind, *lock, *sort, *output, *keep;
	uint64_t top;
	bool signals, json, quiet;
};

#define AT(member) offsetof(struct locks_args, member)

static const struct option_row rows[] = {
	RECORDING_PID_ROW(AT(rec)),
	RECORDING_TID_ROW(AT(rec)),
	RECORDING_CGROUP_ROW(AT(rec)),
	RECORDING_ALL_ROW(AT(rec)),
	RECORDING_DURATION_ROW(AT(rec)),
	{0, "keep", OPTION_STR, AT(keep), "FILE", "keep what is recorded as this capture", 0, 0, 0},
	RECORDING_FREQ_ROW(AT(rec)),
	RECORDING_STACKS_ROW(AT(rec)),
	RECORDING_INHERIT_ROW(AT(rec)),
	RECORDING_RING_ROW(AT(rec)),
	RECORDING_UNWIND_MEMORY_ROW(AT(rec)),
	RECORDING_UNWIND_DIR_ROW(AT(rec)),
	RECORDING_ENGINE_ROW(AT(rec)),
	RECORDING_ACCEPT_ROW(AT(rec)),
	RECORDING_OVERHEAD_ROW(AT(rec)),
	{'q', "quiet", OPTION_FLAG, AT(quiet), NULL, "show nothing while recording", 0, 0, 0},
	{0, "sort", OPTION_STR, AT(sort), "ORDER", "by total, max or waits (total)", 0, 0, 0},
	{0, "top", OPTION_U64, AT(top), "N", "rows (10; as JSON all)", 1, 1000000, 0},
	{0, "lock", OPTION_STR, AT(lock), "NAME|ADDR",
	 "only this lock, or those with that in their name", 0, 0, 0},
	{0, "kind", OPTION_STR, AT(kind), "KIND", "only locks of this kind; see below", 0, 0, 0},
	{0, "signals", OPTION_FLAG, AT(signals), NULL,
	 "also what nobody holds: condition variables, joins, ...", 0, 0, 0},
	{0, "min-wait", OPTION_DURATION, AT(choice.min_lock_wait), "TIME",
	 "count only waits at least that long; others get no stacks", 0, 0, NSEC_PER_USEC},
	CMD_THREAD_ROW(AT(choice)),
	CMD_FROM_ROW(AT(choice)),
	CMD_TO_ROW(AT(choice)),
	{0, "json", OPTION_FLAG, AT(json), NULL, "as JSON", 0, 0, 0},
	{'o', "output", OPTION_STR, AT(output), "FILE", "write there, not to standard output", 0, 0,
	 0},
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

static void kinds(void)
{
	int col = 0;

	fputs("\nkinds:", stdout);
	for (unsigned k = 0; k < LOCK_KINDS; k++) {
		const char *name = lock_kind_name(k);

		if (col + (int)strlen(name) > 70)
			col = 0;
		col += printf("%s%s%s", col ? " " : "\n  ", name, k + 1 < LOCK_KINDS ? "," : "\n");
	}
}

static const char *kind_word(size_t i)
{
	return i < LOCK_KINDS ? lock_kind_name(i) : NULL;
}

static const struct cmd_words words[] = {
	RECORDING_WORDS,
	{"sort", locks_order_word},
	{"kind", kind_word},
	{NULL, NULL},
};

const struct cmd_form cmd_locks_form = {
	.usage =
		"usage: thaw locks [options] [FILE]\n"
		"       thaw locks [options] -p PID | -t TID | --cgroup PATH | -a | -- "
		"COMMAND...\n\n"
		"Shows which locks threads waited for, how long, and who held them: in a capture\n"
		"(capture.thaw), or in a recording that it makes now, until the command ends, the\n"
		"time is up, or Ctrl-C. On a terminal the table is shown while it grows (q ends).\n"
		"With a command, its exit status is thaw's.\n\n",
	.rows = rows,
	.more = kinds,
	.operands = {OPERAND_CAPTURE, OPERAND_COMMAND},
	.words = words,
	.schema = LOCKS_SCHEMA,
};

/* ---- the command line ---- */

/* What follows "--" is a command; NULL if there is no "--". Shortens argc to what is before it. */
static char **split_command(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		*argc = i;
		argv[i] = NULL;
		return argv + i + 1;
	}
	return NULL;
}

static int check_file(const struct locks_args *a)
{
	const struct recording_opts *r = &a->rec;

	if (r->duration_ns || r->all_stacks || r->no_inherit || r->ring_bytes || r->engine ||
	    r->freq_hz != RECORDING_HZ || a->keep)
		return err_set(-EINVAL,
			       "options of a recording (-d, -F, --keep, ...) need something "
			       "to record: -p, -t, --cgroup, -a or -- COMMAND");
	return 0;
}

static int view_opts(struct locks_args *a, struct locks_opts *ret)
{
	enum lock_kind kind;
	int rc = cmd_check_choice(&a->choice);

	*ret = (struct locks_opts){
		.top = a->top,
		.details = a->lock ? 1000000 : DETAILS,
		.lock = a->lock,
		.kind = a->kind,
		.signals = a->signals,
		.colour = !a->output && output_colour(),
		.width = a->output ? 0 : output_width(),
	};
	if (!rc && a->kind)
		rc = lock_kind_parse(a->kind, &kind);
	if (!rc && a->sort)
		rc = locks_order_parse(a->sort, &ret->order);
	return rc;
}

/* ---- showing ---- */

static int locks_show(const char *path, const struct locks_args *a, const struct locks_opts *opts)
{
	struct summary_opts sopts = {0};
	struct cmd_capture c = {0};
	lock_list picked = {0};
	struct output o;
	int rc = cmd_load(path, &a->choice, &sopts, &c);

	rc = rc ? rc : locks_pick(c.summary, opts, &picked);
	rc = rc ? rc : output_create(a->output, true, &o);
	if (!rc) {
		if (a->json)
			locks_json(c.summary, opts, &picked, o.out);
		else
			locks_text(c.summary, opts, &picked, o.out);
		rc = output_finish(&o, 0);
	}
	vec_done(&picked);
	cmd_unload(&c);
	return rc;
}

/* ---- recording ---- */

/*
 * A file without a name: nothing is left behind, however this ends. The processes that read it
 * while it grows inherit the descriptor.
 */
static int temporary(char *ret_path, size_t room, int *ret_fd)
{
	const char *folder = getenv("TMPDIR");
	char name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s/thaw-locks-XXXXXX", folder && *folder ? folder : "/tmp");
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return err_set(-errno, "cannot make a temporary file in %s: %s", name,
			       strerror(errno));
	unlink(name);
	snprintf(ret_path, room, "/proc/self/fd/%d", fd);
	*ret_fd = fd;
	return 0;
}

static void locks_tell(const struct locks_args *a, const struct session_result *res)
{
	if (!a->quiet)
		recording_tell_steps(res);
	if (res->saved_as[0])
		fprintf(stderr, "thaw: the file that was there before is now %s\n", res->saved_as);
	if (a->keep && !a->quiet)
		fprintf(stderr, "thaw: the recording is in %s\n",
			res->beside[0] ? res->beside : a->keep);
}

static int locks_record(const struct recording *rec, const struct locks_args *a,
			const struct locks_opts *opts)
{
	struct live_opts live = {.path = rec->plan.output,
				 .view = opts,
				 .choice = &a->choice,
				 .keys = !rec->plan.command};
	bool on = !a->quiet && !a->json && !a->output && live_possible();
	struct status_line line = {.on = !on && !a->quiet && isatty(STDERR_FILENO)};
	struct session_hooks hooks = {.progress = status_progress,
				      .starting = a->quiet ? NULL : recording_tell_starting,
				      .ctx = &line};
	struct session_result res;
	struct live *screen = on ? live_start(&live) : NULL;
	int rc = recording_run(rec, &hooks, &res);

	status_clear(&line);
	live_stop(screen);
	if (rc) {
		(void)cmd_fail("locks");
		return recording_failed(rec, rc, &res);
	}
	locks_tell(a, &res);
	if (locks_show(rec->plan.output, a, opts))
		return cmd_fail("locks");
	if (res.command_ran)
		return res.exit_status;
	return res.detached ? 1 : 0;
}

static int run_recording(struct locks_args *a, char **command, const struct locks_opts *opts)
{
	char path[64] = "";
	struct recording rec;
	int fd = -1, rc;

	rc = recording_plan(&a->rec, command, a->keep, &rec);
	if (!rc && rec.plan.engine && strcmp(rec.plan.engine, LOCKS_ENGINE))
		rc = err_set(-EINVAL, "the %s engine does not see locks; %s does", rec.plan.engine,
			     LOCKS_ENGINE);
	if (rc)
		return cmd_usage_error("locks");
	rec.plan.engine = LOCKS_ENGINE;
	if (!a->keep && temporary(path, sizeof(path), &fd)) {
		recording_done(&rec);
		return cmd_fail("locks");
	}
	rec.plan.output = a->keep ? a->keep : path;
	rc = locks_record(&rec, a, opts);
	recording_done(&rec);
	if (fd >= 0)
		close(fd);
	return rc;
}

int cmd_locks(int argc, char **argv)
{
	struct locks_args a = {.rec = {.freq_hz = RECORDING_HZ},
			       .choice = {.min_lock_wait = UNSET}};
	char **command = split_command(&argc, argv);
	struct locks_opts opts;
	const char *path = NULL;
	bool recording;
	int rc = cmd_parse(&cmd_locks_form, argc, argv, &a, &path);

	if (rc > 0)
		return 0;
	recording = command || recording_targets(&a.rec, NULL);
	if (a.choice.min_lock_wait == UNSET) {
		a.choice.min_lock_wait = 0;
		a.rec.min_wait_ns = RECORDING_MIN_WAIT_NS;
	} else {
		a.rec.min_wait_ns = a.choice.min_lock_wait;
	}
	rc = rc ? rc : view_opts(&a, &opts);
	if (!rc && recording && path)
		rc = err_set(-EINVAL,
			     "'%s' is a capture to read, but something to record is named too: "
			     "choose one",
			     path);
	if (!rc && !recording)
		rc = check_file(&a);
	if (rc)
		return cmd_usage_error(argv[0]);
	if (recording && (a.choice.from.clock || a.choice.to.clock)) {
		(void)err_set(-EINVAL, "--from and --to of a live recording are offsets from its "
				       "start, such as 3.2s");
		return cmd_usage_error(argv[0]);
	}
	if (recording)
		return run_recording(&a, command, &opts);
	output_begin();
	return locks_show(path ? path : CMD_CAPTURE, &a, &opts) ? cmd_fail(argv[0]) : 0;
}
