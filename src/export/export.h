/* SPDX-License-Identifier: MIT */
/*
 * A capture in other tools' formats. An exporter is one file, one const struct, one row of
 * exporters.def; help, man page, completion and docs get it from there. It writes to a stream in
 * one pass (model/walk.h) or from the model's rows, so that memory does not grow with the capture.
 */
#ifndef THAW_EXPORT_EXPORT_H
#define THAW_EXPORT_EXPORT_H

#include <stdio.h>

#include "model/summary.h"
#include "model/walk.h"

enum export_kind {
	EXPORT_CPU,  /* where CPU time went: samples */
	EXPORT_WAIT, /* where threads waited */
	EXPORT_LOCK, /* the same, only for locks that somebody held */
	EXPORT_KINDS,
};

#define EXPORT_HAS(kinds, kind) ((kinds) >> (kind)&1)
#define EXPORT_ALL ((1u << EXPORT_KINDS) - 1)

/* What is to be exported, and where to. */
struct export_job {
	struct model *model; /* finished, of the window asked for; NULL for a `whole` one */
	const struct summary *summary; /* of it */
	struct reader *reader;	       /* that it came from */
	const char *title;	       /* the capture's file name */
	unsigned kinds;		       /* bits by enum export_kind: at least one */
	const char *thread;	       /* NULL: all; see export_wants() */
	const char *start;    /* of a page: what it shows first (page.h); NULL: as it likes */
	const char *compared; /* of a page: the two that are in it (page.h); NULL: it is one */
	FILE *out; /* may be a pipe: never seek. Whether writing failed is seen at its end */
	/* To be handed to model_walk(): a person who waits sees it. */
	void (*progress)(void *arg, double done);
	void *progress_arg;
};

struct exporter {
	const char *name;
	const char *words;
	const char *suffix; /* of its files: ".pb.gz" */
	bool binary;	    /* nothing for a terminal */
	bool whole; /* has all of the capture in it: --kind, --thread, --from, --to mean nothing */
	unsigned kinds; /* that it can have in one file; those that were not seen are left out */
	bool one_kind;	/* but only one at a time: the first of them, unless --kind says so */
	double loading; /* its share of the time, where that is far from a half */
	uint32_t needs; /* enum unseen: without these it says so and writes nothing */
	/* 0, or an error with the message set. */
	int (*run)(const struct export_job *job);
	/* What is in it, in the words of a schema language; NULL: there is none. */
	void (*schema)(FILE *out);
};

extern const struct exporter export_collapsed;

/* By name, from a list that ends with NULL; -EINVAL with the list of those that there are. */
int export_find(const struct exporter *const *known, const char *name, const struct exporter **ret);

/* "cpu", "wait", "lock"; -EINVAL with the list. */
int export_kind_parse(const char *word, enum export_kind *ret);
/* The i-th of them, NULL behind the last. */
const char *export_kind_word(size_t i);

/*
 * Which kinds an export has: that asked for (EXPORT_KINDS: none), or all that the format can have
 * and the capture's engine has seen. -ENODATA if it cannot have seen what is needed: an empty file
 * would say that there was none.
 */
int export_choose(const struct exporter *e, const struct model *m, enum export_kind asked,
		  unsigned *ret_kinds);

static inline bool export_wants(const struct export_job *job, const struct thread *th)
{
	return !job->thread || thread_matches(th, job->thread);
}

/* 0, or what has gone wrong with the output: to be asked now and then while much is written. */
int export_written(const struct export_job *job);

/* Does a wait for this reason count as EXPORT_LOCK? */
bool export_is_lock(enum reason r);

#endif
