/* SPDX-License-Identifier: MIT */
/* The inside of a capture that answers SQL, for the files of this folder. */
#ifndef THAW_SQL_PRIVATE_H
#define THAW_SQL_PRIVATE_H

#include <signal.h>
#include <sqlite3.h>

#include "export/tables.h"
#include "model/charge/main_holder.h"
#include "query/columns.h"
#include "sql/sql.h"

/* What a table needs of the capture. */
enum {
	WANT_TIMES = 1,	   /* threads, and their intervals without reasons */
	WANT_MODEL = 2,	   /* all of the model, samples, wakers and holders; TIMES are in it */
	WANT_EVENTS = 4,   /* wakings and losses as they stand in the file */
	WANT_SUMMARY = 8,  /* sums of locks, stalls; a model is in it */
	WANT_SUMS = 16,	   /* of intervals, by thread and kind */
	WANT_REASONS = 32, /* and of waits, by thread and reason */
};

/* Of intervals that have a thread, and a kind or a reason, in common. */
struct sum {
	uint64_t n, ns, shortest, longest;
};

struct sum_row {
	uint32_t thread;
	uint8_t key; /* a kind or a reason */
	struct sum sum;
};

struct sums {
	/* In the end. */
	VEC(struct sum_row) kinds;
	VEC(struct sum_row) reasons;
	/* While the capture is read: by thread and kind, and of waits by the tally's row. */
	VEC(struct sum) by_kind;
	VEC(struct sum) by_row;
	uint64_t first; /* the earliest start */
};

struct sql {
	sqlite3 *db;
	struct reader *reader;
	char *path;
	struct sql_opts opts;
	unsigned wanted; /* by the plans made so far */
	unsigned loaded;
	struct model *model;
	struct summary *summary;
	struct columns columns;
	struct main_holders *holders; /* by lock; NULL: not used yet */
	struct tables tables;
	struct sums sums;
	VEC(struct event) wakes;
	VEC(struct event) losses;
	struct sql_work work;
	volatile sig_atomic_t stop;
	bool own;  /* sql/ runs a statement of its own: the guard lets it pass */
	char *why; /* an error outside of SQLite, or why a statement was refused; NULL: none */
};

/* load.c: loads what is wanted. 0, or an SQLite code with s->why. */
int sql_load(struct sql *s, unsigned want);
void sql_unload(struct sql *s);

/* vtab.c */
int vtabs_register(struct sql *s);
/* sums.c: one of the sinks fills them; or they come from the intervals. */
void sums_on_kind(void *arg, const struct interval *iv);
void sums_on_reason(void *arg, const struct interval *iv);
void sums_clear(void *arg);
void sums_finish(struct sums *s, const struct model *m);
void sums_from_lanes(struct sums *s, const struct columns *c, const struct model *m);
void sums_done(struct sums *s);
size_t sums_rows(const struct sums *s, enum table t);
void sums_cell(const struct sums *s, const struct model *m, enum table t, size_t row,
	       unsigned column, struct cell *ret);
static inline bool sums_has(enum table t)
{
	return t == TABLE_INTERVAL_SUMS || t == TABLE_WAIT_SUMS;
}
/* guard.c */
void guard_install(struct sql *s);
void sql_why(struct sql *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* hint.c: adds to SQLite's message what the user may have meant. */
void hint_add(struct buf *b, const char *message);
/* print.c: prints the rows of a statement to its end; SQLITE_DONE, or the failure. */
int print_rows(sqlite3_stmt *st, enum sql_form form, FILE *out);

/* A comparison of a column with a value. */
enum compare { COMPARE_EQ, COMPARE_GT, COMPARE_GE, COMPARE_LT, COMPARE_LE };

struct term {
	uint8_t column;
	uint8_t op;
	int64_t value;
};

/* A term of the order that rows are asked for. */
struct by {
	uint8_t column;
	bool desc;
};
enum { FILTER_BY = 4 };

/* What xFilter got: comparisons that may skip rows, and the order of rows. */
struct row_filter {
	struct term terms[16];
	size_t n;
	struct by by[FILTER_BY];
	size_t n_by;
};

/* The kind of interval that a class of a lane is. */
static inline enum interval_kind class_kind(unsigned class)
{
	if (class == CLASS_RUNNING)
		return INTERVAL_RUNNING;
	if (class == CLASS_LOST)
		return INTERVAL_LOST;
	return reason_is_runnable(class) ? INTERVAL_RUNNABLE : INTERVAL_WAITING;
}

/* scan.c: intervals, waits and samples, thread by thread. */
struct scan {
	struct sql *sql;
	enum table table;
	VEC(uint32_t) order; /* threads, those of a group together */
	VEC(size_t) ends;    /* of the groups */
	VEC(uint64_t) masks; /* of slots: the classes of a group, one after the other */
	size_t group, mask, at;
	int64_t start_lo, start_hi, end_lo, end_hi; /* inclusive */
	/* The row, and what it is in. */
	const struct thread *thread;
	const struct lane *lane;
	const struct sample *samples;
	size_t i, n;
	uint64_t now; /* the mask */
	const struct stretch *cur;
	bool eof;
};

void scan_begin(struct scan *s, struct sql *sql, enum table table, const struct row_filter *f);
void scan_next(struct scan *s);
void scan_column(struct scan *s, sqlite3_context *ctx, unsigned column);
int64_t scan_rowid(const struct scan *s);
void scan_done(struct scan *s);
bool scan_can_order(enum table table, const struct by *by, size_t n);

/* What a comparison with this column leaves out. */
enum narrows {
	NARROWS_NOTHING,
	NARROWS_THREAD,
	NARROWS_PROCESS,
	NARROWS_TIME, /* any comparison; the others: equality */
	NARROWS_CLASS,
};
enum narrows scan_narrows(enum table table, unsigned column);
/* NARROWS_CLASS: the value of a term, from a word. */
uint64_t scan_classes(enum table table, unsigned column, const char *word);

/* list.c: the other tables, but for frames. */
struct list {
	struct sql *sql;
	enum table table;
	size_t i, n;
	struct row_filter filter;
};

void list_begin(struct list *l, struct sql *sql, enum table table, const struct row_filter *f);
void list_next(struct list *l);
void list_column(struct list *l, sqlite3_context *ctx, unsigned column);
enum narrows list_narrows(enum table table, unsigned column);

/* frames.c: the stack asked for, or all that anything refers to. */
struct frame_list {
	struct sql *sql;
	VEC(int64_t) stacks;
	size_t stack, depth, n;
};

void frames_begin(struct frame_list *l, struct sql *sql, const struct row_filter *f);
void frames_next(struct frame_list *l);
void frames_done(struct frame_list *l);

void result_cell(sqlite3_context *ctx, const struct cell *c);

#endif
