/* SPDX-License-Identifier: MIT */
/*
 * Turns events into the payload of an EVENTS chunk. The encoder keeps one chunk's worth of values,
 * column by column, already put through their codecs; encoder_finish() packs them (pack.h). All
 * state of the codecs starts afresh with each chunk, so that every chunk can be read alone.
 *
 * The columns of a kind grow together. So the last values of each kind lie in a block of fixed
 * size, where a value costs a store; a full block is moved to the columns, where values are as
 * narrow as they can be (values.h).
 */
#ifndef THAW_STORE_ENCODE_H
#define THAW_STORE_ENCODE_H

#include "base/buf.h"
#include "store/columns.h"
#include "store/pack.h"

/* Distinct values in the order in which they appeared, and a hash table to find them again. */
struct dict {
	uint64_t *values;
	uint32_t *slots; /* index + 1; 0: free */
	uint32_t n;
	uint32_t bits; /* of the size of slots[] */
	uint64_t last;
	uint32_t last_index;
};

struct encoder_column {
	struct values values; /* of strings: none */
	uint64_t prev;
	struct dict dict;
	struct column_guess *guesses;
	struct buf text;
};

enum { ENCODER_ROWS = 256 }; /* in a block */

struct encoder {
	struct encoder_column kind, cpu, steps[EV_KINDS], cols[COLUMNS];
	void *blocks[EV_KINDS]; /* struct block_* */
	uint32_t in_block[EV_KINDS];
	uint8_t block_kinds[ENCODER_ROWS]; /* of all events */
	uint16_t block_cpus[ENCODER_ROWS];
	uint32_t in_common;
	unsigned first_kind; /* of the first event */
	uint32_t *running;   /* by CPU */
	size_t n_running;
	size_t n_events;
	size_t raw_bytes; /* about as large as the payload will be */
	uint64_t ts_first, ts_last, ts_min, ts_max;
	uint32_t counts[EV_KINDS];
};

void encoder_init(struct encoder *e);
void encoder_done(struct encoder *e);

/* The kind must be known; the encoder must have fewer than EVENTS_PER_CHUNK_MAX events. */
void encoder_add(struct encoder *e, const struct event *ev);

/* Puts the payload into `out`, which is empty, and starts the next chunk. `seams` may be NULL. */
void encoder_finish(struct encoder *e, struct buf *out, struct seams *seams);

#endif
