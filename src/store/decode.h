/* SPDX-License-Identifier: MIT */
/*
 * Turns the payload of an EVENTS chunk into events: the reverse of encode.h, for bytes that may be
 * hostile. A column that is not known is skipped, one that is absent reads as zeros or "", an event
 * of a kind that is not known is passed over.
 */
#ifndef THAW_STORE_DECODE_H
#define THAW_STORE_DECODE_H

#include "base/buf.h"
#include "base/cursor.h"
#include "store/columns.h"
#include "store/pack.h"

/* So many values of each column are decoded at once; those in use fit the fastest cache. */
enum { DECODER_AHEAD = 64 };
/* Unknown kinds included: their times are needed, because later times count from them. */
enum { DECODER_KINDS = 256 };

struct decoder_column {
	bool present;
	bool constant; /* the rest of the column is like what is in ahead[] */
	uint64_t ahead[DECODER_AHEAD];
	struct unpack values;
	uint64_t prev;
	struct cursor text;
	size_t dict_first; /* of decoder.dict */
	size_t dict_n;
	struct column_guess *guesses;
};

/*
 * Every event of a kind takes one value of each of the kind's columns, so they are read together,
 * and one place in their ahead[] is that of all.
 */
struct decoder_lane {
	unsigned at, n; /* taken, and there */
};

struct decoder {
	struct decoder_column kind, cpu, cols[COLUMNS];
	struct decoder_lane common, lanes[DECODER_KINDS];
	struct decoder_column *steps[DECODER_KINDS]; /* NULL: never met */
	uint64_t *dict; /* the dictionaries of all columns, one after the other */
	size_t dict_n, dict_room;
	uint32_t *running;
	size_t n_running;
	uint64_t n_events, at;
	uint64_t ts_now;
	uint64_t unknown; /* events of a kind from the future */
	struct buf text;  /* strings of the event that was returned last */
	bool bad;
};

void decoder_init(struct decoder *d);
void decoder_done(struct decoder *d);

/* The payload must stay where it is. 0, or -EBADMSG with words. */
int decoder_start(struct decoder *d, const void *payload, size_t len, uint64_t ts_min);

/*
 * 1 and some events, 0 at the end, -EBADMSG with words. Strings are valid until the next call: an
 * event that has any (then there is something in text) is the last of those.
 */
int decoder_next_many(struct decoder *d, struct event *evs, size_t room, size_t *ret_n);
/* 1 and an event, 0 at the end, -EBADMSG with words. Strings are valid until the next call. */
int decoder_next(struct decoder *d, struct event *ret_ev);

#endif
