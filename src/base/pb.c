// SPDX-License-Identifier: MIT
#include "base/pb.h"

#include <string.h>

/* The low bits of a field's key. */
enum wire { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

static void key(struct buf *b, unsigned field, enum wire wire)
{
	buf_put_varint(b, (uint64_t)field << 3 | wire);
}

static void little_endian(struct buf *b, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		buf_put_u8(b, (uint8_t)(v >> 8 * i));
}

void pb_u64(struct buf *b, unsigned field, uint64_t v)
{
	key(b, field, VARINT);
	buf_put_varint(b, v);
}

void pb_some(struct buf *b, unsigned field, uint64_t v)
{
	if (v)
		pb_u64(b, field, v);
}

void pb_fixed64(struct buf *b, unsigned field, uint64_t v)
{
	key(b, field, FIXED64);
	little_endian(b, v, 8);
}

void pb_bytes(struct buf *b, unsigned field, const void *p, size_t n)
{
	key(b, field, LENGTH);
	buf_put_varint(b, n);
	buf_put(b, p, n);
}

void pb_str(struct buf *b, unsigned field, const char *s)
{
	pb_bytes(b, field, s, strlen(s));
}

void pb_packed(struct buf *b, unsigned field, const uint64_t *v, size_t n)
{
	size_t len = 0;

	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		len += pb_varint_len(v[i]);
	key(b, field, LENGTH);
	buf_put_varint(b, len);
	for (size_t i = 0; i < n; i++)
		buf_put_varint(b, v[i]);
}

size_t pb_begin(struct buf *b, unsigned field)
{
	key(b, field, LENGTH);
	buf_put_u8(b, 0);
	return b->len;
}

/* Most messages are short: pb_begin() leaves room for one byte of length; more moves them. */
void pb_end(struct buf *b, size_t at)
{
	size_t len = b->len - at, more = pb_varint_len(len) - 1;

	if (more) {
		buf_reserve(b, more);
		memmove(b->p + at + more, b->p + at, len);
	}
	b->len = at - 1;
	buf_put_varint(b, len);
	b->len = at + more + len;
}
