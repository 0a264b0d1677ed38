/* SPDX-License-Identifier: MIT */
/*
 * A capture that answers SQL: SQLite with the tables of export/tables.def as virtual tables.
 * Nothing is imported: a statement's plan says which tables and columns it needs, and only these
 * are made from the capture, in one pass, when SQLite asks for the first row. Read only: statements
 * that would touch files are refused; temporary tables and views are allowed. Not for two threads
 * at once.
 */
#ifndef THAW_SQL_SQL_H
#define THAW_SQL_SQL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct reader;
struct sql;

struct sql_opts {
	/* While the capture is read: how far that is, 0 to 1; then once with a negative number. */
	void (*progress)(void *arg, double done);
	void *progress_arg;
};

/* Owns the reader from then on, even if it fails. path is only shown. */
int sql_open(struct reader *r, const char *path, const struct sql_opts *opts, struct sql **ret);
void sql_close(struct sql *s);

enum sql_form { SQL_TABLE, SQL_CSV, SQL_JSON };

/*
 * Runs all statements of a text; what they answer goes to `out`. -EINVAL with the message set, and
 * a hint at what may have been meant; -ECANCELED if it was interrupted.
 */
int sql_run(struct sql *s, const char *text, enum sql_form form, FILE *out);
/* Ends the statements of the sql_run() that runs, or of the next one. From a signal handler too. */
void sql_interrupt(struct sql *s);
/* Does the text end with a whole statement? */
bool sql_is_whole(const char *text);

/*
 * The tables with their words; with `columns`, of one table (NULL: of all) the columns with theirs.
 */
int sql_describe(FILE *out, bool columns, const char *table);

/* Work done so far, for tests: passes over the events, and rows handed to SQLite. */
struct sql_work {
	uint64_t passes, lean_passes, rows;
};
struct sql_work sql_work(const struct sql *s);

#endif
