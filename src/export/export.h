/* SPDX-License-Identifier: MIT */
/*
 * A capture in other tools' formats. An exporter is one file, one const struct, one row of
 * exporters.def; help, man page, completion and docs get it from there. It writes to a stream in
 * one pass (model/walk.h) or from the model's rows, so that memory does not grow with the capture.
 */
#ifndef THAW_EXPORT_EXPORT_H
#define THAW_EXPORT_EXPORT_H

#include <stdio.h>

#include "model/summary/summary.h"
#include "model/walk.h"

enum export_kind {
	EXPORT_CPU,  /* where CPU time went: samples */
	EXPORT_WAIT, /* where threads waited */
	EXPORT_LOCK, /* the same, only for locks that have holders */
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
	const char *start;    /* of a page: what it shows first (page.h); NULL: its default */
	const char *compared; /* of a page: the two captures in it (page.h); NULL: it has one */
	FILE *out; /* may be a pipe: never seek. The caller checks it for errors at the end */
	/* Hand it to model_walk(), for a person who waits. */
	void (*progress)(void *arg, double done);
	void *progress_arg;
};

struct exporter {
	const char *name;
	const char *words;
	const char *suffix; /* of its files: ".pb.gz" */
	bool binary;	    /* nothing for a terminal */
	bool whole;	/* holds the whole capture: --kind, --thread, --from, --to mean nothing */
	unsigned kinds; /* that one file can hold; kinds that the engine did not see are left out */
	bool one_kind;	/* a file holds one kind only: the first, unless --kind says otherwise */
	double loading; /* its share of the time, where that is far from a half */
	uint32_t needs; /* enum unseen: fails if the engine did not see one of these */
	/* 0, or an error with the message set. */
	int (*run)(const struct export_job *job);
	/* Writes the format's schema; NULL: there is none. */
	void (*schema)(FILE *out);
};

extern const struct exporter export_collapsed;

/* Finds a format by name in a list that ends with NULL; -EINVAL with the names that there are. */
int export_find(const struct exporter *const *known, const char *name, const struct exporter **ret);

/* "cpu", "wait", "lock"; -EINVAL with the list. */
int export_kind_parse(const char *word, enum export_kind *ret);
/* The i-th word, NULL after the last. */
const char *export_kind_word(size_t i);

/*
 * Which kinds an export has: the one asked for (EXPORT_KINDS: none was), or all that the format can
 * have and the engine has seen. -ENODATA if the engine cannot see what is needed: an empty file
 * would claim that nothing happened.
 */
int export_choose(const struct exporter *e, const struct model *m, enum export_kind asked,
		  unsigned *ret_kinds);

static inline bool export_wants(const struct export_job *job, const struct thread *th)
{
	return !job->thread || thread_matches(th, job->thread);
}

/* 0, or the error of the output. Check it now and then, to stop early. */
int export_written(const struct export_job *job);

#endif
