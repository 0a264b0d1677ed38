/* SPDX-License-Identifier: MIT */
/* Makes .eh_frame and .debug_frame sections, entry by entry. */
#ifndef THAW_TEST_CFI_BYTES_H
#define THAW_TEST_CFI_BYTES_H

#include <stdint.h>
#include <string.h>

#include "base/buf.h"

#define BYTES(...) ((const uint8_t[]){__VA_ARGS__}), sizeof((const uint8_t[]){__VA_ARGS__})

static inline void put32(struct buf *b, uint32_t v)
{
	buf_put(b, &v, 4);
}

static inline void put64(struct buf *b, uint64_t v)
{
	buf_put(b, &v, 8);
}

static inline size_t entry_begin(struct buf *b)
{
	put32(b, 0);
	return b->len;
}

static inline void entry_end(struct buf *b, size_t begin)
{
	uint32_t len = (uint32_t)(b->len - begin);

	memcpy(b->p + begin - 4, &len, 4);
}

/* At the first instruction: CFA = rsp + 8, return address at CFA - 8. Code counts by 1, data by -8.
 */
static inline size_t put_cie_with(struct buf *b, const char *letters, const void *data, size_t len)
{
	size_t at = b->len, begin = entry_begin(b);

	put32(b, 0);
	buf_put_u8(b, 1);
	buf_put(b, letters, strlen(letters) + 1);
	buf_put(b, BYTES(1, 0x78, 16));
	if (letters[0] == 'z')
		buf_put_varint(b, len);
	buf_put(b, data, len);
	buf_put(b, BYTES(0x0c, 7, 8, 0x90, 1));
	entry_end(b, begin);
	return at;
}

/* Addresses are 8 bytes, absolute. */
static inline size_t put_cie(struct buf *b)
{
	return put_cie_with(b, "zR", BYTES(0x00));
}

static inline void put_fde(struct buf *b, size_t cie, uint64_t begin, uint64_t size,
			   const void *program, size_t len)
{
	size_t at = entry_begin(b);

	put32(b, (uint32_t)(at - cie));
	put64(b, begin);
	put64(b, size);
	buf_put_u8(b, 0);
	buf_put(b, program, len);
	entry_end(b, at);
}

/* .debug_frame: no augmentation. */
static inline size_t put_debug_cie(struct buf *b, uint8_t version)
{
	size_t at = b->len, begin = entry_begin(b);

	put32(b, UINT32_MAX);
	buf_put_u8(b, version);
	buf_put_u8(b, 0);
	if (version == 4)
		buf_put(b, BYTES(8, 0));
	buf_put(b, BYTES(1, 0x78, 16, 0x0c, 7, 8, 0x90, 1));
	entry_end(b, begin);
	return at;
}

static inline void put_debug_fde(struct buf *b, size_t cie, uint64_t begin, uint64_t size,
				 const void *program, size_t len)
{
	size_t at = entry_begin(b);

	put32(b, (uint32_t)cie);
	put64(b, begin);
	put64(b, size);
	buf_put(b, program, len);
	entry_end(b, at);
}

#endif
