// SPDX-License-Identifier: MIT
/* The columns of wire/event.def as tables: see columns.h. */
#include "store/columns.h"
#include "store/inspect.h"

#include <assert.h>

static_assert(COLUMNS <= 255 && EV_KINDS <= 255, "columns and kinds are kept in a byte");

/* clang-format off */
const struct column_desc columns[COLUMNS] = {
#define EVENT(id, UPPER, lower, text, words)
#define FIELD(UPPER, lower, id, name, ctype, codec_)                                     \
	[COL_##UPPER##_##name] = {EV_##UPPER, id, CODEC_##codec_, sizeof(ctype),          \
				  offsetof(struct event, lower.name)},
#define EVENT_END(UPPER, lower)
#include "wire/event.def"
};

const struct kind_desc kinds[EV_KINDS] = {
#define EVENT(id, UPPER, lower, text, words) [EV_##UPPER] = {COL_FIRST_##UPPER, COL_END_##UPPER},
#define FIELD(UPPER, lower, id, name, ctype, codec)
#define EVENT_END(UPPER, lower)
#include "wire/event.def"
};
/* clang-format on */

const char *event_name(unsigned kind)
{
	switch (kind) {
#define EVENT(id, UPPER, lower, text, words)                                                       \
	case id:                                                                                   \
		return text;
#define FIELD(UPPER, lower, id, name, ctype, codec)
#define EVENT_END(UPPER, lower)
#include "wire/event.def"
	}
	return "unknown";
}
