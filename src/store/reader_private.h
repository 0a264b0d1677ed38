/* SPDX-License-Identifier: MIT */
/* The inside of a reader, for reader.c, stream.c and verify.c. */
#ifndef THAW_STORE_READER_PRIVATE_H
#define THAW_STORE_READER_PRIVATE_H

#include "store/ahead.h"
#include "store/decode.h"
#include "store/inspect.h"
#include "store/reader.h"
#include "store/source.h"
#include "store/symtab_private.h"
#include "store/tables.h"

struct reader {
	struct byte_source source;
	struct index index;
	struct reader_info info;
	struct totals totals;
	uint64_t max_index;
	bool intact; /* nothing in the file is damaged or missing, as far as is known */

	struct capture_facts facts;
	struct modules modules;
	struct stored_stacks stacks;
	struct symtab *symtab;

	/* The stream: the chunk to take next, and the one that is being decoded. */
	size_t at;
	bool active;
	struct decoder decoder;
	struct buf raw;
	uint64_t taken; /* events of it */
	uint64_t ts;	/* of the last event */
	struct event event;
	/* Decoded by another thread: see ahead.h. */
	struct ahead *ahead;
	const struct ahead_ops *ahead_ops;
	const struct batch *batch; /* of the chunk's events; NULL: the decoder has them */
	size_t at_batch;
};

/* Counts a chunk whose payload cannot be read, and reports it once, with the message set. */
void reader_note_bad(struct reader *r, struct index_entry *e);
/* The same for a chunk that is whole, but whose contents make no sense from some point on. */
void reader_note_malformed(struct reader *r, struct index_entry *e);

#endif
