/* SPDX-License-Identifier: MIT */
/*
 * A table of strings, each there once, as formats refer to them by number. All are clean UTF-8
 * (base/text.h), whatever they came from. Number 0 is "".
 */
#ifndef THAW_EXPORT_STRINGS_H
#define THAW_EXPORT_STRINGS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"

struct strings {
	struct buf text; /* one after another, with their terminators */
	struct buf scratch;
	VEC(size_t) at;
	struct map by_text;
};

void strings_init(struct strings *s);
void strings_done(struct strings *s);

/* NULL is "". */
uint32_t strings_of(struct strings *s, const char *text);
uint32_t strings_printf(struct strings *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static inline const char *strings_at(const struct strings *s, uint32_t number)
{
	return (const char *)s->text.p + s->at.v[number];
}

#endif
