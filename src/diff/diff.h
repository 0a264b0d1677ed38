/* SPDX-License-Identifier: MIT */
/*
 * Two captures, or two ranges of one, against each other: functions, waits and locks that take more
 * or less time, and whether chance explains it (stats.h, docs/diff.md).
 *
 * Rows are matched by their names: a function and its module, a reason and the functions that it
 * was waited in, a lock's kind and name. Addresses, offsets, pids and the like are nobody's name:
 * what has no other is told by where it was met.
 */
#ifndef THAW_DIFF_DIFF_H
#define THAW_DIFF_DIFF_H

#include <stdio.h>

#include "base/vec.h"
#include "diff/stats.h"
#include "model/summary.h"

enum diff_kind {
	DIFF_SELF,  /* functions: what they did themselves; in samples */
	DIFF_TOTAL, /* with what they call */
	DIFF_WAIT,  /* ns */
	DIFF_LOCK,  /* ns */
	DIFF_KINDS,
};

enum diff_per {
	DIFF_PER_AUTO, /* PACE for a command with the same arguments from begin to end, else WALL
			*/
	DIFF_PER_PACE, /* functions by the machine's, all others as they are: see pace.c */
	DIFF_PER_WALL,
	DIFF_PER_CPU,
	DIFF_PER_NONE,
};

/* "pace", "wall", "cpu", "none"; -EINVAL with the list of them. */
int diff_per_parse(const char *word, enum diff_per *ret);
/* NULL behind the last. */
const char *diff_per_name(enum diff_per per);

/* Time is cut into so many blocks: fewer where they would be shorter than DIFF_BLOCK_NS. */
enum { DIFF_BLOCKS_MIN = 8, DIFF_BLOCKS_MAX = STATS_BLOCKS_MAX };
#define DIFF_BLOCK_NS 100000000ull

/* What has fewer samples, or waits, on both sides together is not tested: nothing could be said. */
enum { DIFF_FEW = 20 };
/* Nor what has less than this share of all the time of its kind: it would not matter. */
#define DIFF_SMALL 0.001
/* How much of --noise a function may have of all functions' time, besides that of its own. */
#define DIFF_NOISE_OF_ALL 0.1

struct diff_item {
	enum diff_kind kind;
	char *name;	     /* function; place of a wait; lock */
	char *where;	     /* its module; reason; kind of lock */
	enum reason reason;  /* WAIT */
	bool idle;	     /* WAIT: nobody is to be helped by ending it sooner */
	uint64_t sum, count; /* samples; ns and how many waits */
	uint64_t *blocks;
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
	double error;	  /* of it, one sigma */
	size_t functions; /* that it is told from; 0: from all CPU time, for there are too few */
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
	VEC(char *) notes; /* what a reader should know before believing any of it */
	struct diff_pace pace;
};

struct diff *diff_new(const struct diff_side *a, const struct diff_side *b,
		      const struct diff_opts *opts);
void diff_free(struct diff *d);

static inline const struct diff_item *diff_item_of(const struct diff_row *r)
{
	return r->a ? r->a : r->b;
}

/* What a ns of a side's row is worth. */
double diff_scale(const struct diff *d, const struct diff_side *s, enum diff_kind kind);
/* A row's sum of blocks on one side (it may be NULL), and its error; `least` is the least of it. */
void diff_sum(const struct diff *d, const struct diff_side *s, enum diff_kind kind,
	      const struct diff_item *it, double least, struct stats_sum *ret);

/* pace.c: of rows that are matched. */
void diff_pace_take(struct diff *d);

/* notes.c */
void diff_notes(struct diff *d);

struct diff_view {
	uint64_t top; /* rows a table; 0: what fits (text), all (JSON) */
	bool all;     /* those that are not different too */
	bool colour;
};

void diff_text(const struct diff *d, const struct diff_view *v, FILE *out);
#define DIFF_SCHEMA "thaw.diff/1"
void diff_json(const struct diff *d, const struct diff_view *v, FILE *out);
/* The first sentences, in plain words. */
void diff_lead(const struct diff *d, struct buf *b);

#endif
