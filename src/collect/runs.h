/* SPDX-License-Identifier: MIT */
/*
 * A program that records itself reports that it is about to become another one, and that one
 * reports that it has begun. A program that never reports could not be followed: it is static, runs
 * with other rights, or is made for another machine.
 */
#ifndef THAW_COLLECT_RUNS_H
#define THAW_COLLECT_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct runs;

struct runs *runs_new(void);
void runs_free(struct runs *r);

/* The process is about to run `path`; "": the exec failed. */
void runs_begin(struct runs *r, uint32_t pid, uint64_t ts, const char *path);
/* The process is a program that we follow. */
void runs_there(struct runs *r, uint32_t pid, uint64_t ts);
/* How many programs were not followed, and the names of the first, "a, b, c". */
size_t runs_missed(const struct runs *r, char *names, size_t room);

#endif
