/* SPDX-License-Identifier: MIT */
/*
 * The next chunks of events, loaded and decoded by a thread of its own while this one makes sense
 * of those before. Only what is whole comes this way: a chunk that is not is left to the reader
 * itself, which says what is wrong with it.
 */
#ifndef THAW_STORE_AHEAD_H
#define THAW_STORE_AHEAD_H

#include <stddef.h>

#include "wire/event.h"

struct ahead;
struct reader;

struct ahead_ops {
	/*
	 * The events of the chunk at that place of the index, valid until the next call; NULL if
	 * this thread has to do it itself.
	 */
	const struct event *(*take)(struct ahead *a, struct reader *r, size_t at, size_t *ret_n);
	void (*free)(struct ahead *a);
};

#endif
