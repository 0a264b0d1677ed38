// SPDX-License-Identifier: MIT
/* thaw report: a capture as one screen of text, or as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/err.h"
#include "base/options.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "model/load.h"
#include "model/summary.h"
#include "store/reader.h"
#include "view/report.h"

struct report_args {
	bool json;
	uint64_t top, from, to;
	const char *thread, *sort;
};

#define AT(member) offsetof(struct report_args, member)

static const struct option_row rows[] = {
	{0, "json", OPTION_FLAG, AT(json), NULL, "everything, as JSON", 0, 0, 0},
	{0, "top", OPTION_U64, AT(top), "N", "rows a table (what fits a screen)", 1, 1000000, 0},
	{0, "thread", OPTION_STR, AT(thread), "NAME|TID", "only this thread, or those so named", 0,
	 0, 0},
	{0, "from", OPTION_DURATION, AT(from), "TIME", "leave out what was before: 2s, 500ms", 0, 0,
	 0},
	{0, "to", OPTION_DURATION, AT(to), "TIME", "leave out what was after", 0, 0, 0},
	{0, "sort", OPTION_STR, AT(sort), "ORDER",
	 "of threads: telling, running, runnable, waiting, wall, name", 0, 0, 0},
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

static const char usage[] =
	"usage: thaw report [options] [FILE]\n\n"
	"Says where the threads' time went in a capture (capture.thaw): who ran, who waited,\n"
	"where and for whom. Times count from the beginning of the recording.\n\n";

static int print(const struct summary *s, const struct report_args *a)
{
	struct report_opts opts = {.top = a->top, .colour = output_colour()};

	if (a->json)
		report_json(s, &opts, stdout);
	else
		report_text(s, &opts, stdout);
	return output_close(stdout, "standard output");
}

static int run(const char *path, const struct report_args *a, enum thread_order order)
{
	struct model_opts opts = {.from = a->from, .to = a->to};
	struct summary_opts sopts = {.thread = a->thread, .order = order};
	struct summary *s = NULL;
	struct model *m = NULL;
	struct reader *r;
	int rc;

	rc = cmd_open(path, true, &r);
	if (rc)
		return rc;
	rc = model_load(r, path, &opts, &m);
	if (!rc)
		rc = summary_new(m, &sopts, &s);
	if (!rc)
		rc = print(s, a);
	summary_free(s);
	model_free(m);
	reader_close(r);
	return rc;
}

int cmd_report(int argc, char **argv)
{
	struct report_args args = {0};
	enum thread_order order = ORDER_TELLING;
	int first, rc;

	rc = options_parse(rows, argc, argv, OPTIONS_PERMUTE, &args, &first);
	if (rc > 0) {
		fputs(usage, stdout);
		options_help(rows, stdout);
		return 0;
	}
	if (!rc && argc - first > 1)
		rc = err_set(-EINVAL, "one file at a time, not %d", argc - first);
	if (!rc && args.sort)
		rc = thread_order_parse(args.sort, &order);
	if (!rc && args.to && args.to <= args.from)
		rc = err_set(-EINVAL, "--to must be later than --from");
	if (rc)
		return cmd_usage_error(argv[0]);
	output_begin();
	if (run(first < argc ? argv[first] : "capture.thaw", &args, order))
		return cmd_fail(argv[0]);
	return 0;
}
