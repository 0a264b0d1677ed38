/* SPDX-License-Identifier: MIT */
/*
 * Stacks in one line each, "comm;root;...;leaf": equal ones are summed, and sorted in the end, so
 * that two exports can be compared. Kernel frames come after the user's and end in _[k], inlined
 * ones in _[i]. A ';' or a line break inside a name would end a frame or a line, so they become ':'
 * and ' '.
 */
#ifndef THAW_EXPORT_FOLDED_H
#define THAW_EXPORT_FOLDED_H

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "export/export.h"

struct folded_line {
	char *text;
	uint64_t weight[2]; /* of two sides, where there are two */
};

struct folded {
	VEC(struct folded_line) lines;
	struct map by_text;
	struct buf text;
};

/* The stacks of the job's first kind: samples, or ns of waiting. */
void folded_take(struct folded *f, const struct export_job *job, unsigned side);
void folded_sort(struct folded *f);
void folded_done(struct folded *f);

#endif
