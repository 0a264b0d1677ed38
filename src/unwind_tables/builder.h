/* SPDX-License-Identifier: MIT */
/*
 * Makes unwind tables in a thread of its own: reading the call frame information of a large library
 * takes longer than the rings hold. It sees files and hands back tables, on the shelves; it knows
 * nothing of processes and mappings.
 *
 * A table comes from disk, where it is kept (kept.h), or from a child without privileges, which
 * alone reads what others have written (symbol/standing.h); its tables are checked. Another child
 * opens the files (symbol/porter.h): the thread has none open that could keep it from ending. A
 * file that does not answer is given up, and its file system left alone for a time (silent.h). All
 * of this yields to other work, and is limited in its CPU time (builder_pace()).
 */
#ifndef THAW_UNWIND_TABLES_BUILDER_H
#define THAW_UNWIND_TABLES_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/types.h"
#include "symbol/opener.h"
#include "unwind/table.h"
#include "unwind_tables/shelves.h"

struct kept;

struct build_job {
	struct build_job *next;
	/* The question. The first two are for the asker. */
	uint32_t module;
	uint64_t era;
	struct opener_want want;	/* its path is the job's; NULL: the vDSO */
	uint8_t build_id[BUILD_ID_MAX]; /* a file with another one is not the mapped one */
	/* The answer. */
	bool silent; /* its file does not answer, or its file system did not before */
	bool has_table;
	int rc;			   /* -ENOSPC, -EFBIG: no room for the table */
	struct unwind_table table; /* on the shelves; the taker owns its loads */
	struct shelf_parts parts;  /* and these */
	size_t size;		   /* in words */
	bool read, built;	   /* from disk; from its file */
	uint64_t took_ns, cpu_ns;
	uint64_t child_ns; /* of cpu_ns, the children's */
};

/* Copies what `w` says; NULL: the vDSO of this process. */
struct build_job *build_job_new(const struct opener_want *w);
void build_job_free(struct build_job *job);

struct builder_opts {
	struct shelves *shelves;
	struct kept *kept; /* NULL: nothing is kept */
	/* After free_ns, so many millionths of one CPU's time; 0: no limit. */
	uint64_t free_ns, share;
};

/*
 * What a recording may spend before its share counts: at first every running program is new, and
 * the next recording finds the tables kept.
 */
#define BUILDER_FREE_NS (8 * NSEC_PER_SEC)

struct builder;

/* NULL if no thread could be made. */
struct builder *builder_new(const struct builder_opts *o);
/* Throws unfinished jobs away. */
void builder_free(struct builder *b);
/* Takes the job over; false if too many are on their way. */
bool builder_put(struct builder *b, struct build_job *job);
/* A finished job, in the order of builder_put(); NULL: none within wait_ns. */
struct build_job *builder_take(struct builder *b, uint64_t wait_ns);

/*
 * Is it pointless to wait for the builder now? It has used up its time, or waits for a file that
 * may never answer.
 */
bool builder_rests(struct builder *b);
/* Which module's file, mapped by which process, has it waited for longer than a file needs? */
bool builder_waits(struct builder *b, uint32_t *ret_module, uint32_t *ret_pid);

/* From now on the user waits for it: it need not be modest any more. */
void builder_hurry(struct builder *b);

/* When it may go on, having spent so much since `began`. Pure. */
uint64_t builder_pace(uint64_t began, uint64_t spent_ns, uint64_t free_ns, uint64_t share);

#endif
