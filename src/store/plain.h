/* SPDX-License-Identifier: MIT */
/*
 * A copy of a capture without compression, for a reader that has no decompressor: the query engine
 * in a page. The reader finds in the copy what it finds in the capture, damage included: a missing
 * chunk is missing there too, and an unreadable one is a header with the times that it covered. The
 * copy has no index, because memory needs none.
 */
#ifndef THAW_STORE_PLAIN_H
#define THAW_STORE_PLAIN_H

#include <stddef.h>

#include "store/reader.h"

/* Takes the next bytes of the copy; 0, or an error with the message set, which ends the copying. */
typedef int plain_put(void *arg, const void *p, size_t n);

/* Memory is bounded by the largest chunk. Names that were made after the fact go with the copy. */
int plain_copy(struct reader *r, plain_put *put, void *arg);

#endif
