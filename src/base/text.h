/* SPDX-License-Identifier: MIT */
/*
 * Names from outside (of threads, functions, files) as text that every reader takes: a thread may
 * be named anything, a symbol table may hold anything.
 */
#ifndef THAW_BASE_TEXT_H
#define THAW_BASE_TEXT_H

#include <stddef.h>

#include "base/buf.h"

#define TEXT_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length of the well-formed UTF-8 sequence at s, which ends with a 0 byte; 0: it is none. */
size_t text_utf8_len(const char *s);

/*
 * Appends s as valid UTF-8 in one line: each byte that belongs to no character becomes U+FFFD, a
 * control byte a space.
 */
void text_put_clean(struct buf *b, const char *s);

#endif
