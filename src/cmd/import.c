// SPDX-License-Identifier: MIT
/* thaw import: a capture from another tool's recording. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/progress.h"
#include "import/import.h"

struct import_args {
	const char *format, *output, *event;
	uint64_t divide, freq_hz;
	bool quiet;
};

#define AT(member) offsetof(struct import_args, member)

static const struct option_row rows[] = {
	{'o', "output", OPTION_STR, AT(output), "FILE", "the capture to write (" CMD_CAPTURE ")", 0,
	 0, 0},
	{'f', "format", OPTION_STR, AT(format), "FORMAT",
	 "its format, if its first bytes do not show it", 0, 0, 0},
	{0, "event", OPTION_STR, AT(event), "NAME", "perf.data: the event whose samples are taken",
	 0, 0, 0},
	{'F', "freq", OPTION_U64, AT(freq_hz), "HZ", "collapsed: the rate at which it was sampled",
	 1, 1000000, 0},
	{0, "divide", OPTION_U64, AT(divide), "N", "collapsed: make one sample of N counts", 1,
	 UINT64_MAX, 0},
	{'q', "quiet", OPTION_FLAG, AT(quiet), NULL, "say nothing unless something is wrong", 0, 0,
	 0},
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

static void import_formats(void)
{
	const struct importer *f;

	fputs("\nformats:\n", stdout);
	for (size_t i = 0; (f = import_at(i)); i++)
		printf("  %-22s%s\n", f->name, f->words);
}

static const char *format_word(size_t i)
{
	const struct importer *f = import_at(i);

	return f ? f->name : NULL;
}

static const struct cmd_words words[] = {{"format", format_word}, {NULL, NULL}};

const struct cmd_form cmd_import_form = {
	.usage = "usage: thaw import [options] FILE\n\n"
		 "Makes a capture of what another tool recorded.\n\n",
	.rows = rows,
	.more = import_formats,
	.operands = {OPERAND_FILE},
	.words = words,
};

static void import_summary(const struct import_opts *o, const struct import_result *res)
{
	char span[16], events[16], samples[16], size[16];

	fprintf(stderr, "thaw: %s: %s%s%llu thread%s, %s samples, %s events, %s in %s\n",
		res->format, res->span_ns ? units_duration(span, sizeof(span), res->span_ns) : "",
		res->span_ns ? " of " : "", (unsigned long long)res->threads,
		res->threads == 1 ? "" : "s", units_count(samples, sizeof(samples), res->samples),
		units_count(events, sizeof(events), res->events),
		units_size(size, sizeof(size), res->bytes), o->output);
	if (res->lost)
		fprintf(stderr, "thaw: %llu records are missing: see thaw info %s\n",
			(unsigned long long)res->lost, o->output);
	if (res->saved_as[0])
		fprintf(stderr, "thaw: the file that was there before is now %s\n", res->saved_as);
	if (res->notes[0])
		fprintf(stderr, "thaw: %s\n", res->notes);
	fprintf(stderr, "thaw: look at it with: thaw report%s%s\n",
		strcmp(o->output, CMD_CAPTURE) ? " " : "",
		strcmp(o->output, CMD_CAPTURE) ? o->output : "");
}

static int import_run(const struct import_args *a, const char *path)
{
	struct progress p;
	struct import_opts o = {.path = path,
				.output = a->output,
				.format = a->format,
				.event = a->event,
				.divide = a->divide,
				.freq_hz = a->freq_hz,
				.progress = progress_show,
				.progress_arg = &p};
	struct import_result res;
	int rc;

	progress_begin(&p, path);
	rc = import_file(&o, &res);
	progress_end(&p);
	if (rc)
		return cmd_fail("import");
	if (!a->quiet)
		import_summary(&o, &res);
	return 0;
}

int cmd_import(int argc, char **argv)
{
	struct import_args a = {.output = CMD_CAPTURE};
	const char *path = NULL;
	int rc = cmd_parse(&cmd_import_form, argc, argv, &a, &path);

	if (rc > 0)
		return 0;
	if (!rc && !path)
		rc = err_set(-EINVAL, "which file? Say thaw import FILE");
	if (rc)
		return cmd_usage_error(argv[0]);
	return import_run(&a, path);
}
