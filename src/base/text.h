/* SPDX-License-Identifier: MIT */
/*
 * Names from outside (of threads, functions, files) as text that every reader takes: a thread may
 * be named anything, a symbol table may hold anything.
 */
#ifndef THAW_BASE_TEXT_H
#define THAW_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

/*
 * Most text is ASCII that nobody has to look at twice: it is passed on in blocks. A comparison of
 * blocks sets all bits of the bytes for which it holds.
 */
#define TEXT_BLOCK 16
typedef uint8_t text_block __attribute__((vector_size(TEXT_BLOCK)));

static inline text_block text_block_at(const void *p)
{
	text_block v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline bool text_block_all(text_block held)
{
	uint64_t half[2];

	memcpy(half, &held, sizeof(half));
	return (half[0] & half[1]) == UINT64_MAX;
}

#define TEXT_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length of the well-formed UTF-8 sequence at s, which ends with a 0 byte; 0: it is none. */
size_t text_utf8_len(const char *s);

/* The code point of the n bytes at s. */
uint32_t text_code(const char *s, size_t n);

/*
 * Is the character at s, of n bytes (text_utf8_len()), one that is only shown? Not those that a
 * terminal obeys (C0, C1), that end a line, or that change the direction of the text around them.
 */
bool text_is_shown(const char *s, size_t n);

/*
 * Appends s as valid UTF-8 in one line: each byte that belongs to no character becomes U+FFFD, as
 * does a character that is not only shown; a control byte becomes a space.
 */
void text_put_clean(struct buf *b, const char *s);

#endif
