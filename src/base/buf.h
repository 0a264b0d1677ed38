/* SPDX-License-Identifier: MIT */
/* A growable byte buffer: text, columns and chunk payloads are all built in one of these. */
#ifndef THAW_BASE_BUF_H
#define THAW_BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *p;
	size_t len;
	size_t room;
};

void buf_reserve(struct buf *b, size_t more);
void buf_put(struct buf *b, const void *p, size_t n);
void buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void buf_done(struct buf *b);

/* Keeps the memory, forgets the bytes. */
static inline void buf_clear(struct buf *b)
{
	b->len = 0;
}

static inline void buf_put_u8(struct buf *b, uint8_t v)
{
	if (b->len == b->room)
		buf_reserve(b, 1);
	b->p[b->len++] = v;
}

/* LEB128, least significant group first, at most ten bytes. */
static inline void buf_put_varint(struct buf *b, uint64_t v)
{
	if (b->room - b->len < 10)
		buf_reserve(b, 10);
	while (v >= 0x80) {
		b->p[b->len++] = (uint8_t)v | 0x80;
		v >>= 7;
	}
	b->p[b->len++] = (uint8_t)v;
}

static inline uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline uint32_t zigzag32(int32_t v)
{
	return ((uint32_t)v << 1) ^ (uint32_t)(v >> 31);
}

static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

/* A string is its length as a varint, then its bytes, no terminator. */
void buf_put_str(struct buf *b, const char *s);

/* The buffer as a C string; valid until the next change. */
const char *buf_cstr(struct buf *b);

#endif
