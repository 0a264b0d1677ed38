// SPDX-License-Identifier: MIT
/* thaw record: the command line and the summary of a recording. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/recording.h"
#include "cmd/status.h"
#include "model/model.h"
#include "report/words.h"

struct record_args {
	struct recording_opts rec;
	const char *output;
	bool quiet;
};

#define AT(member) offsetof(struct record_args, member)

static const struct option_row rows[] = {
	RECORDING_ALL_ROW(AT(rec)),
	RECORDING_PID_ROW(AT(rec)),
	RECORDING_TID_ROW(AT(rec)),
	RECORDING_CGROUP_ROW(AT(rec)),
	{'o', "output", OPTION_STR, AT(output), "FILE", "where to write (capture.thaw)", 0, 0, 0},
	RECORDING_DURATION_ROW(AT(rec)),
	RECORDING_FREQ_ROW(AT(rec)),
	{0, "min-wait", OPTION_DURATION, AT(rec.min_wait_ns), "TIME",
	 "shorter waits get no stacks, but all are recorded (50us)", 0, 0, NSEC_PER_USEC},
	RECORDING_STACKS_ROW(AT(rec)),
	RECORDING_INHERIT_ROW(AT(rec)),
	RECORDING_RING_ROW(AT(rec)),
	RECORDING_UNWIND_MEMORY_ROW(AT(rec)),
	RECORDING_UNWIND_DIR_ROW(AT(rec)),
	RECORDING_ENGINE_ROW(AT(rec)),
	RECORDING_ACCEPT_ROW(AT(rec)),
	RECORDING_OVERHEAD_ROW(AT(rec)),
	{'q', "quiet", OPTION_FLAG, AT(quiet), NULL, "no status line and no summary", 0, 0, 0},
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

static const struct cmd_words words[] = {
	RECORDING_WORDS,
	{NULL, NULL},
};

const struct cmd_form cmd_record_form = {
	.usage = "usage: thaw record [options] [--] COMMAND [ARG...]\n"
		 "       thaw record [options] -p PID | -t TID | --cgroup PATH | -a\n\n"
		 "Records where every thread's time goes, into capture.thaw, until the command\n"
		 "ends, the time is up, or Ctrl-C (a second one quits at once; the file stays\n"
		 "readable).\n"
		 "With a command, its exit status is thaw's.\n\n",
	.rows = rows,
	.operands = {OPERAND_COMMAND},
	.words = words,
};

static const char *what_is_lost(const struct session_result *res)
{
	bool away = res->detached && res->command_ran;

	for (size_t i = 0; i < res->n_steps; i++)
		away |= res->steps[i].mark.step == STEP_PAUSE;
	if (away)
		return "some time was not recorded";
	return res->st.lost ? "some were lost" : "nothing lost";
}

static void tell_lost(const struct session_status *st)
{
	for (uint32_t i = 0; i < LOSS_CAUSES; i++) {
		struct buf b = {0};

		if (!st->lost_by[i])
			continue;
		words_loss(&b, i, st->lost_by[i]);
		fprintf(stderr, "thaw: %s\n", buf_cstr(&b));
		buf_done(&b);
	}
}

static void record_summary(const struct plan *plan, const struct session_result *res)
{
	char elapsed[16], events[16], size[16];
	const struct session_status *st = &res->st;
	const char *file = res->beside[0] ? res->beside : plan->output;

	fprintf(stderr, "thaw: %s%s%s of %llu thread%s, %s events, %s in %s (%s)\n", res->why,
		res->why[0] ? ": " : "", units_duration(elapsed, sizeof(elapsed), st->elapsed_ns),
		(unsigned long long)st->threads, st->threads == 1 ? "" : "s",
		units_count(events, sizeof(events), st->events),
		units_size(size, sizeof(size), st->bytes), file, what_is_lost(res));
	tell_lost(st);
	if (res->guard_note[0])
		fprintf(stderr, "thaw: %s\n", res->guard_note);
	recording_tell_steps(res);
	if (res->saved_as[0])
		fprintf(stderr, "thaw: the file that was there before is now %s\n", res->saved_as);
	if (res->notes[0])
		fprintf(stderr, "thaw: %s\n", res->notes);
	fprintf(stderr, "thaw: look at it with: thaw report%s%s\n",
		strcmp(file, CMD_CAPTURE) ? " " : "", strcmp(file, CMD_CAPTURE) ? file : "");
}

static int record_run(struct recording *rec, bool quiet)
{
	struct status_line line = {.on = !quiet && isatty(STDERR_FILENO)};
	struct session_hooks hooks = {.progress = status_progress,
				      .starting = quiet ? NULL : recording_tell_starting,
				      .ctx = &line};
	struct session_result res;
	int rc = recording_run(rec, &hooks, &res);

	status_clear(&line);
	if (rc) {
		(void)cmd_fail("record");
		if (res.file_written)
			fprintf(stderr, "thaw: what was recorded before that is in %s\n",
				res.beside[0] ? res.beside : rec->plan.output);
		return recording_failed(rec, rc, &res);
	}
	if (res.beside[0])
		fprintf(stderr, "thaw: %s could not be put aside; this recording is in %s\n",
			rec->plan.output, res.beside);
	if (!quiet)
		record_summary(&rec->plan, &res);
	if (res.command_ran)
		return res.exit_status;
	return res.detached ? 1 : 0;
}

int cmd_record(int argc, char **argv)
{
	struct record_args a = {
		.output = CMD_CAPTURE,
		.rec = {.freq_hz = RECORDING_HZ, .min_wait_ns = RECORDING_MIN_WAIT_NS}};
	struct recording rec;
	int first, rc = options_parse(rows, argc, argv, 0, &a, &first);

	if (rc == 1) {
		cmd_show_help(&cmd_record_form);
		return 0;
	}
	rc = rc ? rc : recording_plan(&a.rec, argv + first, a.output, &rec);
	if (rc)
		return cmd_usage_error("record");
	rc = record_run(&rec, a.quiet);
	recording_done(&rec);
	return rc;
}
