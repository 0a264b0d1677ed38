// SPDX-License-Identifier: MIT
#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void buf_reserve(struct buf *b, size_t more)
{
	size_t want = b->len + more;

	if (want <= b->room)
		return;
	b->room = b->room * 2 > want ? b->room * 2 : want < 64 ? 64 : want;
	b->p = mem_grow(b->p, b->room, 1);
}

void buf_put(struct buf *b, const void *p, size_t n)
{
	if (!n)
		return;
	buf_reserve(b, n);
	memcpy(b->p + b->len, p, n);
	b->len += n;
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap, again;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n > 0) {
		buf_reserve(b, (size_t)n + 1);
		vsnprintf((char *)b->p + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
	}
	va_end(again);
}

void buf_put_str(struct buf *b, const char *s)
{
	size_t n = strlen(s);

	buf_put_varint(b, n);
	buf_put(b, s, n);
}

const char *buf_cstr(struct buf *b)
{
	buf_reserve(b, 1);
	b->p[b->len] = '\0';
	return (const char *)b->p;
}

void buf_done(struct buf *b)
{
	free(b->p);
	*b = (struct buf){0};
}
