/* SPDX-License-Identifier: MIT */
/*
 * The loops of pack.c over a column whose values are as wide as VALUE; included once for each
 * width. Everything is done modulo VALUE: what is left of a value above the base fits into it.
 */

/* The smallest value, and how far the largest is from it. SIGNED where the sign counts. */
static uint64_t AS(range)(const VALUE *v, size_t n, uint64_t *ret_span)
{
	SIGNED min = n ? (SIGNED)v[0] : 0, max = min;

	for (size_t i = 1; i < n; i++) {
		min = (SIGNED)v[i] < min ? (SIGNED)v[i] : min;
		max = (SIGNED)v[i] > max ? (SIGNED)v[i] : max;
	}
	*ret_span = (uint64_t)max - (uint64_t)min;
	return (uint64_t)min;
}

/* How many of so few that a VALUE can count them need more bits? */
static VALUE AS(count_wider)(const VALUE *v, size_t n, VALUE base, unsigned bits)
{
	VALUE wider = 0;

	for (size_t i = 0; i < n; i++)
		wider += (VALUE)((VALUE)(v[i] - base) >> bits) != 0;
	return wider;
}

/* Do few enough values need more bits? Most columns say no within the first block. */
static bool AS(wide_enough)(const VALUE *v, size_t n, uint64_t base, unsigned bits,
			    size_t *ret_wider)
{
	size_t wider = 0;

	for (size_t i = 0; i < n && wider * EXCEPTION_RARITY <= n; i += COUNT_BLOCK)
		wider += AS(count_wider)(v + i, n - i < COUNT_BLOCK ? n - i : COUNT_BLOCK,
					 (VALUE)base, bits);
	*ret_wider = wider;
	return wider * EXCEPTION_RARITY <= n;
}

/* They are rare: whole stretches are looked at first. */
static void AS(put_exceptions)(struct buf *out, const VALUE *v, size_t n, uint64_t base,
			       unsigned bits)
{
	size_t next = 0;

	for (size_t at = 0; at < n; at += COUNT_FEW) {
		size_t end = n - at < COUNT_FEW ? n : at + COUNT_FEW;

		if (!AS(count_wider)(v + at, end - at, (VALUE)base, bits))
			continue;
		for (size_t i = at; i < end; i++) {
			if (!(VALUE)((VALUE)(v[i] - (VALUE)base) >> bits))
				continue;
			buf_put_varint(out, i - next);
			buf_put_varint(out, v[i]);
			next = i + 1;
		}
	}
}

static void AS(put_plane)(uint8_t *restrict to, const VALUE *restrict v, size_t n, VALUE base,
			  unsigned shift)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)((VALUE)(v[i] - base) >> shift);
}

static inline __attribute__((always_inline)) void
AS(put_few)(uint8_t *restrict to, const VALUE *restrict v, size_t n, VALUE base, unsigned bits)
{
	const unsigned per = 8 / bits;
	const uint8_t mask = (uint8_t)((1u << bits) - 1);
	size_t i = 0;

	for (; i + per <= n; i += per) {
		uint8_t byte = 0;

		for (unsigned k = 0; k < per; k++)
			byte |= (uint8_t)(((uint8_t)(v[i + k] - base) & mask) << (k * bits));
		*to++ = byte;
	}
	if (i < n) {
		uint8_t byte = 0;

		for (unsigned k = 0; i < n; i++, k++)
			byte |= (uint8_t)(((uint8_t)(v[i] - base) & mask) << (k * bits));
		*to = byte;
	}
}

static void AS(put_bits)(uint8_t *to, const VALUE *v, size_t n, uint64_t base, unsigned bits)
{
	if (bits == 1)
		AS(put_few)(to, v, n, (VALUE)base, 1);
	else if (bits == 2)
		AS(put_few)(to, v, n, (VALUE)base, 2);
	else
		AS(put_few)(to, v, n, (VALUE)base, 4);
}

/* The classes, and behind them the bits. Returns the end. */
static uint8_t *AS(put_times)(uint8_t *classes, const VALUE *v, size_t n, uint64_t base)
{
	uint8_t *bits_to = classes + n;
	uint64_t word = 0;
	unsigned have = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t time = (VALUE)(v[i] - (VALUE)base);
		unsigned bits, class = class_of(time, &bits);

		/* An exception: its class does not matter. */
		if (class > PACK_CLASS_MAX)
			class = bits = 0;
		classes[i] = (uint8_t) class;
		word |= (time & ((1ull << bits) - 1)) << have;
		have += bits;
		memcpy(bits_to, &word, sizeof(word));
		bits_to += have / 8;
		word = have < 64 ? word >> (have & ~7u) : 0;
		have &= 7;
	}
	return bits_to + (have != 0);
}

/* Some may be negative: as exceptions, they do not make all others larger. */
static bool AS(fit_times)(const VALUE *v, size_t n, uint64_t *base, uint64_t span,
			  size_t *ret_n_exc)
{
	uint64_t from = (int64_t)*base < 0 ? 0 : *base;

	*ret_n_exc = 0;
	if (bits_of(span) <= 8)
		return false;
	if ((from != *base || bits_of(span) > times_shape.bits) &&
	    !AS(wide_enough)(v, n, from, times_shape.bits, ret_n_exc))
		return false;
	*base = from;
	return true;
}

static const struct shape *AS(choose)(const VALUE *v, size_t n, uint64_t base, uint64_t span,
				      size_t *ret_n_exc)
{
	unsigned all = bits_of(span);
	const struct shape *s = shapes;

	for (; s->bits < all; s++)
		if (AS(wide_enough)(v, n, base, s->bits, ret_n_exc))
			return s;
	*ret_n_exc = 0;
	return s;
}

static void AS(put_body)(struct buf *out, const VALUE *v, size_t n, uint64_t base,
			 const struct shape *s, struct seams *seams)
{
	size_t start = out->len;

	/* A byte and seven of bits for each time, at most; and a whole word at the end. */
	buf_reserve(out, s == &times_shape ? 8 * n + 8 : (n * s->bits + 7) / 8);
	if (s == &times_shape) {
		out->len = (size_t)(AS(put_times)(out->p + start, v, n, base) - out->p);
		seams_add(seams, start, start + n);
		seams_add(seams, start + n, out->len);
	} else if (s->bits >= 8) {
		for (unsigned k = 0; k < s->bits; k += 8, out->len += n) {
			AS(put_plane)(out->p + out->len, v, n, (VALUE)base, k);
			seams_add(seams, out->len, out->len + n);
		}
	} else if (s->bits) {
		AS(put_bits)(out->p + start, v, n, base, s->bits);
		out->len += (n * s->bits + 7) / 8;
		seams_add(seams, start, out->len);
	}
}

static void AS(put)(struct buf *out, const VALUE *v, size_t n, bool times, struct seams *seams)
{
	uint64_t span, base = AS(range)(v, n, &span);
	const struct shape *s = &times_shape;
	size_t n_exc;

	if (!times || !AS(fit_times)(v, n, &base, span, &n_exc))
		s = AS(choose)(v, n, base, span, &n_exc);
	buf_put_varint(out, zigzag((int64_t)base));
	buf_put_u8(out, s->number);
	buf_put_varint(out, n_exc);
	if (n_exc)
		AS(put_exceptions)(out, v, n, base, s->bits);
	AS(put_body)(out, v, n, base, s, seams);
}
