/* SPDX-License-Identifier: MIT */
/*
 * A capture once more, with every chunk stored as it is, for a reader that has no decompressor: the
 * engine inside of the page. What the reader finds in the copy is what it finds in the capture,
 * damage included: a chunk that is missing is missing there too, and one that cannot be read is a
 * header with the times that it covered. The copy has no index, which is not needed in memory.
 */
#ifndef THAW_STORE_PLAIN_H
#define THAW_STORE_PLAIN_H

#include <stddef.h>

#include "store/reader.h"

/* The fact in which a copy keeps what was wrong with the capture, in words. */
#define PLAIN_DAMAGE "copy_damage"

/* Takes the next bytes of the copy; 0, or an error with the message set, which ends the copying. */
typedef int plain_put(void *arg, const void *p, size_t n);

/* Memory is bounded by the largest chunk. Names that were made after the fact go with the copy. */
int plain_copy(struct reader *r, plain_put *put, void *arg);

#endif
