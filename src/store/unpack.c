// SPDX-License-Identifier: MIT
/* Turns bytes into columns of integers: see pack.h. */
#include "store/pack.h"

/* Reads the exception after the one just used. */
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

/* The run has a constant length so that compilers make vector instructions of it. */
enum { RUN = 16 };

/* The bits that follow classes, or -1 if one of them cannot be. */
static int64_t count_bits(const uint8_t *classes, size_t n)
{
	uint64_t sum = 0;
	unsigned most = 0;
	size_t i = 0;

	for (; i + RUN <= n; i += RUN) {
		uint16_t part = 0;
		uint8_t high = 0;

		for (size_t k = 0; k < RUN; k++) {
			uint8_t c = classes[i + k], quarter = c / 4;

			part = (uint16_t)(part + (quarter ? quarter - 1 : 0));
			high = c > high ? c : high;
		}
		sum += part;
		most = high > most ? high : most;
	}
	for (; i < n; i++) {
		sum += pack_class_bits(classes[i]);
		most = classes[i] > most ? classes[i] : most;
	}
	return most > PACK_CLASS_MAX ? -1 : (int64_t)sum;
}

static bool body_fits(struct unpack *u, size_t len)
{
	int64_t bits;

	switch (u->shape) {
	case PACK_BITS_1:
	case PACK_BITS_2:
	case PACK_BITS_4:
		return len == (u->n + (8u >> (u->shape - PACK_BITS_1)) - 1) /
				      (8u >> (u->shape - PACK_BITS_1));
	case PACK_TIMES:
		bits = len < u->n ? -1 : count_bits(u->body, u->n);
		u->bytes = len - u->n;
		return bits >= 0 && u->bytes == ((uint64_t)bits + 7) / 8;
	}
	return u->shape <= 8 && len == u->n * u->shape;
}

bool unpack_init(struct unpack *u, struct cursor c, size_t n)
{
	uint64_t left = n;

	*u = (struct unpack){.n = n};
	u->base = (uint64_t)unzigzag(cur_varint(&c));
	u->shape = cur_u8(&c);
	u->exc_left = (size_t)cur_varint(&c);
	if (!cur_ok(&c) || u->exc_left > n)
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
	u->body = c.base + c.pos;
	if (!body_fits(u, cur_left(&c)))
		return false;
	u->exc_at = (size_t)-1; /* so that the first gap counts from place 0 */
	next_exception(u);
	return true;
}

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

static void set_planes(const struct unpack *u, uint64_t *out, size_t n)
{
	set_plane(out, u->body + u->at, n, u->base);
	for (unsigned k = 1; k < u->shape; k++)
		add_plane(out, u->body + k * u->n + u->at, n, 8 * k);
}

static inline __attribute__((always_inline)) void set_few(const struct unpack *u, uint64_t *out,
							  size_t n, unsigned bits)
{
	const unsigned per = 8 / bits, mask = (1u << bits) - 1;
	const uint8_t *p = u->body + u->at / per;
	const uint64_t base = u->base;
	size_t i = 0;

	/* Whole bytes, while values begin with one, as they always do in blocks. */
	if (u->at % per == 0)
		for (; i + per <= n; i += per, p++) {
			const unsigned byte = *p;

#pragma GCC unroll 8
			for (unsigned k = 0; k < per; k++)
				out[i + k] = base + (byte >> (k * bits) & mask);
		}
	for (; i < n; i++) {
		size_t at = u->at + i;

		out[i] = base + (u->body[at / per] >> (at % per * bits) & mask);
	}
}

static uint64_t unpack_word_at(const uint8_t *p, size_t len, size_t at)
{
	uint64_t word = 0;

	memcpy(&word, p + at, len - at < sizeof(word) ? len - at : sizeof(word));
	return word;
}

static void set_times(struct unpack *u, uint64_t *restrict out, size_t n)
{
	const uint8_t *classes = u->body + u->at, *second = u->body + u->n;
	const size_t bytes = u->bytes;
	const uint64_t base = u->base;
	uint64_t bit_at = u->bit_at;

	for (size_t i = 0; i < n; i++) {
		unsigned class = classes[i], bits = pack_class_bits(class);
		uint64_t high = class - 4 * bits, word; /* a leading 1 and two bits, or all of it */
		size_t byte = (size_t)(bit_at / 8);

		if (__builtin_expect(byte + sizeof(word) <= bytes, 1))
			memcpy(&word, second + byte, sizeof(word));
		else
			word = unpack_word_at(second, bytes, byte);
		out[i] = base + (high << bits) + (word >> bit_at % 8 & ((1ull << bits) - 1));
		bit_at += bits;
	}
	u->bit_at = bit_at;
}

size_t unpack_block(struct unpack *u, uint64_t *out, size_t room)
{
	size_t n = u->n - u->at < room ? u->n - u->at : room, end = u->at + n;

	switch (u->shape) {
	case 0:
		for (size_t i = 0; i < n; i++)
			out[i] = u->base;
		break;
	case PACK_BITS_1:
		set_few(u, out, n, 1);
		break;
	case PACK_BITS_2:
		set_few(u, out, n, 2);
		break;
	case PACK_BITS_4:
		set_few(u, out, n, 4);
		break;
	case PACK_TIMES:
		set_times(u, out, n);
		break;
	default:
		set_planes(u, out, n);
	}
	while (u->exc_at < end) {
		out[u->exc_at - u->at] = u->exc_value;
		next_exception(u);
	}
	u->at = end;
	return n;
}
