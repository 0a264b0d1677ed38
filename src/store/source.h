/* SPDX-License-Identifier: MIT */
/*
 * A capture as a source of chunks: reads at an offset, checks, decompresses. From a file with pread
 * rather than mmap: a file that is cut under us is damage like any other, and must not be a SIGBUS.
 * Or from memory, for callers that have all of it anyway.
 */
#ifndef THAW_STORE_SOURCE_H
#define THAW_STORE_SOURCE_H

#include <sys/types.h>

#include "base/buf.h"
#include "store/format.h"
#include "store/index.h"

struct expander;
struct byte_source;

/* Fewer bytes than asked for only at the end; negative on I/O errors. */
typedef ssize_t byte_source_fn(const struct byte_source *s, uint64_t offset, void *into, size_t n);

struct byte_source {
	byte_source_fn *read;
	void (*close)(struct byte_source *s); /* NULL: there is nothing to close */
	int fd;				      /* a file; -1: none */
	const uint8_t *memory;		      /* or the whole of it */
	uint64_t size;			      /* when it was opened */
	struct file_head head;
	bool no_checksums;
	struct expander *expander;
	struct buf stored;
};

/* source_file.c */
int byte_source_open(struct byte_source *s, const char *path, bool no_checksums);
/* Looks at the size again, of one that grows. */
int byte_source_grow(struct byte_source *s);

/* The memory must outlive the source. */
int byte_source_open_memory(struct byte_source *s, const void *p, size_t n, bool no_checksums);
/* Common to both: reads and checks the head. */
int byte_source_begin(struct byte_source *s);
void byte_source_close(struct byte_source *s);

static inline ssize_t byte_source_read(const struct byte_source *s, uint64_t offset, void *into,
				       size_t n)
{
	return s->read(s, offset, into, n);
}

/* The chunk header at that offset, if there is one that is valid. */
bool byte_source_head(const struct byte_source *s, uint64_t offset, struct chunk_head *ret);

/*
 * The payload of a chunk, decompressed, into `raw` (emptied first). -EBADMSG with words if it is
 * not what the index says or its checksum is wrong, other errors if it cannot be read.
 */
int byte_source_load(struct byte_source *s, const struct index_entry *e, struct buf *raw);

#endif
