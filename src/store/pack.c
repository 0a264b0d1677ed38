// SPDX-License-Identifier: MIT
/* Turns columns of integers into bytes: see pack.h, and unpack.c for the reverse. */
#include "store/pack.h"

/* One value in this many may be an exception before a wider shape is cheaper, once compressed. */
enum { EXCEPTION_RARITY = 32 };
/* Below this, a code of its own costs more than it saves. */
enum { SEAM_BYTES = 2048, SEAM_REST = 512 };
/* So many can be counted in a byte. */
enum { COUNT_BLOCK = 128, COUNT_FEW = 32 };

struct shape {
	uint8_t number;
	uint8_t bits; /* that a value may have */
};

static const struct shape times_shape = {PACK_TIMES, 59};
static const struct shape shapes[] = {
	{0, 0},	 {PACK_BITS_1, 1}, {PACK_BITS_2, 2}, {PACK_BITS_4, 4}, {1, 8},	{2, 16},
	{3, 24}, {4, 32},	   {5, 40},	     {6, 48},	       {7, 56}, {8, 64},
};

void seams_add(struct seams *s, size_t from, size_t to)
{
	size_t last = s && s->at.n ? s->at.v[s->at.n - 1] : 0;

	if (!s || to - from < SEAM_BYTES)
		return;
	if (from - last >= SEAM_REST)
		vec_push(&s->at, from);
	vec_push(&s->at, to);
}

static unsigned bits_of(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

static unsigned class_of(uint64_t v, unsigned *ret_bits)
{
	unsigned bits = v < 8 ? 0 : bits_of(v) - 3;

	*ret_bits = bits;
	return v < 8 ? (unsigned)v : 4 * bits + (unsigned)(v >> bits);
}

#define VALUE uint8_t
#define SIGNED uint8_t
#define AS(name) name##_8
#include "store/pack_as.h"
#undef VALUE
#undef SIGNED
#undef AS

#define VALUE uint16_t
#define SIGNED uint16_t
#define AS(name) name##_16
#include "store/pack_as.h"
#undef VALUE
#undef SIGNED
#undef AS

#define VALUE uint32_t
#define SIGNED uint32_t
#define AS(name) name##_32
#include "store/pack_as.h"
#undef VALUE
#undef SIGNED
#undef AS

#define VALUE uint64_t
#define SIGNED int64_t
#define AS(name) name##_64
#include "store/pack_as.h"

void pack_put(struct buf *out, const struct values *c, bool times, struct seams *seams)
{
	switch (c->shift) {
	case 0:
		put_8(out, c->p, c->n, times, seams);
		break;
	case 1:
		put_16(out, (const uint16_t *)(const void *)c->p, c->n, times, seams);
		break;
	case 2:
		put_32(out, (const uint32_t *)(const void *)c->p, c->n, times, seams);
		break;
	default:
		put_64(out, (const uint64_t *)(const void *)c->p, c->n, times, seams);
	}
}
