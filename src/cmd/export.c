// SPDX-License-Identifier: MIT
/* thaw export: a capture in another tool's format. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/load.h"
#include "cmd/output.h"
#include "page/page.h"
#include "store/reader.h"
#include "view/export.h"

static const struct exporter *const exporters[] = {
	&export_collapsed,
	&export_html,
	NULL,
};

struct export_args {
	const char *format, *kind, *output;
	struct cmd_choice choice;
};

#define AT(member) offsetof(struct export_args, member)

static const struct option_row rows[] = {
	{'f', "format", OPTION_STR, AT(format), "FORMAT", "which format; see below", 0, 0, 0},
	{0, "kind", OPTION_STR, AT(kind), "KIND",
	 "cpu: samples; wait, lock: microseconds waited (cpu)", 0, 0, 0},
	{'o', "output", OPTION_STR, AT(output), "FILE", "where to write (standard output)", 0, 0,
	 0},
	CMD_THREAD_ROW(AT(choice)),
	CMD_FROM_ROW(AT(choice)),
	CMD_TO_ROW(AT(choice)),
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

static void formats(void)
{
	fputs("\nformats:\n", stdout);
	for (size_t i = 0; exporters[i]; i++)
		printf("  %-22s%s\n", exporters[i]->name, exporters[i]->words);
}

static const struct cmd_form form = {
	.usage = "usage: thaw export -f FORMAT [options] [FILE]\n\n"
		 "Writes a capture (capture.thaw) in another tool's format.\n\n",
	.rows = rows,
	.more = formats,
};

static int check_page(const struct export_args *a)
{
	if (a->kind || a->choice.thread || a->choice.from || a->choice.to)
		return err_set(-EINVAL, "a page has the whole recording in it: --kind, --thread, "
					"--from and --to are chosen there");
	if (!a->output && isatty(STDOUT_FILENO))
		return err_set(-EINVAL, "a page is nothing for a terminal; say -o report.html");
	return 0;
}

static int parse(const struct export_args *a, struct export_opts *opts,
		 const struct exporter **ret_format)
{
	int rc = cmd_check_choice(&a->choice);

	if (rc)
		return rc;
	opts->thread = a->choice.thread;
	rc = export_kind_parse(a->kind ? a->kind : "cpu", &opts->kind);
	rc = rc ? rc : export_find(exporters, a->format ? a->format : "", ret_format);
	return rc || !(*ret_format)->copy ? rc : check_page(a);
}

/* What is read is not written over. */
static int check_output(const char *path, const char *output)
{
	struct stat in, out;

	if (!output || stat(path, &in) || stat(output, &out) || in.st_dev != out.st_dev ||
	    in.st_ino != out.st_ino)
		return 0;
	return err_set(-EINVAL, "%s is the capture itself; write to another file", output);
}

static int run_model(const char *path, const struct export_args *a, const struct exporter *format,
		     const struct export_opts *opts)
{
	struct cmd_capture c;
	struct output o;
	int rc = cmd_load(path, &a->choice, &(struct summary_opts){0}, &c);

	if (rc)
		return rc;
	rc = export_check(c.model, opts->kind);
	rc = rc ? err_add(rc, "%s", path) : output_create(a->output, &o);
	if (!rc) {
		format->run(c.model, opts, o.out);
		rc = output_finish(&o, 0);
	}
	cmd_unload(&c);
	return rc;
}

static int run_copy(const char *path, const struct export_args *a, const struct exporter *format)
{
	const char *slash = strrchr(path, '/');
	struct reader *r;
	struct output o;
	int rc = cmd_open(path, true, &r);

	if (rc)
		return rc;
	rc = output_create(a->output, &o);
	if (!rc) {
		rc = format->copy(r, slash ? slash + 1 : path, o.out);
		if (rc && !ferror(o.out))
			rc = err_add(rc, "%s", path);
		rc = output_finish(&o, rc);
	}
	reader_close(r);
	return rc;
}

static int run(const char *path, const struct export_args *a, const struct exporter *format,
	       const struct export_opts *opts)
{
	int rc = check_output(path, a->output);

	if (rc)
		return rc;
	return format->copy ? run_copy(path, a, format) : run_model(path, a, format, opts);
}

int cmd_export(int argc, char **argv)
{
	const struct exporter *format = NULL;
	struct export_args args = {0};
	struct export_opts opts = {0};
	const char *path = NULL;
	int rc = cmd_parse(&form, argc, argv, &args, &path);

	if (rc > 0)
		return 0;
	if (!rc && !args.format)
		rc = err_set(-EINVAL, "which format? Say -f FORMAT; see --help");
	rc = rc ? rc : parse(&args, &opts, &format);
	if (rc)
		return cmd_usage_error(argv[0]);
	output_begin();
	return run(path ? path : CMD_CAPTURE, &args, format, &opts) ? cmd_fail(argv[0]) : 0;
}
