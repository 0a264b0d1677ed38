// SPDX-License-Identifier: MIT
/* thaw diff: two captures, or two ranges of one, against each other. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/load.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "diff/diff.h"
#include "diff/folded.h"
#include "diff/html.h"
#include "diff/join.h"
#include "html/page.h"
#include "store/reader.h"

struct diff_args {
	bool json, all;
	uint64_t top;
	const char *before, *after, *thread, *per, *alpha, *noise, *format, *kind, *output, *html;
};

#define AT(member) offsetof(struct diff_args, member)

static const struct option_row rows[] = {
	{0, "before", OPTION_STR, AT(before), "FROM,TO", "only this time of the first: 0s,5s", 0, 0,
	 0},
	{0, "after", OPTION_STR, AT(after), "FROM,TO", "only this time of the second", 0, 0, 0},
	{0, "per", OPTION_STR, AT(per), "WHAT", "compare by: pace, wall, cpu, none (see below)", 0,
	 0, 0},
	{0, "alpha", OPTION_STR, AT(alpha), "SHARE", "chance of any false difference (1%)", 0, 0,
	 0},
	{0, "noise", OPTION_STR, AT(noise), "SHARE", "noise between two runs (0.5%)", 0, 0, 0},
	{0, "thread", OPTION_STR, AT(thread), "NAME|TID", "only this thread, or those so named", 0,
	 0, 0},
	{0, "all", OPTION_FLAG, AT(all), NULL, "show what chance explains, too", 0, 0, 0},
	{0, "top", OPTION_U64, AT(top), "N", "rows a table (10)", 1, 1000000, 0},
	{0, "json", OPTION_FLAG, AT(json), NULL, "everything, as JSON", 0, 0, 0},
	{'f', "format", OPTION_STR, AT(format), "FORMAT",
	 "collapsed: stacks with both sides' counts", 0, 0, 0},
	{0, "html", OPTION_STR, AT(html), "FILE", "write a page with both as a flame graph", 0, 0,
	 0},
	{0, "kind", OPTION_STR, AT(kind), "KIND", "of these: cpu, wait or lock (cpu)", 0, 0, 0},
	{'o', "output", OPTION_STR, AT(output), "FILE", "where to write (standard output)", 0, 0,
	 0},
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

static void diff_more(void)
{
	fputs("\ncompare by:\n"
	      "  pace                  times as they are, but all functions at one pace of the\n"
	      "                        machine; for runs of a command with the same arguments\n"
	      "  wall                  times for each second of the recording; for all others\n"
	      "  cpu                   times for each second on a CPU\n"
	      "  none                  times as they are\n"
	      "\nthaw help chance says how differences are told from chance.\n",
	      stdout);
}

static const char *per_word(size_t i)
{
	return diff_per_name(DIFF_PER_AUTO + 1 + (unsigned)i);
}

static const char *format_word(size_t i)
{
	return i ? NULL : "collapsed";
}

static const struct cmd_words words[] = {
	{"per", per_word},
	{"format", format_word},
	{"kind", export_kind_word},
	{NULL, NULL},
};

const struct cmd_form cmd_diff_form = {
	.usage = "usage: thaw diff [options] BEFORE AFTER\n"
		 "       thaw diff [options] FILE --before FROM,TO --after FROM,TO\n\n"
		 "Says which functions, waits and locks take more or less time in the second\n"
		 "capture, or range of time, and whether chance explains it.\n\n",
	.rows = rows,
	.more = diff_more,
	.operands = {OPERAND_CAPTURE, OPERAND_CAPTURE},
	.schema = DIFF_SCHEMA,
	.words = words,
};

/* One side of the comparison. */
struct diff_part {
	const char *path;
	struct cmd_choice choice;
	struct cmd_capture capture;
	struct diff_side side;
};

static int parse_share(const char *option, const char *word, double *ret)
{
	char *end;
	double v = word ? strtod(word, &end) : *ret;

	if (!word)
		return 0;
	if (end == word || (*end && strcmp(end, "%")) || !(v >= 0))
		return err_set(-EINVAL, "--%s: '%s' is no share; say 1%% or 0.01", option, word);
	v = *end ? v / 100 : v;
	if (v > 0.5 || (v < 1e-9 && v > 0))
		return err_set(-EINVAL, "--%s: %s is not between 0 and 50%%", option, word);
	*ret = v;
	return 0;
}

static int parse_time(const char *option, char *word, struct cmd_moment *ret)
{
	int rc = *word ? moment_parse(word, NSEC_PER_SEC, ret) : 0;

	return rc ? err_add(rc, "--%s", option) : 0;
}

/* The copies stay as long as the words that moments point to. */
static int parse_range(const char *option, const char *word, char **ret_copy,
		       struct cmd_choice *ret)
{
	char *copy = word ? mem_strdup(word) : NULL, *comma = word ? strchr(copy, ',') : NULL;
	int rc;

