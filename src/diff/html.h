/* SPDX-License-Identifier: MIT */
/*
 * The page of two captures (diff_join()), or of two ranges of one. `moved`: by how much the times
 * of the second are later in the page than they were.
 */
#ifndef THAW_DIFF_HTML_H
#define THAW_DIFF_HTML_H

#include "base/buf.h"
#include "diff/diff.h"

void diff_page_title(const struct diff *d, struct buf *b);
/* What it shows first: both ranges, and the flame graph that compares them (page.h: start). */
void diff_page_start(const struct diff *d, uint64_t moved, struct buf *b);
/* Which two they are, and what differs (page.h: compared). */
void diff_page_compared(const struct diff *d, uint64_t moved, struct buf *b);

#endif
