// SPDX-License-Identifier: MIT
/* thaw export: a capture in another tool's format. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/formats.h"
#include "cmd/load.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "store/reader.h"

/* The model's share of the bar; the rest is the exporter's. */
#define LOADING 0.4

struct export_args {
	const char *format, *kind, *output;
	bool list, schema;
	struct cmd_choice choice;
};

#define AT(member) offsetof(struct export_args, member)

static const struct option_row rows[] = {
	{'f', "format", OPTION_STR, AT(format), "FORMAT", "which format; see below", 0, 0, 0},
	{0, "kind", OPTION_STR, AT(kind), "KIND", "only this: cpu, wait or lock", 0, 0, 0},
	{'o', "output", OPTION_STR, AT(output), "FILE", "where to write (standard output)", 0, 0,
	 0},
	CMD_THREAD_ROW(AT(choice)),
	CMD_FROM_ROW(AT(choice)),
	CMD_TO_ROW(AT(choice)),
	{0, "schema", OPTION_FLAG, AT(schema), NULL,
	 "print the schema of the format (jsonl) instead", 0, 0, 0},
	{0, "list", OPTION_FLAG, AT(list), NULL,
	 "what there is to know about the formats, as a table", 0, 0, 0},
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

static void export_formats(void)
{
	fputs("\nformats:\n", stdout);
	formats_list(stdout);
}

static const char *format_word(size_t i)
{
	return cmd_exporters[i] ? cmd_exporters[i]->name : NULL;
}

static const struct cmd_words words[] = {
	{"format", format_word},
	{"kind", export_kind_word},
	{NULL, NULL},
};

const struct cmd_form cmd_export_form = {
	.usage = "usage: thaw export -f FORMAT [options] [FILE]\n\n"
		 "Writes a capture (capture.thaw) in another tool's format.\n\n",
	.rows = rows,
	.more = export_formats,
	.operands = {OPERAND_CAPTURE},
	.words = words,
};

static int export_check(const struct export_args *a, const struct exporter *e)
{
	if (a->schema && !e->schema)
		return err_set(-EINVAL, "%s has no schema that thaw could print; jsonl has",
			       e->name);
	if (a->schema)
		return 0;
	if (e->whole && (a->kind || a->choice.thread || a->choice.from_word || a->choice.to_word))
		return err_set(-EINVAL,
			       "%s always holds the whole recording: choose kind, thread and range "
			       "in the tool that shows it",
			       e->name);
	if (e->binary && (!a->output || !strcmp(a->output, "-")) && isatty(STDOUT_FILENO))
		return err_set(-EINVAL, "%s does not belong on a terminal: use -o report%s",
			       e->name, e->suffix);
	return 0;
}

static int export_parse(struct export_args *a, enum export_kind *ret_kind,
			const struct exporter **ret_format)
{
	int rc = cmd_check_choice(&a->choice);

	*ret_kind = EXPORT_KINDS;
	if (!rc && a->kind)
		rc = export_kind_parse(a->kind, ret_kind);
	rc = rc ? rc : export_find(cmd_exporters, a->format ? a->format : "", ret_format);
	return rc ? rc : export_check(a, *ret_format);
}

/* Refuses to overwrite the capture that is read. */
static int check_output(const char *path, const char *output)
{
	struct stat in, out;

	if (!output || stat(path, &in) || stat(output, &out) || in.st_dev != out.st_dev ||
	    in.st_ino != out.st_ino)
		return 0;
	return err_set(-EINVAL, "%s is the capture itself; write to another file", output);
}

static int cmd_export_write_out(const struct exporter *format, struct export_job *job,
				const char *path, const char *output)
{
	struct output o;
	int rc = output_create(output, false, &o);

	if (rc)
		return rc;
	/* On a terminal, the bar would get between the lines of the output. */
	if (!output && isatty(STDOUT_FILENO))
		progress_end(job->progress_arg);
	job->out = o.out;
	rc = format->run(job);
	progress_end(job->progress_arg);
	if (rc && !ferror(o.out))
		rc = err_add(rc, "%s", path);
	rc = output_finish(&o, rc);
	if (!rc)
		cmd_tell_damage("export", path, job->reader);
	return rc;
}

static int run_model(const char *path, const struct export_args *a, const struct exporter *format,
		     enum export_kind kind, struct export_job *job)
{
	double loading = format->loading > 0 ? format->loading : LOADING;
	struct progress *p = job->progress_arg;
	struct cmd_capture c;
	int rc;

	progress_stage(p, 0, loading);
	rc = cmd_load_stage(path, &a->choice, &(struct summary_opts){0}, p, &c);
	if (rc)
		return rc;
	progress_stage(p, loading, 1);
	rc = export_choose(format, c.model, kind, &job->kinds);
	if (rc) {
		rc = err_add(rc, "%s", path);
	} else {
		job->model = c.model;
		job->summary = c.summary;
		job->reader = c.reader;
		rc = cmd_export_write_out(format, job, path, a->output);
	}
	cmd_unload(&c);
	return rc;
}

static int run_whole(const char *path, const struct export_args *a, const struct exporter *format,
		     struct export_job *job)
{
	int rc = cmd_open(path, true, &job->reader);

	if (rc)
		return rc;
	rc = cmd_export_write_out(format, job, path, a->output);
	reader_close(job->reader);
	return rc;
}

static int export_run(const char *path, const struct export_args *a, const struct exporter *format,
		      enum export_kind kind)
{
	const char *slash = strrchr(path, '/');
	struct progress p;
	struct export_job job = {.title = slash ? slash + 1 : path,
				 .thread = a->choice.thread,
				 .progress = progress_show,
				 .progress_arg = &p};
	int rc = check_output(path, a->output);

	if (rc)
		return rc;
	progress_begin(&p, format->name);
	rc = format->whole ? run_whole(path, a, format, &job)
			   : run_model(path, a, format, kind, &job);
	progress_end(&p);
	return rc;
}

int cmd_export(int argc, char **argv)
{
	const struct exporter *format = NULL;
	enum export_kind kind;
	struct export_args args = {0};
	const char *path = NULL;
	int rc = cmd_parse(&cmd_export_form, argc, argv, &args, &path);

	if (rc > 0)
		return 0;
	if (!rc && args.list) {
		output_begin();
		formats_table(stdout);
		return output_close(stdout, "standard output") ? cmd_fail(argv[0]) : 0;
	}
	if (!rc && !args.format)
		rc = err_set(-EINVAL, "which format? Say -f FORMAT; see --help");
	rc = rc ? rc : export_parse(&args, &kind, &format);
	if (rc)
		return cmd_usage_error(argv[0]);
	output_begin();
	if (args.schema) {
		format->schema(stdout);
		return output_close(stdout, "standard output") ? cmd_fail(argv[0]) : 0;
	}
	return export_run(path ? path : CMD_CAPTURE, &args, format, kind) ? cmd_fail(argv[0]) : 0;
}
