/* SPDX-License-Identifier: MIT */
/*
 * The next chunks of events, loaded and decoded by another thread while this one uses those before.
 * Where a chunk is damaged, the reader itself goes on with it, and says what is wrong.
 */
#ifndef THAW_STORE_AHEAD_H
#define THAW_STORE_AHEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/event.h"

struct ahead;
struct reader;

/* Some events of a chunk. */
struct batch {
	const struct event *events;
	size_t n;
	bool end;    /* no more of this chunk, */
	bool failed; /* but not because there are none */
};

struct ahead_ops {
	/* The first or next batch of the chunk at that place of the index, until the next call. */
	const struct batch *(*take)(struct ahead *a, const struct reader *r, size_t at, bool first);
	void (*free)(struct ahead *a);
};

#endif