	*ret_copy = copy;
	if (!word)
		return 0;
	if (!comma)
		return err_set(-EINVAL,
			       "--%s: '%s' is no range; say FROM,TO: 2s,5s or "
			       "04:45:39,04:45:41.5",
			       option, word);
	*comma = '\0';
	rc = parse_time(option, copy, &ret->from);
	rc = rc ? rc : parse_time(option, comma + 1, &ret->to);
	if (!rc && ret->to.word && !ret->to.clock && !ret->from.clock && ret->to.ns <= ret->from.ns)
		return err_set(-EINVAL, "--%s: the range %s ends before it begins", option, word);
	return rc;
}

static bool same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return !strcmp(a, b) ||
	       (!stat(a, &sa) && !stat(b, &sb) && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino);
}

static int say_overlap(const char *path)
{
	return err_set(-EINVAL, "--before and --after overlap: part of %s would be on both sides",
		       path);
}

static bool is_clock(const struct cmd_choice *c)
{
	return c->from.clock || c->to.clock;
}

static bool overlap(const struct cmd_choice *a, const struct cmd_choice *b)
{
	return (!a->to.ns || b->from.ns < a->to.ns) && (!b->to.ns || a->from.ns < b->to.ns);
}

static int check_parts(const struct diff_part *a, const struct diff_part *b)
{
	const struct cmd_choice *ca = &a->choice, *cb = &b->choice;

	if (!same_file(a->path, b->path) || is_clock(ca) || is_clock(cb) || !overlap(ca, cb))
		return 0;
	if (!ca->from.word && !ca->to.word && !cb->from.word && !cb->to.word)
		return err_set(-EINVAL,
			       "both sides are %s; two ranges of it are compared with --before and "
			       "--after",
			       a->path);
	return say_overlap(a->path);
}

/* Moments by the clock are checked later, when the capture is read. */
static int check_sides(const struct diff_part *a, const struct diff_part *b)
{
	const struct diff_side *sa = &a->side, *sb = &b->side;

	if (!same_file(a->path, b->path) || sa->start >= sb->start + sb->window ||
	    sb->start >= sa->start + sa->window)
		return 0;
	return say_overlap(a->path);
}

static int parse_paths(int argc, char **argv, int first, struct diff_part *a, struct diff_part *b,
		       const struct diff_args *args)
{
	if (argc - first > 2)
		return err_set(-EINVAL, "two captures, not %d", argc - first);
	if (argc - first == 2) {
		a->path = argv[first];
		b->path = argv[first + 1];
		return 0;
	}
	if (!args->before || !args->after)
		return err_set(-EINVAL, "name two captures, or one with --before and --after");
	a->path = b->path = first < argc ? argv[first] : CMD_CAPTURE;
	return 0;
}

/* Both captures in a file without a name. */
static int diff_verb_join(const struct diff_part *a, const struct diff_part *b, uint64_t *ret_moved,
			  struct reader **ret)
{
	const char *folder = getenv("TMPDIR");
	char path[PATH_MAX], self[40];
	int fd, copy, rc;

	snprintf(path, sizeof(path), "%s/thaw-diff-XXXXXX", folder && *folder ? folder : "/tmp");
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		return err_set(-errno, "cannot make a temporary file in %s: %s", path,
			       strerror(errno));
	unlink(path);
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", copy);
	rc = diff_join(a->capture.reader, b->capture.reader, fd, ret_moved);
	rc = rc ? rc : reader_open(self, ret);
	if (copy >= 0)
		close(copy);
	return rc;
}

static int put_page(const struct diff *d, uint64_t moved, const char *output, struct reader *r)
{
	struct buf title = {0}, start = {0}, compared = {0};
	struct export_job job = {.reader = r};
	struct output o;
	int rc = output_create(output, false, &o);

	if (rc)
		return rc;
	diff_page_title(d, &title);
	diff_page_start(d, moved, &start);
	diff_page_compared(d, moved, &compared);
	job.title = buf_cstr(&title);
	job.start = buf_cstr(&start);
	job.compared = buf_cstr(&compared);
	job.out = o.out;
	rc = export_html.run(&job);
	buf_done(&title);
	buf_done(&start);
	buf_done(&compared);
	return output_finish(&o, rc);
}

static int write_page(const struct diff_part *a, const struct diff_part *b, const struct diff *d,
		      const char *output)
{
	bool one = same_file(a->path, b->path);
	struct reader *r = a->capture.reader;
	uint64_t moved = 0;
	int rc = 0;

	if (same_file(output, a->path) || same_file(output, b->path))
		return err_set(-EINVAL, "%s is one of the captures; write to another file", output);
	if (!one)
		rc = diff_verb_join(a, b, &moved, &r);
	if (rc)
		return rc;
	rc = put_page(d, moved, output, r);
	if (!one)
		reader_close(r);
	return rc;
}

