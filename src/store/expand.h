/* SPDX-License-Identifier: MIT */
/*
 * What reading a capture needs of other libraries: zstd, and zlib's checksum (format_crc()).
 * Separate, because the query engine in a page has neither: viewer/host has its own.
 */
#ifndef THAW_STORE_EXPAND_H
#define THAW_STORE_EXPAND_H

#include <stddef.h>

struct expander;

/* NULL: no memory. */
struct expander *expander_new(void);
void expander_free(struct expander *c);

/* 0 if the frame holds exactly so many bytes, else -EBADMSG with words. */
int expander_run(struct expander *c, const void *frame, size_t n, void *into, size_t bytes);

#endif
