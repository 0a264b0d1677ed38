// SPDX-License-Identifier: MIT
/* Turns columns of integers into bytes: see pack.h, and unpack.c for the reverse. */
#include "store/pack.h"

/* One value in this many may be an exception before a wider shape is cheaper, once compressed. */
enum { EXCEPTION_RARITY = 32 };
/* Below this, a code of its own costs more than it saves. */
enum { SEAM_BYTES = 2048, SEAM_REST = 512 };

struct shape {
	uint8_t number;
	uint8_t bits; /* that a value may have */
};

static const struct shape shapes[] = {
	{0, 0},	 {PACK_BITS_1, 1}, {PACK_BITS_2, 2}, {PACK_BITS_4, 4}, {1, 8},	{2, 16},
	{3, 24}, {4, 32},	   {5, 40},	     {6, 48},	       {7, 56}, {8, 64},
};

void seams_add(struct seams *s, size_t from, size_t to)
{
	size_t last = s->at.n ? s->at.v[s->at.n - 1] : 0;

	if (to - from < SEAM_BYTES)
		return;
	if (from - last >= SEAM_REST)
		vec_push(&s->at, from);
	vec_push(&s->at, to);
}

static unsigned bits_of(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* The smallest value as signed, and how far the largest is from it. */
static uint64_t range_of(const uint64_t *v, size_t n, uint64_t *ret_span)
{
	int64_t min = n ? (int64_t)v[0] : 0, max = min;

	for (size_t i = 1; i < n; i++) {
		min = (int64_t)v[i] < min ? (int64_t)v[i] : min;
		max = (int64_t)v[i] > max ? (int64_t)v[i] : max;
	}
	*ret_span = (uint64_t)max - (uint64_t)min;
	return (uint64_t)min;
}

/* Do few enough values need more bits? Most columns say no within the first block. */
static bool wide_enough(const uint64_t *v, size_t n, uint64_t base, unsigned bits,
			size_t *ret_wider)
{
	enum { BLOCK = 512 };
	size_t wider = 0;

	for (size_t i = 0; i < n && wider * EXCEPTION_RARITY <= n;) {
		size_t end = n - i < BLOCK ? n : i + BLOCK;

		for (; i < end; i++)
			wider += ((v[i] - base) >> bits) != 0;
	}
	*ret_wider = wider;
	return wider * EXCEPTION_RARITY <= n;
}

static struct shape pack_choose(const uint64_t *v, size_t n, uint64_t base, uint64_t span,
				size_t *ret_n_exc)
{
	unsigned all = bits_of(span);
	const struct shape *s = shapes;

	for (; s->bits < all; s++)
		if (wide_enough(v, n, base, s->bits, ret_n_exc))
			return *s;
	*ret_n_exc = 0;
	return *s;
}

static void put_exceptions(struct buf *out, const uint64_t *v, size_t n, uint64_t base,
			   unsigned bits)
{
	size_t next = 0;

	for (size_t i = 0; i < n; i++) {
		if (!((v[i] - base) >> bits)) /* fewer than 64: there would be none */
			continue;
		buf_put_varint(out, i - next);
		buf_put_varint(out, v[i]);
		next = i + 1;
	}
}

static void put_plane(uint8_t *restrict to, const uint64_t *restrict v, size_t n, uint64_t base,
		      unsigned shift)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)((v[i] - base) >> shift);
}

static void put_planes(struct buf *out, const uint64_t *v, size_t n, uint64_t base, unsigned width,
		       struct seams *seams)
{
	buf_reserve(out, n * width);
	for (unsigned k = 0; k < width; k++) {
		put_plane(out->p + out->len, v, n, base, 8 * k);
		out->len += n;
		if (seams)
			seams_add(seams, out->len - n, out->len);
	}
}

