// SPDX-License-Identifier: MIT
/* thaw report: a capture as one screen of text, or as JSON. */
#include <stdio.h>

#include "cmd/cmd.h"
#include "cmd/load.h"
#include "cmd/output.h"
#include "report/report.h"

struct report_args {
	bool json;
	uint64_t top;
	struct cmd_choice choice;
	const char *sort;
};

#define AT(member) offsetof(struct report_args, member)

static const struct option_row rows[] = {
	{0, "json", OPTION_FLAG, AT(json), NULL, "everything, as JSON", 0, 0, 0},
	{0, "top", OPTION_U64, AT(top), "N", "rows a table (what fits a screen)", 1, 1000000, 0},
	CMD_THREAD_ROW(AT(choice)),
	CMD_FROM_ROW(AT(choice)),
	CMD_TO_ROW(AT(choice)),
	{0, "sort", OPTION_STR, AT(sort), "ORDER",
	 "of threads: telling, running, runnable, waiting, wall, name", 0, 0, 0},
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

static const struct cmd_words words[] = {
	{"sort", thread_order_word},
	{NULL, NULL},
};

const struct cmd_form cmd_report_form = {
	.usage = "usage: thaw report [options] [FILE]\n\n"
		 "Says where the threads' time went in a capture (capture.thaw): who ran, who\n"
		 "waited, where and for whom. Times are since the start of the recording (3.2s),\n"
		 "or by the clock, as the report prints them (04:45:39.449).\n\n",
	.rows = rows,
	.operands = {OPERAND_CAPTURE},
	.words = words,
	.schema = REPORT_SCHEMA,
};

static int print(const struct summary *s, const struct report_args *a)
{
	struct report_opts opts = {.top = a->top, .colour = output_colour()};

	if (a->json)
		report_json(s, &opts, stdout);
	else
		report_text(s, &opts, stdout);
	return output_close(stdout, "standard output");
}

static int report_run(const char *path, const struct report_args *a, enum thread_order order)
{
	struct summary_opts opts = {.order = order};
	struct cmd_capture c;
	int rc = cmd_load(path, &a->choice, &opts, &c);

	if (rc)
		return rc;
	rc = print(c.summary, a);
	cmd_unload(&c);
	return rc;
}

int cmd_report(int argc, char **argv)
{
	struct report_args args = {0};
	enum thread_order order = ORDER_TELLING;
	const char *path = NULL;
	int rc = cmd_parse(&cmd_report_form, argc, argv, &args, &path);

	if (rc > 0)
		return 0;
	if (!rc && args.sort)
		rc = thread_order_parse(args.sort, &order);
	rc = rc ? rc : cmd_check_choice(&args.choice);
	if (rc)
		return cmd_usage_error(argv[0]);
	output_begin();
	return report_run(path ? path : CMD_CAPTURE, &args, order) ? cmd_fail(argv[0]) : 0;
}
