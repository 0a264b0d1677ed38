/* SPDX-License-Identifier: MIT */
/*
 * The words that all reports share: safe names, shares, times of day, short stacks, wrapped
 * lines.
 */
#ifndef THAW_REPORT_WORDS_H
#define THAW_REPORT_WORDS_H

#include <stdio.h>

#include "base/buf.h"
#include "model/summary/summary.h"

#define WORDS_WIDTH 80

/* Printable ASCII only, at most `width` characters, cut with "..". Returns out. */
const char *words_safe(char *out, size_t room, const char *s, size_t width);

/* "41.2%"; "<0.1%" for a little, "0.0%" only for nothing; "-" if the whole is 0. */
const char *words_share(char *out, size_t room, uint64_t part, uint64_t whole);

/*
 * A moment in both forms, by the clock (local time) and since the start of the recording:
 * "04:03:53.120 (+1.500s)"; the second alone if the wall clock is not known. Each can be given to
 * --from.
 */
const char *words_moment(char *out, size_t room, const struct model *m, uint64_t ts);
/* The same for a column: "04:03:53.120 +1.500s". */
const char *words_moment_short(char *out, size_t room, const struct model *m, uint64_t ts);

/* "writer (4712)", "an interrupt", "tid 99" */
const char *words_waker(char *out, size_t room, const struct waker_sum *w, size_t width);

/* "main > serve > commit", root first, the frames that say nothing left out, at most `width`. */
const char *words_path(char *out, size_t room, struct names *names, uint32_t kstack,
		       uint32_t ustack, size_t width);

/* "61%", "6.1%": for a sentence. */
const char *words_percent(char *out, size_t room, uint64_t part, uint64_t whole);

/* "checkpointer (4712)" */
const char *words_thread(char *out, size_t room, const struct thread *t, size_t width);

/* "commit_lock"; "the mutex heap 0x55d0c0de", "the kernel rwsem mmap_lock of postgres (412)" */
const char *words_lock(char *out, size_t room, const struct lock_sum *l, size_t width);

/* "/mnt/data/log (nfs4, server:/export)"; at most `width` of the path. */
const char *words_file(char *out, size_t room, const struct waited_file *f, size_t width);

/* After "it was": "running", "waiting for the disk", "held up because ..."; "" if not known. */
const char *words_doing(char *out, size_t room, enum interval_kind kind, enum reason reason);

/*
 * The same for a holder. If it waited for a condition, that was "of another lock": its mutex was
 * released.
 */
const char *words_holding(char *out, size_t room, const struct doing *d);

/*
 * The same of several things, in parts: "51% waiting for the disk, 40% running"; "" of nothing.
 * `of` follows the first share.
 */
void words_did(struct buf *b, const struct doings *d, const char *of);

/* "1 record was lost: the ring of a CPU was full: ...; a larger --ring-size helps" */
void words_loss(struct buf *b, uint32_t cause, uint64_t n);

/* The cause that most records were lost by, stacks aside; LOSS_CAUSES: none were. */
uint32_t words_main_loss(const struct losses *l);

/* The name of a function, or NULL for UINT32_MAX. */
const char *words_function(char *out, size_t room, const struct names *n, uint32_t function,
			   size_t width);

/* "log.c:120", the line at which this function is on these stacks; "" if that is not known. */
const char *words_site(char *out, size_t room, struct names *names, uint32_t function,
		       uint32_t kstack, uint32_t ustack);

/*
 * Prints text broken at spaces to `width`; the first line starts after the `at` columns already
 * written, those that follow with `indent` spaces.
 */
void words_wrap(FILE *out, const char *text, size_t at, size_t indent, size_t width);

/* The holder for most of the time; NULL: none, or not known. */
const struct thread *words_main_holder(const struct lock_sum *l);

#endif
