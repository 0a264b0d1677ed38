/* SPDX-License-Identifier: MIT */
/* The list of a capture's chunks: from the index at its end, or by going from header to header. */
#ifndef THAW_STORE_SCAN_H
#define THAW_STORE_SCAN_H

#include "store/index.h"
#include "store/source.h"

/* Takes the index at the end; -ENOENT if there is none that can be trusted. */
int scan_end(struct byte_source *s, struct index *x);

/*
 * Goes through the file. What is no valid chunk becomes a gap; a chunk that goes beyond the end of
 * the file is INDEX_BAD. Fails on I/O errors only.
 */
int scan_all(struct byte_source *s, struct index *x);

/*
 * For a file that grows: appends the chunks that have become whole since, and drops what the last
 * scan made of an unfinished one.
 */
void scan_more(struct byte_source *s, struct index *x);

#endif
