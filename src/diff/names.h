/* SPDX-License-Identifier: MIT */
/*
 * What rows are called, so that those of another recording are called the same: without addresses,
 * offsets, pids, inodes and numbers of CPUs. All of them are in `b`, until it is used again.
 */
#ifndef THAW_DIFF_NAMES_H
#define THAW_DIFF_NAMES_H

#include "base/buf.h"
#include "model/summary.h"

uint64_t diff_key(unsigned kind, const char *name, const char *where);

/* "commit"; "[no symbol]" for all in a module that have none. */
const char *diff_function_name(struct buf *b, const struct function *f);

/* "main > serve > commit > fsync"; "" without a stack. */
const char *diff_place_name(struct buf *b, struct names *names, uint32_t kstack, uint32_t ustack);

/* "commit_lock", "mmap_lock of postgres", "one in serve": what has no name, by who waits for it. */
const char *diff_lock_name(struct buf *b, struct names *names, const struct lock_sum *l);

#endif
