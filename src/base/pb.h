/* SPDX-License-Identifier: MIT */
/*
 * Writes protocol buffers into a struct buf, field by field, in the shortest form. There is no
 * schema here: the caller knows field numbers and types. If a field that cannot repeat is written
 * twice, the last one counts. Zeros are written like other numbers; pb_some() leaves them out, and
 * a reader assumes zero.
 *
 * A message in a message is written in place, without a buffer of its own:
 *
 *   size_t at = pb_begin(b, 4);
 *   pb_u64(b, 1, id);
 *   pb_end(b, at);
 *
 * What lies outside of all messages may be taken out of the buffer at any time: fields of the
 * outermost message can follow each other in a stream.
 */
#ifndef THAW_BASE_PB_H
#define THAW_BASE_PB_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* uint32, uint64, bool, enums; int32 and int64 as they are in uint64_t. */
void pb_u64(struct buf *b, unsigned field, uint64_t v);
/* The same, but nothing for 0. */
void pb_some(struct buf *b, unsigned field, uint64_t v);
void pb_fixed64(struct buf *b, unsigned field, uint64_t v);
void pb_bytes(struct buf *b, unsigned field, const void *p, size_t n);
/* Strings have to be UTF-8: base/text.h. */
void pb_str(struct buf *b, unsigned field, const char *s);
/* Packed numbers; nothing for none of them. */
void pb_packed(struct buf *b, unsigned field, const uint64_t *v, size_t n);

/* A message, or packed numbers by buf_put_varint(), whatever its length. They nest. */
size_t pb_begin(struct buf *b, unsigned field);
void pb_end(struct buf *b, size_t at);

/* How long it is as a varint. */
static inline size_t pb_varint_len(uint64_t v)
{
	return (size_t)(63 - __builtin_clzll(v | 1)) / 7 + 1;
}

#endif
