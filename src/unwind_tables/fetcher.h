/* SPDX-License-Identifier: MIT */
/*
 * Where the table of a file comes from: from disk, where it is kept (kept.h), or from a child
 * without rights that reads the file (symbol/standing.h), which another child has opened for it
 * (symbol/porter.h). The caller never has a file of others open, and never waits for one without a
 * limit: a file that does not answer is given up, and its file system left alone for a time
 * (silent.h). For one thread, except where it says "by anybody".
 */
#ifndef THAW_UNWIND_TABLES_FETCHER_H
#define THAW_UNWIND_TABLES_FETCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "symbol/opener.h"
#include "unwind/table.h"

struct fetcher;
struct kept;

/* `kept` may be NULL, and stays the caller's. `nice` is for the child that reads. */
struct fetcher *fetcher_new(struct kept *kept, int nice);
/* Only when no thread uses it. */
void fetcher_free(struct fetcher *f);
void fetcher_stop(struct fetcher *f);

struct fetched {
	bool kept;		   /* the table was on disk */
	bool silent;		   /* the file does not answer, or its file system did not before */
	struct opener_facts facts; /* of the table's file */
};
/* NULL: the file has no table, or gives none. */
struct unwind_table *fetcher_get(struct fetcher *f, const struct opener_want *w,
				 struct fetched *ret);
/* CPU time of the children. */
uint64_t fetcher_cpu_ns(const struct fetcher *f);

/* By anybody: ends all waiting for an answer. */
void fetcher_cancel(struct fetcher *f);
/* By anybody: the children get a higher priority. */
void fetcher_hurry(struct fetcher *f);
/* By anybody: has it waited for a file longer than a file needs? */
bool fetcher_stands_still(const struct fetcher *f);

#endif
