/* SPDX-License-Identifier: MIT */
/* A capture as a file: what reader.h has no need to know, for `thaw info`, tests and fuzzers. */
#ifndef THAW_STORE_INSPECT_H
#define THAW_STORE_INSPECT_H

#include "store/index.h"
#include "store/reader.h"

enum {
	READER_NO_INDEX = 1,	 /* go through the file as if there were no index */
	READER_NO_CHECKSUMS = 2, /* believe the bytes: what a fuzzer needs to get anywhere */
};

int reader_open_flags(const char *path, unsigned flags, struct reader **ret);
/* A capture that is in memory, which must outlive the reader. */
int reader_open_memory(const void *p, size_t n, unsigned flags, struct reader **ret);

/* The chunks and gaps in the order of the file; NULL after the last. */
const struct index_entry *reader_chunk(const struct reader *r, size_t i);

/* About so many events: by the index, before they are read. */
uint64_t reader_events(const struct reader *r);

/* Addresses that have a name. */
size_t reader_symbols(const struct reader *r);

/* "SWITCH"; "UNKNOWN" for a kind from the future. */
const char *event_name(unsigned kind);

#endif
