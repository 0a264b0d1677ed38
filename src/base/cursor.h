/* SPDX-License-Identifier: MIT */
/*
 * The one way to read bytes that somebody else wrote: a capture, an ELF file, a perf record.
 *
 * A cursor never reads outside its range. The first read that would do so sets `bad`; from then on
 * every read returns zero and moves nothing, so that a parser may read a whole structure and check
 * cur_ok() once. A loop must still be bounded by something else than the data: check inside it.
 */
#ifndef THAW_BASE_CURSOR_H
#define THAW_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *base;
	size_t len;
	size_t pos;
	bool bad;
};

static inline struct cursor cur_init(const void *p, size_t n)
{
	/* An empty range need not have an address, but reading nothing from it must succeed. */
	return (struct cursor){.base = p ? p : "", .len = p ? n : 0};
}

static inline bool cur_ok(const struct cursor *c)
{
	return !c->bad;
}

static inline size_t cur_left(const struct cursor *c)
{
	return c->bad ? 0 : c->len - c->pos;
}

static inline bool cur_end(const struct cursor *c)
{
	return c->bad || c->pos >= c->len;
}

/* n bytes in place, or NULL (and the cursor turns bad). */
static inline const void *cur_bytes(struct cursor *c, size_t n)
{
	const void *p;

	if (c->bad || n > c->len - c->pos) {
		c->bad = true;
		return NULL;
	}
	p = c->base + c->pos;
	c->pos += n;
	return p;
}

static inline void cur_skip(struct cursor *c, size_t n)
{
	(void)cur_bytes(c, n);
}

static inline void cur_seek(struct cursor *c, size_t pos)
{
	if (pos > c->len)
		c->bad = true;
	else if (!c->bad)
		c->pos = pos;
}

/* The next n bytes into `out`, which is zeroed if they are not there. */
static inline void cur_copy(struct cursor *c, void *out, size_t n)
{
	const void *p = cur_bytes(c, n);

	if (p)
		memcpy(out, p, n);
	else
		memset(out, 0, n);
}

/* The next n bytes as a cursor of their own; this one moves past them. */
static inline struct cursor cur_take(struct cursor *c, size_t n)
{
	const void *p = cur_bytes(c, n);

	return p ? cur_init(p, n) : (struct cursor){.bad = true};
}

#define CUR_READ(name, type)                                                                       \
	static inline type name(struct cursor *c)                                                  \
	{                                                                                          \
		type v = 0;                                                                        \
		const void *p = cur_bytes(c, sizeof(v));                                           \
                                                                                                   \
		if (p)                                                                             \
			memcpy(&v, p, sizeof(v));                                                  \
		return v;                                                                          \
	}
CUR_READ(cur_u8, uint8_t)
CUR_READ(cur_u16, uint16_t)
CUR_READ(cur_u32, uint32_t)
CUR_READ(cur_u64, uint64_t)
#undef CUR_READ

/* A number of more than 64 bits is as bad as one without an end. */
static inline uint64_t cur_varint(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (c->bad || c->pos >= c->len)
			break;
		byte = c->base[c->pos++];
		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	c->bad = true;
	return 0;
}

/* The same, in place: bytes and length, not terminated. NULL when bad. */
const char *cur_str_ref(struct cursor *c, size_t *ret_len);

#endif
