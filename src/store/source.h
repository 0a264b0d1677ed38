/* SPDX-License-Identifier: MIT */
/*
 * A capture file as a source of chunks: reads at an offset, checks, decompresses. With pread rather
 * than mmap: a file that is cut under us is damage like any other, and must not be a SIGBUS.
 */
#ifndef THAW_STORE_SOURCE_H
#define THAW_STORE_SOURCE_H

#include "base/buf.h"
#include "store/format.h"
#include "store/index.h"

struct source {
	int fd;
	uint64_t size; /* when it was opened */
	struct file_head head;
	bool no_checksums;
	struct ZSTD_DCtx_s *zstd;
	struct buf stored;
};

int source_open(struct source *s, const char *path, bool no_checksums);
void source_close(struct source *s);

/* Fewer bytes than asked for only at the end of the file; negative on I/O errors. */
ssize_t source_read(const struct source *s, uint64_t offset, void *into, size_t n);

/* The chunk header at that offset, if there is one that is valid. */
bool source_head(const struct source *s, uint64_t offset, struct chunk_head *ret);

/*
 * The payload of a chunk, decompressed, into `raw` (emptied first). -EBADMSG with words if it is
 * not what the index says or its checksum is wrong, other errors if it cannot be read.
 */
int source_load(struct source *s, const struct index_entry *e, struct buf *raw);

#endif
