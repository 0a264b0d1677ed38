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
	CODEC_STEP = 7, /* difference from the value before it, not zigzag; for times */
};

/* Kind 0: the columns that every event has. */
enum { COMMON_KIND = 1, COMMON_CPU = 2, COMMON_TS = 3 };

/* The columns by number, and for each kind its first one and the one behind its last. */
enum column {
#define EVENT(id, UPPER, lower, text, words)                                                       \
	COL_FIRST_##UPPER, COL_BEFORE_##UPPER = COL_FIRST_##UPPER - 1,
#define FIELD(UPPER, lower, id, name, ctype, codec) COL_##UPPER##_##name,
#define EVENT_END(UPPER, lower) COL_END_##UPPER, COL_LAST_##UPPER = COL_END_##UPPER - 1,
#include "wire/event.def"
	COLUMNS,
};

struct column_desc {
	uint8_t kind;
	uint8_t field;
	uint8_t codec;
	uint8_t size;
	uint16_t offset; /* in struct event */
};

struct kind_desc {
	uint8_t first, end; /* of columns[] */
};

extern const struct column_desc columns[COLUMNS];
extern const struct kind_desc kinds[EV_KINDS]; /* 0: no such kind */

static inline int kind_known(uint64_t kind)
{
	return kind > 0 && kind < EV_KINDS && kinds[kind].end;
}

#endif
