/* SPDX-License-Identifier: MIT */
/*
 * A column of 64-bit integers as bytes. Most columns of a capture are constant, or small numbers
 * with a few large ones between them, and a reader goes through them in order. So:
 *
 *   base     zigzag varint, the smallest value (as signed)
 *   width    1 byte, 0 to 8
 *   n_exc    varint, then n_exc times: gap (varint, from the place after the last one), value
 * (varint) planes   width times n bytes: the lowest byte of every value, then the next byte of
 * every value...
 *
 * A value is base plus its bytes, modulo 2^64, unless an exception names its place. Planes rather
 * than varints: the low bytes of times are noise, the high ones are not, and apart from each other
 * the second kind compresses to what it is worth; and reading has no branches that depend on data.
 * A constant column has width 0 and costs a few bytes, whatever n is.
 */
#ifndef THAW_STORE_PACK_H
#define THAW_STORE_PACK_H

#include "base/buf.h"
#include "base/cursor.h"

void pack_put(struct buf *out, const uint64_t *v, size_t n);

struct unpack {
	const uint8_t *planes;
	size_t n, at;
	uint64_t base;
	unsigned width;
	size_t exc_at; /* the place of the next exception, or n */
	uint64_t exc_value;
	size_t exc_left;
	struct cursor exc;
};

/*
 * Checks everything that there is to check: unpack_block() cannot fail. False: malformed. n is
 * bounded by the caller: a few bytes can stand for any number of equal values.
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
	return !u->width && u->exc_at >= u->n;
}

#endif
