/* SPDX-License-Identifier: MIT */
#ifndef THAW_DIFF_FOLDED_H
#define THAW_DIFF_FOLDED_H

#include "diff/diff.h"
#include "export/export.h"

/* Differential collapsed stacks of one kind; see folded.c. */
void diff_folded(const struct diff *d, enum export_kind kind, FILE *out);

#endif
