/* SPDX-License-Identifier: MIT */
/*
 * The end of a capture file that is being written: compresses a chunk, puts its header in front,
 * appends it whole or not at all. Keeps the index and the totals, and seals the file with them.
 * Belongs to one thread.
 */
#ifndef THAW_STORE_APPEND_H
#define THAW_STORE_APPEND_H

#include "base/buf.h"
#include "base/vec.h"
#include "store/format.h"
#include "store/index.h"
#include "store/pack.h"
#include "store/writer.h"

/* A chunk on its way to the disk. */
struct chunk {
	struct chunk *next;
	uint16_t type;
	uint32_t items;
	uint64_t ts_min, ts_max;
	struct buf raw;
	struct seams seams;
	uint32_t counts[EV_KINDS]; /* EVENTS: by kind */
};

void chunk_free(struct chunk *c);

struct append {
	int fd;
	uint64_t offset; /* where the next chunk goes: everything before it is whole */
	uint64_t salt;
	uint32_t seq;
	struct ZSTD_CCtx_s *zstd;
	struct buf out;
	struct index index;
	uint64_t counts[EV_KINDS];
};

/* Takes the descriptor of an empty file over, also when it fails. */
int append_init(struct append *a, int fd, const struct writer_clock *clock);
void append_done(struct append *a);

/* On failure the file ends where it ended before. */
int append_chunk(struct append *a, const struct chunk *c);

/* INDEX and END. If there is no room for both, tries with END alone. */
int append_seal(struct append *a, enum end_cause cause);

#endif