static inline __attribute__((always_inline)) void put_few(struct buf *out, const uint64_t *v,
							  size_t n, uint64_t base, unsigned bits)
{
	const unsigned per = 8 / bits;
	const uint64_t mask = (1u << bits) - 1;
	size_t i = 0;

	for (; i + per <= n; i += per) {
		unsigned byte = 0;

		for (unsigned k = 0; k < per; k++)
			byte |= (unsigned)((v[i + k] - base) & mask) << (k * bits);
		out->p[out->len++] = (uint8_t)byte;
	}
	if (i < n) {
		unsigned byte = 0;

		for (unsigned k = 0; i < n; i++, k++)
			byte |= (unsigned)((v[i] - base) & mask) << (k * bits);
		out->p[out->len++] = (uint8_t)byte;
	}
}

static void put_bits(struct buf *out, const uint64_t *v, size_t n, uint64_t base, unsigned bits,
		     struct seams *seams)
{
	size_t start = out->len;

	buf_reserve(out, (n * bits + 7) / 8);
	if (bits == 1)
		put_few(out, v, n, base, 1);
	else if (bits == 2)
		put_few(out, v, n, base, 2);
	else
		put_few(out, v, n, base, 4);
	if (seams)
		seams_add(seams, start, out->len);
}

static unsigned class_of(uint64_t v, unsigned *ret_bits)
{
	unsigned bits = v < 8 ? 0 : bits_of(v) - 3;

	*ret_bits = bits;
	return v < 8 ? (unsigned)v : 4 * bits + (unsigned)(v >> bits);
}

static void put_times(struct buf *out, const uint64_t *v, size_t n, uint64_t base,
		      struct seams *seams)
{
	uint8_t *classes, *bits_to;
	uint64_t word = 0;
	unsigned have = 0;

	/* A byte and seven of bits for each, at most; and a whole word at the end. */
	buf_reserve(out, 8 * n + 8);
	classes = out->p + out->len;
	bits_to = classes + n;
	for (size_t i = 0; i < n; i++) {
		unsigned bits, class = class_of(v[i] - base, &bits);

		/* An exception: its class does not matter. */
		if (class > PACK_CLASS_MAX)
			class = bits = 0;
		classes[i] = (uint8_t) class;
		word |= ((v[i] - base) & ((1ull << bits) - 1)) << have;
		have += bits;
		memcpy(bits_to, &word, sizeof(word));
		bits_to += have / 8;
		word = have < 64 ? word >> (have & ~7u) : 0;
		have &= 7;
	}
	bits_to += have != 0;
	if (seams) {
		seams_add(seams, out->len, out->len + n);
		seams_add(seams, out->len + n, (size_t)(bits_to - out->p));
	}
	out->len = (size_t)(bits_to - out->p);
}

/* Some may be negative: as exceptions, they do not make all others larger. */
static bool fit_times(const uint64_t *v, size_t n, uint64_t *base, uint64_t span, size_t *ret_n_exc)
{
	uint64_t from = (int64_t)*base < 0 ? 0 : *base;

	*ret_n_exc = 0;
	if (bits_of(span) <= 8)
		return false;
	if ((from != *base || bits_of(span) > 59) && !wide_enough(v, n, from, 59, ret_n_exc))
		return false;
	*base = from;
	return true;
}

void pack_put(struct buf *out, const uint64_t *v, size_t n, bool times, struct seams *seams)
{
	uint64_t span, base = range_of(v, n, &span);
	struct shape shape = {PACK_TIMES, 59};
	size_t n_exc;

	if (!times || !fit_times(v, n, &base, span, &n_exc))
		shape = pack_choose(v, n, base, span, &n_exc);
	buf_put_varint(out, zigzag((int64_t)base));
	buf_put_u8(out, shape.number);
	buf_put_varint(out, n_exc);
	if (n_exc)
		put_exceptions(out, v, n, base, shape.bits);
	if (shape.number == PACK_TIMES)
		put_times(out, v, n, base, seams);
	else if (shape.bits >= 8)
		put_planes(out, v, n, base, shape.number, seams);
	else if (shape.bits)
		put_bits(out, v, n, base, shape.bits, seams);
}
