/* SPDX-License-Identifier: MIT */
/* Other formats. An exporter is one file, one const struct, one row in cmd/export.c. */
#ifndef THAW_VIEW_EXPORT_H
#define THAW_VIEW_EXPORT_H

#include <stdio.h>

#include "model/model.h"

enum export_kind {
	EXPORT_CPU,  /* where CPU time went: samples */
	EXPORT_WAIT, /* where threads waited: microseconds */
	EXPORT_LOCK, /* the same, only for locks that somebody held */
};

struct export_opts {
	enum export_kind kind;
	const char *thread; /* NULL: all */
};

struct reader;

struct exporter {
	const char *name;
	const char *words;
	/* From what a capture means, or */
	void (*run)(struct model *m, const struct export_opts *opts, FILE *out);
	/* with the capture itself in it: 0, or an error with the message set. */
	int (*copy)(struct reader *r, const char *title, FILE *out);
};

extern const struct exporter export_collapsed;

/* By name, from a list that ends with NULL; -EINVAL with the list of those that there are. */
int export_find(const struct exporter *const *known, const char *name, const struct exporter **ret);

/* "cpu", "wait", "lock"; -EINVAL with the list. */
int export_kind_parse(const char *word, enum export_kind *ret);

/* -ENODATA if its engine cannot have seen that: an empty file would say that there was none. */
int export_check(const struct model *m, enum export_kind kind);

#endif
