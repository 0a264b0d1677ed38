/* SPDX-License-Identifier: MIT */
/* How the views say things: names made safe, shares, times of day, short stacks, lines that wrap.
 */
#ifndef THAW_VIEW_WORDS_H
#define THAW_VIEW_WORDS_H

#include <stdio.h>

#include "base/buf.h"
#include "model/summary.h"

#define WORDS_WIDTH 80

/* Printable ASCII only, at most `width` characters, cut with "..". Returns out. */
const char *words_safe(char *out, size_t room, const char *s, size_t width);

/* "41.2%", "0.0%" only for nothing at all ("<0.1%"), "-" of nothing. */
const char *words_share(char *out, size_t room, uint64_t part, uint64_t whole);

/* "04:03:53.120", local time; "+1.50s" since begin if the wall clock is not known. */
const char *words_clock(char *out, size_t room, const struct model *m, uint64_t ts);

/* "writer (4712)", "an interrupt", "tid 99" */
const char *words_waker(char *out, size_t room, const struct waker_sum *w, size_t width);

/* "main > serve > commit", root first, the frames that tell nothing left out, at most `width`. */
const char *words_path(char *out, size_t room, struct names *names, uint32_t kstack,
		       uint32_t ustack, size_t width);

/* Prints text broken at spaces to WORDS_WIDTH. */
void words_wrap(FILE *out, const char *text);

#endif