static int check_format(const struct diff_args *args, enum export_kind *ret_kind)
{
	*ret_kind = EXPORT_CPU;
	if (args->format && strcmp(args->format, "collapsed"))
		return err_set(-EINVAL, "there is no format '%s'; choose collapsed", args->format);
	if (args->format && args->json)
		return err_set(-EINVAL, "--json or -f, not both");
	if (args->kind && !args->format)
		return err_set(-EINVAL, "--kind belongs to -f collapsed");
	return args->kind ? export_kind_parse(args->kind, ret_kind) : 0;
}

/* In the half of the bar from `from` on. */
static int diff_load(struct diff_part *p, struct progress *bar, double from)
{
	int rc;

	progress_stage(bar, from, from + 0.25);
	rc = cmd_load_stage(p->path, &p->choice, &(struct summary_opts){0}, bar, &p->capture);
	if (rc)
		return rc;
	p->side.path = p->path;
	p->side.thread = p->choice.thread;
	progress_stage(bar, from + 0.25, from + 0.5);
	rc = diff_side_take(&p->side, p->capture.summary, p->capture.reader, progress_show, bar);
	if (rc)
		cmd_unload(&p->capture);
	return rc;
}

static void unload(struct diff_part *p)
{
	diff_side_done(&p->side);
	cmd_unload(&p->capture);
}

/* Refuses a kind that was not recorded: an empty list would say that nothing happened. */
static int check_seen(const struct diff *d, enum export_kind kind)
{
	if (kind == EXPORT_CPU ? d->functions : kind == EXPORT_WAIT ? d->waits : d->locks)
		return 0;
	return err_set(-ENODATA, "%s",
		       d->notes.n ? d->notes.v[0] : "what is asked for was not recorded");
}

/* Without times there is no spread by which to tell a change from chance. */
static int check_timed(const struct diff_part *p, const struct diff_args *args)
{
	if (args->format || !model_timeless(p->capture.model))
		return 0;
	return err_set(-ENODATA,
		       "%s has no times: only stack counts can be compared, with -f collapsed",
		       p->path);
}

static int cmd_diff_write_out(const struct diff *d, const struct diff_args *args,
			      enum export_kind kind)
{
	struct diff_shown view = {
		.top = args->top, .all = args->all, .colour = !args->output && output_colour()};
	struct output o;
	int rc = args->format ? check_seen(d, kind) : 0;

	rc = rc ? rc : output_create(args->output, true, &o);
	if (rc)
		return rc;
	if (args->format)
		diff_folded(d, kind, o.out);
	else if (args->json)
		diff_json(d, &view, o.out);
	else
		diff_text(d, &view, o.out);
	return output_finish(&o, 0);
}

static int diff_run(struct diff_part *a, struct diff_part *b, const struct diff_args *args,
		    const struct diff_opts *opts, enum export_kind kind)
{
	struct progress bar;
	struct diff *d;
	int rc;

	progress_begin(&bar, "diff");
	rc = diff_load(a, &bar, 0);
	if (rc) {
		progress_end(&bar);
		return rc;
	}
	rc = diff_load(b, &bar, 0.5);
	progress_end(&bar);
	if (!rc) {
		d = diff_new(&a->side, &b->side, opts);
		rc = check_sides(a, b);
		rc = rc ? rc : check_timed(a, args);
		rc = rc ? rc : check_timed(b, args);
		if (!rc && args->html)
			rc = write_page(a, b, d, args->html);
		rc = rc ? rc : cmd_diff_write_out(d, args, kind);
		diff_free(d);
		unload(b);
	}
	unload(a);
	return rc;
}

int cmd_diff(int argc, char **argv)
{
	struct diff_opts opts = {.alpha = 0.01, .noise = 0.005};
	struct diff_part a = {0}, b = {0};
	struct diff_args args = {0};
	enum export_kind kind = EXPORT_CPU;
	char *before = NULL, *after = NULL;
	int first, rc = options_parse(rows, argc, argv, OPTIONS_PERMUTE, &args, &first);

	if (rc > 0) {
		cmd_show_help(&cmd_diff_form);
		return 0;
	}
	rc = rc ? rc : parse_paths(argc, argv, first, &a, &b, &args);
	rc = rc ? rc : parse_range("before", args.before, &before, &a.choice);
	rc = rc ? rc : parse_range("after", args.after, &after, &b.choice);
	rc = rc ? rc : parse_share("alpha", args.alpha, &opts.alpha);
	if (!rc && opts.alpha <= 0)
		rc = err_set(-EINVAL, "--alpha: at 0 nothing would ever differ; say 1%% or 0.01");
	rc = rc ? rc : parse_share("noise", args.noise, &opts.noise);
	if (!rc && args.per)
		rc = diff_per_parse(args.per, &opts.per);
	rc = rc ? rc : check_format(&args, &kind);
	rc = rc ? rc : check_parts(&a, &b);
	if (rc) {
		rc = cmd_usage_error(argv[0]);
	} else {
		a.choice.thread = b.choice.thread = args.thread;
		output_begin();
		rc = diff_run(&a, &b, &args, &opts, kind) ? cmd_fail(argv[0]) : 0;
	}
	free(before);
	free(after);
	return rc;
}
