/* SPDX-License-Identifier: MIT */
/*
 * Two captures, or two ranges of one, against each other: functions, waits and locks that take more
 * or less time, and whether chance explains it (stats.h, docs/diff.md).
 *
 * Rows are matched by their names: a function and its module, a reason and the functions that it
 * was waited in, a lock's kind and name. Addresses, offsets, pids and the like are no names: rows
 * without a name go by where they were met.
 */
#ifndef THAW_DIFF_DIFF_H
#define THAW_DIFF_DIFF_H

#include <stdio.h>

#include "base/vec.h"
#include "diff/stats.h"
#include "model/summary/summary.h"

enum diff_kind {
	DIFF_SELF,  /* functions: what they did themselves; in samples */
	DIFF_TOTAL, /* with what they call */
	DIFF_WAIT,  /* ns */
	DIFF_LOCK,  /* ns */
	DIFF_KINDS,
};

enum diff_per {
	DIFF_PER_AUTO, /* PACE for the same command from start to end, else WALL */
	DIFF_PER_PACE, /* functions by the machine's pace, all others unchanged: see pace.c */
	DIFF_PER_WALL,
	DIFF_PER_CPU,
	DIFF_PER_NONE,
};

/* "pace", "wall", "cpu", "none"; -EINVAL with the list of them. */
int diff_per_parse(const char *word, enum diff_per *ret);
/* NULL after the last. */
const char *diff_per_name(enum diff_per per);

/* Time is cut into this many blocks, fewer where they would be shorter than DIFF_BLOCK_NS. */
enum { DIFF_BLOCKS_MIN = 8, DIFF_BLOCKS_MAX = STATS_BLOCKS_MAX };
#define DIFF_BLOCK_NS 100000000ull

/* Rows with fewer samples or waits on both sides together are not tested: too few for a verdict. */
enum { DIFF_FEW = 20 };
/* Nor are rows below this share of their kind's time: they do not matter. */
#define DIFF_SMALL 0.001
/* The part of --noise by which a function may vary in terms of all functions' time. */
#define DIFF_NOISE_OF_ALL 0.1

struct diff_item {
	enum diff_kind kind;
	char *name;	     /* function; place of a wait; lock */
	char *where;	     /* its module; reason; kind of lock */
	enum reason reason;  /* WAIT */
	bool idle;	     /* WAIT: ending it sooner would help nobody */
	uint64_t sum, count; /* samples; ns and how many waits */
	uint64_t *blocks;
};

/* A thread that has waited long at the end of its side. */
struct diff_stuck {
	const struct thread *thread;
	uint64_t start;
	bool before;   /* it waited already when the recording began */
	uint32_t row;  /* of the tally */
	uint32_t lock; /* as in struct interval */
	enum reason reason;
	size_t at; /* into summary.locks; SIZE_MAX: none */
};

/* One side. */
struct diff_side {
	const struct summary *s;
	const char *path; /* as it was named */
	const char *thread;
	uint64_t start, window; /* ns; start is of the events' clock */
	size_t blocks;
	double period;	 /* ns that a sample stands for */
	double *cpu;	 /* ns on a CPU, by block */
	double *samples; /* by block */
	double cpu_sum;	 /* of all blocks */
	VEC(struct diff_item) items;
	struct map by_name;
	VEC(struct diff_stuck) stuck; /* without waits for work, or for something from outside */
};

struct reader;
/* s and its model must outlive the side; a failed one needs no diff_side_done(). */
int diff_side_take(struct diff_side *side, const struct summary *s, struct reader *r,
		   void (*progress)(void *arg, double done), void *progress_arg);
void diff_side_done(struct diff_side *side);

struct diff_row {
	enum diff_kind kind;
	const struct diff_item *a, *b; /* before, after; one of them may be NULL */
	struct stats_result r;	       /* ns, normalised */
	double ns_a, ns_b;	       /* ns as they were recorded */
	double p;		       /* corrected; 1 if not tested */
	bool tested, different;
};

/* How much longer the same work took on a CPU afterwards. */
struct diff_pace {
	double ratio;	  /* 1 unless it is asked for */
	double error;	  /* of the ratio, one sigma */
	size_t functions; /* used for the ratio; 0: too few, it is that of all CPU time */
	bool differs;	  /* from 1, at the level of the test */
};

struct diff_opts {
	enum diff_per per;
	double alpha;
	double noise;
};

struct diff {
	const struct diff_side *a, *b;
	struct diff_opts opts;	      /* per is never AUTO */
	bool functions, waits, locks; /* that both sides have */
	VEC(struct diff_row) rows;    /* by kind, waits for work last, the largest change first */
	size_t tested, small, differ;
	VEC(const struct diff_stuck *) stuck; /* afterwards, but not before */
	VEC(char *) notes; /* what a reader should know before trusting the rows */
	struct diff_pace pace;
};

struct diff *diff_new(const struct diff_side *a, const struct diff_side *b,
		      const struct diff_opts *opts);
void diff_free(struct diff *d);

static inline const struct diff_item *diff_item_of(const struct diff_row *r)
{
	return r->a ? r->a : r->b;
}

/* What one ns of a side's row counts. */
double diff_scale(const struct diff *d, const struct diff_side *s, enum diff_kind kind);
/* Sums up an item's blocks on one side; `it` may be NULL, and `least` is the least variance. */
void diff_sum(const struct diff *d, const struct diff_side *s, enum diff_kind kind,
	      const struct diff_item *it, double least, struct stats_sum *ret);

/* stuck.c: takes a wait when it is handed out; finishes a side; and compares both. */
void diff_stuck_wait(struct diff_side *s, const struct interval *iv);
void diff_stuck_settle(struct diff_side *s);
void diff_stuck_take(struct diff *d);
/* "waiting for a mutex (session_table) in expire since 04:03:53.120" */
void diff_stuck_words(const struct diff *d, const struct diff_stuck *w, struct buf *b);
/* The first sentence, if threads are stuck; false: none is. */
bool diff_stuck_lead(const struct diff *d, struct buf *b);

/* pace.c: of rows that are matched. */
void diff_pace_take(struct diff *d);

/* notes.c */
void diff_notes(struct diff *d);

struct diff_shown {
	uint64_t top; /* rows a table; 0: what fits (text), all (JSON) */
	bool all;     /* those that are not different too */
	bool colour;
};

void diff_text(const struct diff *d, const struct diff_shown *v, FILE *out);
#define DIFF_SCHEMA "thaw.diff/1"
void diff_json(const struct diff *d, const struct diff_shown *v, FILE *out);
/* The first sentences, in plain words. */
void diff_lead(const struct diff *d, struct buf *b);

#endif
