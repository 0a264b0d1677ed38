/* SPDX-License-Identifier: MIT */
/*
 * Tells a waiting user how far the start of a recording has got. Mostly it waits for the kernel to
 * verify the probes: on a busy machine that lasts until thaw has had a second of CPU time. Thaw
 * cannot shorten that, but it can say so.
 */
#ifndef THAW_RECORD_STARTING_H
#define THAW_RECORD_STARTING_H

#include <stdint.h>

struct starting;

/* Called by another thread, after a second, and again after each doubling. */
typedef void starting_fn(void *ctx, const char *what, uint64_t elapsed_ns);

/* `since`: when it was asked for. Returns NULL if fn is NULL, or if no thread can be made. */
struct starting *starting_new(starting_fn *fn, void *ctx, uint64_t since);
/* Says what the start waits for from now on: a literal, to follow "still starting: ". */
void starting_at(struct starting *s, const char *what);
/* The recording has begun or failed: fn is not called any more. */
void starting_end(struct starting *s);

#endif
