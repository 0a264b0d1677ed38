// SPDX-License-Identifier: MIT
#include "sql/private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/options.h"
#include "report/words.h"
#include "store/reader.h"

enum { WIDTH = 80 };

/* SQLite forgets sqlite3_interrupt() if no statement runs at that moment; s->stop stays. */
enum { STEPS_BETWEEN_LOOKS = 10000 };

static int was_stopped(void *arg)
{
	struct sql *s = arg;

	return s->stop;
}

int sql_open(struct reader *r, const char *path, const struct sql_opts *opts, struct sql **ret)
{
	struct sql *s = mem_zalloc(sizeof(*s));

	s->reader = r;
	s->path = mem_strdup(path);
	s->opts = *opts;
	if (sqlite3_open_v2(":memory:", &s->db,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY,
			    NULL) ||
	    vtabs_register(s)) {
		sql_close(s);
		return err_set(-ENOMEM, "SQLite does not start");
	}
	sqlite3_progress_handler(s->db, STEPS_BETWEEN_LOOKS, was_stopped, s);
	guard_install(s);
	*ret = s;
	return 0;
}

void sql_close(struct sql *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	sql_unload(s);
	vec_done(&s->wakes);
	vec_done(&s->losses);
	sums_done(&s->sums);
	reader_close(s->reader);
	free(s->path);
	free(s->why);
	free(s);
}

void sql_interrupt(struct sql *s)
{
	s->stop = 1;
	sqlite3_interrupt(s->db);
}

bool sql_is_whole(const char *text)
{
	return sqlite3_complete(text);
}

struct sql_work sql_work(const struct sql *s)
{
	return s->work;
}

/* The line of the statement with the error, and a mark below the place. */
static void show_place(struct buf *b, const char *text, int offset)
{
	const char *at = text + offset, *line = at, *end;

	if (offset < 0 || (size_t)offset >= strlen(text))
		return;
	while (line > text && line[-1] != '\n')
		line--;
	end = line + strcspn(line, "\n");
	if (end - line > 100)
		return;
	buf_printf(b, "\n  %.*s\n  %*s^", (int)(end - line), line, (int)(at - line), "");
}

static int sql_failed(struct sql *s, int rc, const char *text)
{
	struct buf b = {0};

	if (rc == SQLITE_INTERRUPT)
		return err_set(-ECANCELED, "interrupted");
	if (s->why) {
		buf_printf(&b, "%s", s->why);
	} else {
		buf_printf(&b, "%s", sqlite3_errmsg(s->db));
		hint_add(&b, sqlite3_errmsg(s->db));
		show_place(&b, text, sqlite3_error_offset(s->db));
	}
	rc = err_set(-EINVAL, "%s", buf_cstr(&b));
	buf_done(&b);
	return rc;
}

static int run_all(struct sql *s, const char *text, enum sql_form form, FILE *out)
{
	while (*text) {
		const char *rest;
		sqlite3_stmt *st;
		int rc;

		if (s->stop)
			return sql_failed(s, SQLITE_INTERRUPT, text);
		free(s->why);
		s->why = NULL;
		rc = sqlite3_prepare_v2(s->db, text, -1, &st, &rest);
		if (rc)
			return sql_failed(s, rc, text);
		if (st)
			rc = print_rows(st, form, out);
		if (rc && rc != SQLITE_DONE && rc != SQLITE_ROW) {
			rc = sql_failed(s, rc, text);
			sqlite3_finalize(st);
			return rc;
		}
		sqlite3_finalize(st);
		text = rest;
	}
	return 0;
}

int sql_run(struct sql *s, const char *text, enum sql_form form, FILE *out)
{
	int rc = run_all(s, text, form, out);

	s->stop = 0;
	return rc;
}

/* Prints words after a first part of so many columns. */
static void put_words(FILE *out, const char *words, int at)
{
	words_wrap(out, words, (size_t)at, (size_t)at, WIDTH);
}

static void describe_table(FILE *out, enum table t)
{
	put_words(out, tables_words(t), fprintf(out, "%s: ", tables_name(t)));
	for (unsigned i = 0; i < tables_width(t); i++) {
		const char *type = tables_column_is_text(t, i) ? "TEXT" : "INTEGER";
		const char *words = tables_column_words(t, i);

		if (*words)
			put_words(out, words,
				  fprintf(out, "  %-14s %-8s ", tables_column(t, i), type));
		else
			fprintf(out, "  %-14s %s\n", tables_column(t, i), type);
	}
}

int sql_describe(FILE *out, bool columns, const char *table)
{
	bool found = false;

	for (unsigned t = 0; t < TABLES; t++) {
		if (table && sqlite3_stricmp(table, tables_name(t)))
			continue;
		if (columns)
			describe_table(out, t);
		else
			put_words(out, tables_words(t), fprintf(out, "%-10s ", tables_name(t)));
		found = true;
	}
	return found ? 0 : err_set(-ENOENT, "there is no table %s; .tables lists them", table);
}
