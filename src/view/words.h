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

/* "61%", "6.1%": for a sentence. */
const char *words_percent(char *out, size_t room, uint64_t part, uint64_t whole);

/* "checkpointer (4712)" */
const char *words_thread(char *out, size_t room, const struct thread *t, size_t width);

/* "commit_lock"; "the mutex heap 0x55d0c0de", "the kernel rwsem mmap_lock of postgres (412)" */
const char *words_lock(char *out, size_t room, const struct lock_sum *l, size_t width);

/* After "it was": "running", "waiting for the disk", "held up because ..."; "" if not known. */
const char *words_doing(char *out, size_t room, enum interval_kind kind, enum reason reason);

/* The name of a function, or NULL for UINT32_MAX. */
const char *words_function(char *out, size_t room, const struct names *n, uint32_t function,
			   size_t width);

/*
 * Prints text broken at spaces to `width`; the first line starts behind the `at` columns that are
 * there already, those that follow with `indent` spaces.
 */
void words_wrap(FILE *out, const char *text, size_t at, size_t indent, size_t width);

#endif
