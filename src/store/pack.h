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
 * Checks everything that there is to check: unpack_next() cannot fail. False: malformed. n is
 * bounded by the caller: a few bytes can stand for any number of equal values.
 */
bool unpack_init(struct unpack *u, struct cursor bytes, size_t n);

/* Reads the exception behind the one just used. */
void unpack_exception(struct unpack *u);

/* The caller asks at most n times. */
static inline uint64_t unpack_next(struct unpack *u)
{
	const uint8_t *p = u->planes + u->at;
	uint64_t v = u->base;

	for (unsigned k = 0; k < u->width; k++, p += u->n)
		v += (uint64_t)*p << (8 * k);
	if (__builtin_expect(u->at == u->exc_at, 0)) {
		v = u->exc_value;
		unpack_exception(u);
	}
	u->at++;
	return v;
}

#endif
