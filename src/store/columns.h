/* SPDX-License-Identifier: MIT */
/*
 * The fields of all events as one list of columns, made from wire/event.def: where each lies in
 * struct event, how wide it is, and by which codec it goes into a file.
 */
#ifndef THAW_STORE_COLUMNS_H
#define THAW_STORE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "wire/event.h"

/* In files: append only. */
enum codec {
	CODEC_VARINT = 1,
	CODEC_DELTA = 2,
	CODEC_DICT = 3,
	CODEC_RUNNING = 4,
	CODEC_NEXT = 5,
	CODEC_STRING = 6,
	CODEC_STEP = 7, /* difference from the time of the event before it, not zigzag */
	CODEC_AGAIN = 8,
	CODEC_AGAIN_BOTH = 9,
	CODEC_AGAIN_HERE = 10,
	CODEC_NEAR = 11,
};

/* Kind 0: the columns that every event has. */
enum { COMMON_KIND = 1, COMMON_CPU = 2 };
/* The time is a column of each kind, as the times of one kind are more like each other. */
enum { FIELD_TIME = 0 };

static inline int codec_guesses(unsigned codec)
{
	return codec >= CODEC_AGAIN && codec <= CODEC_AGAIN_HERE;
}

static inline int codec_has_dict(unsigned codec)
{
	return codec == CODEC_DICT || codec == CODEC_NEXT || codec_guesses(codec);
}

/*
 * What the AGAIN codecs remember: for each of so many keys the two entries of the dictionary that
 * were used last. Keys that share a slot spoil each other's guesses and nothing else.
 */
enum { GUESS_BITS = 12, GUESS_SLOTS = 1 << GUESS_BITS };
struct column_guess {
	uint32_t last, before;
};

static inline size_t guess_slot(uint64_t key)
{
	return (size_t)((key * 0x9e3779b97f4a7c15ull) >> (64 - GUESS_BITS));
}

/* What a value may depend on: of the same event, the first field and the one before; the CPU's. */
struct field_context {
	uint64_t first, before;
	uint32_t running;
};

static inline uint64_t guess_key(unsigned codec, const struct field_context *x)
{
	if (codec == CODEC_AGAIN_HERE)
		return x->running;
	return codec == CODEC_AGAIN_BOTH ? (x->first << 32) + x->before : x->first;
}

/* The columns by number, and for each kind its first one and the one after its last. */
enum column {
#define EVENT(id, UPPER, lower, text, words, group)                                                \
	COL_FIRST_##UPPER, COL_BEFORE_##UPPER = COL_FIRST_##UPPER - 1,
#define FIELD(UPPER, lower, id, name, ctype, codec, role) COL_##UPPER##_##name,
#define EVENT_END(UPPER, lower) COL_END_##UPPER, COL_LAST_##UPPER = COL_END_##UPPER - 1,
#include "wire/event.def"
	COLUMNS,
};

struct column_desc {
	uint8_t kind;
	uint8_t field;
	uint8_t codec;
	uint8_t size;
	uint8_t role;	 /* enum event_role */
	uint16_t offset; /* in struct event */
};

struct kind_desc {
	uint8_t first, end; /* of columns[] */
	uint8_t group;	    /* enum event_group */
};

extern const struct column_desc columns[COLUMNS];
extern const struct kind_desc kinds[EV_KINDS]; /* 0: no such kind */

static inline int kind_known(uint64_t kind)
{
	return kind > 0 && kind < EV_KINDS && kinds[kind].end;
}

#endif
