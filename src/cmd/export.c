// SPDX-License-Identifier: MIT
/* thaw export: a capture in another tool's format. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/options.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "model/load.h"
#include "model/summary.h"
#include "store/reader.h"
#include "view/export.h"

struct export_args {
	const char *format, *kind, *output, *thread;
	uint64_t from, to;
};

#define AT(member) offsetof(struct export_args, member)

static const struct option_row rows[] = {
	{'f', "format", OPTION_STR, AT(format), "FORMAT", "which format; see below", 0, 0, 0},
	{0, "kind", OPTION_STR, AT(kind), "KIND", "cpu: samples; wait: microseconds waited (cpu)",
	 0, 0, 0},
	{'o', "output", OPTION_STR, AT(output), "FILE", "where to write (standard output)", 0, 0,
	 0},
	{0, "thread", OPTION_STR, AT(thread), "NAME|TID", "only this thread, or those so named", 0,
	 0, 0},
	{0, "from", OPTION_DURATION, AT(from), "TIME", "leave out what was before: 2s, 500ms", 0, 0,
	 0},
	{0, "to", OPTION_DURATION, AT(to), "TIME", "leave out what was after", 0, 0, 0},
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

static void help(void)
{
	fputs("usage: thaw export -f FORMAT [options] [FILE]\n\n"
	      "Writes a capture (capture.thaw) in another tool's format.\n\n",
	      stdout);
	options_help(rows, stdout);
	fputs("\nformats:\n", stdout);
	for (size_t i = 0; exporters[i]; i++)
		printf("  %-22s%s\n", exporters[i]->name, exporters[i]->words);
}

static int parse(const struct export_args *a, struct export_opts *opts,
		 const struct exporter **ret_format)
{
	opts->thread = a->thread;
	if (!a->kind || !strcmp(a->kind, "cpu"))
		opts->kind = EXPORT_CPU;
	else if (!strcmp(a->kind, "wait"))
		opts->kind = EXPORT_WAIT;
	else
		return err_set(-EINVAL, "--kind: '%s' is neither cpu nor wait", a->kind);
	if (a->to && a->to <= a->from)
		return err_set(-EINVAL, "--to must be later than --from");
	return export_find(a->format ? a->format : "", ret_format);
}

static int write_out(struct model *m, const struct exporter *format, const struct export_opts *opts,
		     const char *path)
{
	FILE *out = stdout;

	if (path) {
		out = fopen(path, "we");
		if (!out)
			return err_set(-errno, "cannot write %s: %s", path, strerror(errno));
	}
	format->run(m, opts, out);
	return output_close(out, path ? path : "standard output");
}

static int run(const char *path, const struct export_args *a, const struct exporter *format,
	       const struct export_opts *eopts)
{
	struct model_opts opts = {.from = a->from, .to = a->to};
	struct summary_opts sopts = {.thread = a->thread};
	struct summary *s = NULL;
	struct model *m = NULL;
	struct reader *r;
	int rc;

	rc = cmd_open(path, true, &r);
	if (rc)
		return rc;
	rc = model_load(r, path, &opts, &m);
	if (!rc && a->thread) /* says so if there is no such thread */
		rc = summary_new(m, &sopts, &s);
	if (!rc)
		rc = write_out(m, format, eopts, a->output);
	summary_free(s);
	model_free(m);
	reader_close(r);
	return rc;
}

int cmd_export(int argc, char **argv)
{
	const struct exporter *format = NULL;
	struct export_args args = {0};
	struct export_opts opts = {0};
	int first, rc;

	rc = options_parse(rows, argc, argv, OPTIONS_PERMUTE, &args, &first);
	if (rc > 0) {
		help();
		return 0;
	}
	if (!rc && argc - first > 1)
		rc = err_set(-EINVAL, "one file at a time, not %d", argc - first);
	if (!rc && !args.format)
		rc = err_set(-EINVAL, "which format? Say -f FORMAT; see --help");
	if (!rc)
		rc = parse(&args, &opts, &format);
	if (rc)
		return cmd_usage_error(argv[0]);
	output_begin();
	if (run(first < argc ? argv[first] : "capture.thaw", &args, format, &opts))
		return cmd_fail(argv[0]);
	return 0;
}
