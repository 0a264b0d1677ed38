// SPDX-License-Identifier: MIT
/* Columns of integers as bytes and back: see pack.h. */
#include "store/pack.h"

/* One value in this many may be an exception before another plane is cheaper, once compressed. */
enum { EXCEPTION_RARITY = 64 };

static unsigned width_of(uint64_t v)
{
	return v ? (71 - (unsigned)__builtin_clzll(v)) / 8 : 0;
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

/* Do few enough values need more than `width` bytes? Most columns say no within the first block. */
static bool wide_enough(const uint64_t *v, size_t n, uint64_t base, unsigned width,
			size_t *ret_wider)
{
	enum { BLOCK = 512 };
	size_t wider = 0;

	for (size_t i = 0; i < n && wider * EXCEPTION_RARITY <= n;) {
		size_t end = n - i < BLOCK ? n : i + BLOCK;

		for (; i < end; i++)
			wider += ((v[i] - base) >> (8 * width)) != 0;
	}
	*ret_wider = wider;
	return wider * EXCEPTION_RARITY <= n;
}

static unsigned choose_width(const uint64_t *v, size_t n, uint64_t base, uint64_t span,
			     size_t *ret_n_exc)
{
	unsigned all = width_of(span);

	for (unsigned w = 0; w < all; w++)
		if (wide_enough(v, n, base, w, ret_n_exc))
			return w;
	*ret_n_exc = 0;
	return all;
}

static void put_plane(uint8_t *restrict to, const uint64_t *restrict v, size_t n, uint64_t base,
		      unsigned shift)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)((v[i] - base) >> shift);
}

static void put_exceptions(struct buf *out, const uint64_t *v, size_t n, uint64_t base,
			   unsigned width)
{
	size_t next = 0;

	for (size_t i = 0; i < n; i++) {
		if (width_of(v[i] - base) <= width)
			continue;
		buf_put_varint(out, i - next);
		buf_put_varint(out, v[i]);
		next = i + 1;
	}
}

void pack_put(struct buf *out, const uint64_t *v, size_t n)
{
	uint64_t span, base = range_of(v, n, &span);
	size_t n_exc;
	unsigned width = choose_width(v, n, base, span, &n_exc);

	buf_put_varint(out, zigzag((int64_t)base));
	buf_put_u8(out, (uint8_t)width);
	buf_put_varint(out, n_exc);
	if (n_exc)
		put_exceptions(out, v, n, base, width);
	buf_reserve(out, n * width);
	for (unsigned k = 0; k < width; k++) {
		put_plane(out->p + out->len, v, n, base, 8 * k);
		out->len += n;
	}
}

/* Reads the exception behind the one just used. */
static void next_exception(struct unpack *u)
{
	if (!u->exc_left) {
		u->exc_at = u->n;
		return;
	}
	u->exc_left--;
	u->exc_at += 1 + (size_t)cur_varint(&u->exc);
	u->exc_value = cur_varint(&u->exc);
}

bool unpack_init(struct unpack *u, struct cursor c, size_t n)
{
	uint64_t left = n;

	*u = (struct unpack){.n = n};
	u->base = (uint64_t)unzigzag(cur_varint(&c));
	u->width = cur_u8(&c);
	u->exc_left = (size_t)cur_varint(&c);
	if (!cur_ok(&c) || u->width > 8 || u->exc_left > n)
		return false;
	u->exc = c;
	for (size_t i = 0; i < u->exc_left; i++) {
		uint64_t gap = cur_varint(&c);

		cur_varint(&c);
		if (!cur_ok(&c) || gap >= left)
			return false;
		left -= gap + 1;
	}
	u->exc.len = c.pos;
	if (cur_left(&c) != n * u->width)
		return false;
	u->planes = c.base + c.pos;
	u->exc_at = (size_t)-1; /* so that the first gap counts from place 0 */
	next_exception(u);
	return true;
}

/* The run has a constant length so that compilers make vector instructions of it. */
enum { RUN = 16 };

static void set_plane(uint64_t *restrict out, const uint8_t *restrict plane, size_t n,
		      uint64_t base)
{
	size_t i = 0;

	for (; i + RUN <= n; i += RUN)
		for (size_t k = 0; k < RUN; k++)
			out[i + k] = base + plane[i + k];
	for (; i < n; i++)
		out[i] = base + plane[i];
}

static void add_plane(uint64_t *restrict out, const uint8_t *restrict plane, size_t n,
		      unsigned shift)
{
	size_t i = 0;

	for (; i + RUN <= n; i += RUN)
		for (size_t k = 0; k < RUN; k++)
			out[i + k] += (uint64_t)plane[i + k] << shift;
	for (; i < n; i++)
		out[i] += (uint64_t)plane[i] << shift;
}

size_t unpack_block(struct unpack *u, uint64_t *out, size_t room)
{
	size_t n = u->n - u->at < room ? u->n - u->at : room, end = u->at + n;

	if (u->width)
		set_plane(out, u->planes + u->at, n, u->base);
	else
		for (size_t i = 0; i < n; i++)
			out[i] = u->base;
	for (unsigned k = 1; k < u->width; k++)
		add_plane(out, u->planes + k * u->n + u->at, n, 8 * k);
	while (u->exc_at < end) {
		out[u->exc_at - u->at] = u->exc_value;
		next_exception(u);
	}
	u->at = end;
	return n;
}
