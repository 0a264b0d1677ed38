/* SPDX-License-Identifier: MIT */
/* The list of a capture's chunks: from the index at its end, or by going from header to header. */
#ifndef THAW_STORE_SCAN_H
#define THAW_STORE_SCAN_H

#include "store/index.h"
#include "store/source.h"

/* Takes the index at the end; -ENOENT if there is none that can be trusted. */
int scan_end(struct source *s, struct index *x);

/*
 * Goes through the file. What is no valid chunk becomes a gap; a chunk that goes beyond the end of
 * the file is INDEX_BAD. Fails on I/O errors only.
 */
int scan_all(struct source *s, struct index *x);

/*
 * Of a file that grows: appends the chunks that have become whole since. What a scan made of one
 * that was not whole then is forgotten.
 */
void scan_more(struct source *s, struct index *x);

#endif
