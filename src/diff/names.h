/* SPDX-License-Identifier: MIT */
/*
 * Names of rows that are the same in every recording: without addresses, offsets, pids, inodes and
 * CPU numbers. They are stored in `b`, until it is used again.
 */
#ifndef THAW_DIFF_NAMES_H
#define THAW_DIFF_NAMES_H

#include "base/buf.h"
#include "model/summary/summary.h"

uint64_t diff_key(unsigned kind, const char *name, const char *where);

/* "commit"; "[no symbol]" for all in a module that have none. */
const char *diff_function_name(struct buf *b, const struct function *f);

/* "main > serve > commit > fsync"; "" without a stack. */
const char *diff_place_name(struct buf *b, struct names *names, uint32_t kstack, uint32_t ustack);

/* "commit_lock", "mmap_lock of postgres", "one in serve": unnamed locks by where threads wait. */
const char *diff_lock_name(struct buf *b, struct names *names, const struct lock_sum *l);

#endif
