/* SPDX-License-Identifier: MIT */
/*
 * What one recording has worked out and the next one can reuse, on disk: unwind tables, and the
 * names of the kernel's functions.
 *
 * The folder and its files belong to the user who records, nobody else can write to them, and none
 * is a link. Readers check each entry: one that is damaged, of another version or somebody else's
 * is ignored. If the disk is full or cannot be written, nothing is kept. All entries together take
 * no more than KEPT_BYTES: those unused for longest are dropped first.
 */
#ifndef THAW_KEPT_FOLDER_H
#define THAW_KEPT_FOLDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define KEPT_BYTES (512ull << 20)
#define KEPT_NAME_LEN 32 /* of an entry: hexadecimal digits */

struct kept;

/* Makes the folder if needed. NULL: it cannot be made, or not be trusted. */
struct kept *kept_open(const char *dir, uint64_t max_bytes);
/* The same. NULL: the user's usual folder (for root /var/cache/thaw/unwind); "": nowhere. */
struct kept *kept_for(const char *dir);
void kept_close(struct kept *k);

/* Appends a whole entry to `ret`, if it exists. `k` may be NULL, here and below. */
bool kept_read(struct kept *k, const char *name, uint64_t max, struct buf *ret);
void kept_write(struct kept *k, const char *name, const struct buf *b);

#endif
