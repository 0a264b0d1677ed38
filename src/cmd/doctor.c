// SPDX-License-Identifier: MIT
/*
 * thaw doctor: what this machine allows, in words for somebody with other worries. The exit
 * status is the verdict: 0 good, 1 degraded, 2 refused.
 */
#include <stdio.h>

#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/doctor.h"
#include "cmd/output.h"
#include "cmd/recording.h"
#include "engine/engine.h"

struct doctor_args {
	bool json, list, probe;
	struct option_list accept;
};

#define AT(member) offsetof(struct doctor_args, member)

static const struct option_row rows[] = {
	{0, "json", OPTION_FLAG, AT(json), NULL, "everything, as JSON", 0, 0, 0},
	{0, "probe", OPTION_FLAG, AT(probe), NULL,
	 "measure what an interrupted ring buffer costs here", 0, 0, 0},
	{0, "list", OPTION_FLAG, AT(list), NULL, "what thaw knows about kernels, as a table", 0, 0,
	 0},
	{0, "accept", OPTION_STRV, AT(accept), "ID", "as if 'thaw record --accept ID' were used", 0,
	 0, 0},
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

static const struct cmd_words words[] = {
	{"accept", guard_accept_word},
	{NULL, NULL},
};

const struct cmd_form cmd_doctor_form = {
	.usage = "usage: thaw doctor [options]\n\n"
		 "Says what thaw can record on this machine, for this user, what it will leave\n"
		 "out and why, and what to do about it. Exit status: 0 all is well, 1 something\n"
		 "is left out, 2 nothing can be recorded.\n\n",
	.rows = rows,
	.words = words,
	.schema = DOCTOR_SCHEMA,
};

static void doctor_choose(const struct guard *g, enum scope scope, struct choice *ret)
{
	char *const command[] = {"true", NULL};
	struct plan plan = {.scope = scope,
			    .command = scope == SCOPE_COMMAND ? command : NULL,
			    .freq_hz = RECORDING_HZ,
			    .accepted = g->accepted,
			    .guard = g};
	const struct engine_ops *ops;

	*ret = (struct choice){0};
	if (!engine_choose(&plan, &ops)) {
		ret->engine = ops->name;
		return;
	}
	snprintf(ret->why, sizeof(ret->why), "%s", err_msg());
	/* Why an engine that works elsewhere cannot do this tells the user more. */
	for (size_t i = 0; i < engine_count(); i++) {
		int id = guard_engine_id(engine_at(i)->name);

		if (id < 0 || !g->verdict.engines[id].usable)
			continue;
		engine_check(engine_at(i), &plan);
		snprintf(ret->why, sizeof(ret->why), "%s", err_msg());
		return;
	}
}

static void diagnose(uint32_t accepted, struct diagnosis *d)
{
	guard_look(&d->g, accepted, true);
	doctor_choose(&d->g, SCOPE_COMMAND, &d->command);
	doctor_choose(&d->g, SCOPE_SYSTEM, &d->system);
	d->level = verdict_level(&d->g.verdict, d->command.engine);
}

int cmd_doctor(int argc, char **argv)
{
	static const int status[] = {
		[LEVEL_GOOD] = 0, [LEVEL_ACCEPTED] = 0, [LEVEL_DEGRADED] = 1, [LEVEL_REFUSED] = 2};
	struct doctor_args args = {0};
	struct diagnosis d = {0};
	uint32_t accepted = 0;
	int first, rc = options_parse(rows, argc, argv, 0, &args, &first);

	if (rc == 1) {
		cmd_show_help(&cmd_doctor_form);
		return 0;
	}
	if (!rc && argv[first])
		rc = err_set(-EINVAL, "'%s' is one word too many", argv[first]);
	for (size_t i = 0; i < args.accept.n && !rc; i++)
		rc = guard_accept(args.accept.v[i], &accepted);
	if (rc)
		return cmd_usage_error(argv[0]);
	output_begin();
	if (args.list) {
		doctor_list(stdout);
		return output_close(stdout, "standard output") ? cmd_fail(argv[0]) : 0;
	}
	diagnose(accepted, &d);
	if (args.probe)
		doctor_probe(&d.g, &d.probe);
	if (args.json)
		doctor_json(&d, stdout);
	else
		doctor_text(&d);
	rc = output_close(stdout, "standard output");
	return rc ? cmd_fail(argv[0]) : status[d.level];
}
