// SPDX-License-Identifier: MIT
#include "export/strings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void strings_init(struct strings *s)
{
	*s = (struct strings){0};
	strings_of(s, "");
}

void strings_done(struct strings *s)
{
	buf_done(&s->text);
	buf_done(&s->scratch);
	vec_done(&s->at);
	map_done(&s->by_text);
}

uint32_t strings_of(struct strings *s, const char *text)
{
	const char *clean;
	uint64_t key, *slot;
	bool fresh;

	buf_clear(&s->scratch);
	text_put_clean(&s->scratch, text ? text : "");
	clean = buf_cstr(&s->scratch);
	for (key = map_hash_bytes(clean, s->scratch.len);; key++) {
		slot = map_put(&s->by_text, key, &fresh);
		if (fresh || !strcmp(strings_at(s, (uint32_t)*slot), clean))
			break;
	}
	if (fresh) {
		*slot = s->at.n;
		vec_push(&s->at, s->text.len);
		buf_put(&s->text, clean, s->scratch.len + 1);
	}
	return (uint32_t)*slot;
}

uint32_t strings_printf(struct strings *s, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return strings_of(s, text);
}
