/* SPDX-License-Identifier: MIT */
/*
 * A capture as tables (tables.def): the values of their columns, for virtual tables and for a
 * database alike, so that both say the same. The tables that grow with the events (intervals,
 * waits, samples, wakes, losses) come row by row from a walk; the others are read by row number.
 */
#ifndef THAW_EXPORT_TABLES_H
#define THAW_EXPORT_TABLES_H

#include "base/buf.h"
#include "model/summary/summary.h"

enum table {
#define TABLE(UPPER, name, words) TABLE_##UPPER,
#include "export/tables.def"
	TABLES,
};

/* All columns in a row; COL(INTERVALS, start) is the place of one in its table. */
enum table_column {
#define TABLE(UPPER, name, words)                                                                  \
	COL_##UPPER##_first, COL_##UPPER##_again = COL_##UPPER##_first - 1,
#define COLUMN(UPPER, name, type, words) COL_##UPPER##_##name,
#include "export/tables.def"
	TABLE_COLUMNS,
};
#define COL(UPPER, name) ((unsigned)COL_##UPPER##_##name - (unsigned)COL_##UPPER##_first)

enum cell_type { CELL_NULL, CELL_INT, CELL_TEXT };

struct cell {
	enum cell_type type;
	bool brief; /* TEXT: valid until the next cell is asked for; else as long as the tables */
	int64_t i;
	const char *s;
};

const char *tables_name(enum table t);
const char *tables_words(enum table t);
unsigned tables_width(enum table t);
const char *tables_column(enum table t, unsigned column);
const char *tables_column_words(enum table t, unsigned column);
bool tables_column_is_text(enum table t, unsigned column);
/* Columns with their types, as they stand in CREATE TABLE x(...). */
void tables_columns_sql(enum table t, struct buf *b);

const char *interval_kind_name(enum interval_kind k);

struct tables {
	struct model *m;
	const struct summary *s; /* NULL: locks and stalls are not asked for */
	uint64_t stacks;	 /* of the capture, + 1 */
	struct map mains;	 /* by pid: the thread that a process is named by, + 1 */
	VEC(uint32_t) same_tid;	 /* by thread: the one before it with the same tid, + 1 */
	struct buf text;
	struct {
		int64_t stack; /* whose frames these are; 0: none */
		VEC(struct named_frame) v;
	} frames;
};

/* m is finished and outlives it; n_stacks is how many the capture has. */
void tables_init(struct tables *t, struct model *m, const struct summary *s, uint32_t n_stacks);
void tables_done(struct tables *t);

/* CAPTURE, THREADS, LOCKS and STALLS. */
size_t tables_rows(const struct tables *t, enum table table);
void tables_cell(struct tables *t, enum table table, size_t row, unsigned column, struct cell *ret);

/*
 * A pair of stacks is one number for as long as the capture is the same; 0: no stack. `probed`: it
 * is that of a wait or a waking (names.h).
 */
int64_t tables_stack(const struct tables *t, uint32_t kstack, uint32_t ustack, bool probed);
/* How many frames it has. */
size_t tables_frames(struct tables *t, int64_t stack);
/* Of the stack that tables_frames() was asked for last. */
void tables_frame(struct tables *t, size_t depth, unsigned column, struct cell *ret);

/* The thread that had the tid then; NULL: it was not recorded. */
const struct thread *tables_thread_at(const struct tables *t, uint32_t tid, uint64_t ts);

/* Turns a time of the machine into one since the start of the recording. */
static inline int64_t tables_time(const struct tables *t, uint64_t ts)
{
	return ts > t->m->timeline.begin ? (int64_t)(ts - t->m->timeline.begin) : 0;
}

/* A wait from a walk. */
struct table_wait {
	const struct thread *thread;
	int64_t start, end;
	const struct wait_row *row;
	bool woken; /* who ended it is known */
	uint8_t ctx;
	const struct thread *waker; /* NULL: a thread that was not recorded */
	uint32_t waker_tid, waker_kstack, waker_ustack;
	uint32_t holder; /* thread index + 1; 0: not known, or not asked for */
};

/* All columns except thread_id, tid, pid and times. */
void tables_wait(const struct tables *t, const struct table_wait *w, unsigned column,
		 struct cell *ret);

/* Rows of WAKES and LOSSES are made of the event alone. */
void tables_wake(const struct tables *t, const struct event *ev, unsigned column, struct cell *ret);
void tables_loss(const struct tables *t, const struct event *ev, unsigned column, struct cell *ret);

static inline void cell_null(struct cell *c)
{
	*c = (struct cell){.type = CELL_NULL};
}

static inline void cell_int(struct cell *c, uint64_t v)
{
	*c = (struct cell){.type = CELL_INT, .i = (int64_t)v};
}

/* 0 is nothing. */
static inline void cell_id(struct cell *c, uint64_t v)
{
	*c = (struct cell){.type = v ? CELL_INT : CELL_NULL, .i = (int64_t)v};
}

/* One of thaw's own words. */
static inline void cell_word(struct cell *c, const char *s)
{
	*c = (struct cell){.type = s ? CELL_TEXT : CELL_NULL, .s = s};
}

static inline void cell_thread(struct cell *c, const struct thread *th)
{
	if (th)
		cell_int(c, th->index);
	else
		cell_null(c);
}

#endif
