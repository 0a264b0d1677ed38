// SPDX-License-Identifier: MIT
/* thaw sql: questions about a capture that nobody foresaw, in SQL. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/sql_prompt.h"
#include "store/reader.h"

struct sql_args {
	const char *file;
	bool table, csv, json;
};

#define AT(member) offsetof(struct sql_args, member)

static const struct option_row rows[] = {
	{'f', "file", OPTION_STR, AT(file), "FILE",
	 "read the statements from it; -: from standard input", 0, 0, 0},
	{0, "table", OPTION_FLAG, AT(table), NULL,
	 "answer with a table (the default on a terminal)", 0, 0, 0},
	{0, "csv", OPTION_FLAG, AT(csv), NULL, "answer with CSV (the default elsewhere)", 0, 0, 0},
	{0, "json", OPTION_FLAG, AT(json), NULL, "answer with an array of JSON objects", 0, 0, 0},
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

static void tables(void)
{
	fputs("\ntables:\n", stdout);
	sql_describe(stdout, false, NULL);
}

const struct cmd_form cmd_sql_form = {
	.usage = "usage: thaw sql [options] [FILE] [STATEMENT]\n\n"
		 "Answers SQL about a capture (capture.thaw). Without a statement it prompts for\n"
		 "them, or reads them from a pipe or file (-f). .tables lists the tables, .schema\n"
		 "their columns.\n\n",
	.rows = rows,
	.more = tables,
	.operands = {OPERAND_CAPTURE, OPERAND_TEXT},
	.schema = "an array of objects, one a row",
};

struct sql_asked {
	const char *path, *statement;
	enum sql_form form;
};

static bool is_command(const char *word)
{
	return !strcmp(word, ".tables") || !strcmp(word, ".schema") || !strcmp(word, ".help");
}

/* A single word is a file, unless it can only be a statement. */
static int operands(int argc, char **argv, int first, struct sql_asked *a)
{
	int n = argc - first;

	a->path = CMD_CAPTURE;
	if (n > 2)
		return err_set(-EINVAL,
			       "'%s': one file and one statement, which is best put in quotes",
			       argv[first + 2]);
	if (n == 1 && (strpbrk(argv[first], " \n;") || is_command(argv[first])) &&
	    access(argv[first], F_OK)) {
		a->statement = argv[first];
		return 0;
	}
	if (n > 0)
		a->path = argv[first];
	if (n > 1)
		a->statement = argv[first + 1];
	return 0;
}

static int sql_parse(int argc, char **argv, struct sql_args *args, struct sql_asked *a)
{
	int first, rc = options_parse(rows, argc, argv, OPTIONS_PERMUTE, args, &first);

	rc = rc ? rc : operands(argc, argv, first, a);
	if (rc)
		return rc;
	if (args->table + args->csv + args->json > 1)
		return err_set(-EINVAL, "--table, --csv and --json: only one of them");
	if (args->file && a->statement)
		return err_set(-EINVAL, "-f and a statement: only one of them");
	a->form = args->csv		  ? SQL_CSV
		  : args->json		  ? SQL_JSON
		  : args->table		  ? SQL_TABLE
		  : isatty(STDOUT_FILENO) ? SQL_TABLE
					  : SQL_CSV;
	return 0;
}

static int cmd_sql_read_all(const char *path, struct buf *b)
{
	FILE *in = strcmp(path, "-") ? fopen(path, "r") : stdin;
	int rc = 0;
	int c;

	if (!in)
		return err_set(-errno, "cannot read %s: %s", path, strerror(errno));
	while ((c = getc(in)) != EOF)
		buf_put_u8(b, (uint8_t)c);
	if (ferror(in))
		rc = err_set(-EIO, "cannot read %s", path);
	else if (b->len && memchr(b->p, 0, b->len))
		rc = err_set(-EINVAL, "%s is no text", path);
	if (in != stdin)
		fclose(in);
	return rc;
}

static int run_file(struct sql *s, const char *path, enum sql_form form)
{
	struct buf text = {0};
	int rc = cmd_sql_read_all(path, &text);

	rc = rc ? rc : sql_text(s, buf_cstr(&text), form);
	buf_done(&text);
	return rc;
}

/* A bar while the capture is read, which a statement may repeat. */
static void sql_show(void *arg, double done)
{
	struct progress *p = arg;

	if (done < 0) {
		progress_end(p);
		progress_begin(p, "reading");
	} else {
		progress_show(p, done);
	}
}

static int sql_verb_run(const struct sql_args *args, const struct sql_asked *a)
{
	struct progress p;
	struct sql_opts opts = {sql_show, &p};
	struct reader *r;
	struct sql *s;
	int rc = cmd_open(a->path, true, &r);

	rc = rc ? rc : sql_open(r, a->path, &opts, &s);
	if (rc)
		return rc;
	cmd_tell_damage("sql", a->path, r);
	progress_begin(&p, "reading");
	if (a->statement)
		rc = sql_text(s, a->statement, a->form);
	else if (args->file || !isatty(STDIN_FILENO))
		rc = run_file(s, args->file ? args->file : "-", a->form);
	else
		sql_prompt(s, a->path, a->form);
	sql_close(s);
	return rc;
}

int cmd_sql(int argc, char **argv)
{
	struct sql_args args = {0};
	struct sql_asked a = {0};
	int rc = sql_parse(argc, argv, &args, &a);

	if (rc > 0) {
		cmd_show_help(&cmd_sql_form);
		return 0;
	}
	if (rc)
		return cmd_usage_error(argv[0]);
	output_begin();
	rc = sql_verb_run(&args, &a);
	if (rc)
		(void)fflush(stdout);
	rc = rc ? rc : output_close(stdout, "standard output");
	return rc ? cmd_fail(argv[0]) : 0;
}
