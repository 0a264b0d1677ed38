/* SPDX-License-Identifier: MIT */
/*
 * A column of 64-bit integers as bytes. Most columns of a capture are constant, or small numbers
 * with a few large ones between them, and a reader goes through them in order. So:
 *
 *   base     zigzag varint, the smallest value (as signed)
 *   shape    1 byte, see below
 *   n_exc    varint, then n_exc times: gap (varint, from the place after the last one), value
 *   body     as the shape says
 *
 * A value is base plus what the body has for it, modulo 2^64, unless an exception names its place.
 *
 *   0        no body: all are the base. A constant column costs a few bytes, whatever n is
 *   1 to 8   so many planes of n bytes: the lowest byte of every value, then the next byte of
 *            every value... High bytes repeat and low ones do not; kept apart, the high ones
 *            compress well
 *   9 to 11  1, 2 or 4 bits a value, lowest bits first. Bytes that take few values each carry
 *            little; packed together they suit a Huffman code
 *   12       n bytes, the class of each value, and then bits, lowest first, without padding between
 *            values. Class c is c if that is below 4; otherwise it has a leading 1 and the two low
 *            bits of c, followed by c / 4 - 1 bits of the second part. For times: their sizes are
 *            worth compressing, bits after the first three are noise
 */
#ifndef THAW_STORE_PACK_H
#define THAW_STORE_PACK_H

#include "base/buf.h"
#include "base/cursor.h"
#include "base/vec.h"
#include "store/values.h"

enum {
	PACK_BITS_1 = 9,
	PACK_BITS_2 = 10,
	PACK_BITS_4 = 11,
	PACK_TIMES = 12,
	PACK_CLASS_MAX = 4 * 57 + 3, /* 56 bits and a class: with what a bit offset adds, 8 bytes */
};

/* How many bits follow the class. */
static inline unsigned pack_class_bits(unsigned class)
{
	return class < 8 ? 0 : class / 4 - 1;
}

/*
 * Where in a payload bytes of one nature end and those of another begin, so that the compressor can
 * use a code for each. Small parts are left in their surroundings.
 */
struct seams {
	VEC(size_t) at; /* ascending */
};
/* `s` may be NULL. */
void seams_add(struct seams *s, size_t from, size_t to);

/* `times`: the values are large and seldom repeat. `seams` may be NULL. */
void pack_put(struct buf *out, const struct values *c, bool times, struct seams *seams);

struct unpack {
	const uint8_t *body;
	size_t n, at;
	uint64_t base;
	unsigned shape;
	size_t exc_at; /* the place of the next exception, or n */
	uint64_t exc_value;
	size_t exc_left;
	struct cursor exc;
	uint64_t bit_at; /* PACK_TIMES: where in the second part */
	size_t bytes;	 /* of the second part */
};

/*
 * Checks everything, so that unpack_block() cannot fail. False: malformed. n is bounded by the
 * caller: a few bytes can stand for any number of equal values.
 */
bool unpack_init(struct unpack *u, struct cursor bytes, size_t n);

/*
 * The next values, up to `room` of them; returns how many there were. Many at a time, because the
 * loops over one plane are far cheaper than the steps from plane to plane and column to column.
 */
size_t unpack_block(struct unpack *u, uint64_t *out, size_t room);

/* Are all values that are left the same? */
static inline bool unpack_constant(const struct unpack *u)
{
	return !u->shape && u->exc_at >= u->n;
}

#endif
