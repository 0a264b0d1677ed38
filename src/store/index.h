/* SPDX-License-Identifier: MIT */
/*
 * The list of a capture's chunks. A writer puts it near the end of the file; a reader takes it from
 * there, or makes it anew from the chunk headers (scan.h).
 */
#ifndef THAW_STORE_INDEX_H
#define THAW_STORE_INDEX_H

#include "base/buf.h"
#include "base/cursor.h"
#include "base/vec.h"
#include "store/format.h"
#include "store/writer.h"

enum index_state {
	INDEX_CHUNK, /* as far as is known, whole */
	INDEX_BAD,   /* a chunk whose header can be read, but not its payload */
	INDEX_GAP,   /* a chunk is missing here; its bytes, perhaps none */
};

struct index_entry {
	uint64_t offset;
	uint64_t bytes; /* header included */
	uint64_t ts_min, ts_max;
	uint32_t seq;
	uint32_t items;
	uint16_t type;
	uint8_t state;
	bool malformed; /* whole, but its contents make no sense */
};

struct index {
	VEC(struct index_entry) list;
};

void index_put(struct buf *out, const struct index *x, uint64_t start);
/* Checks that the chunks follow each other from `start` to `end`: then nothing is missing. */
int index_read(struct index *x, struct cursor c, uint64_t start, uint64_t end);

/* END */
struct totals {
	enum end_cause cause;
	uint64_t events;
	uint64_t counts[EV_KINDS];
};

/* The payload without its trailer. */
void totals_put(struct buf *out, const struct totals *t);
int totals_read(struct totals *t, struct cursor c);

#endif
