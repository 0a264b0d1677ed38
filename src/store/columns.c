// SPDX-License-Identifier: MIT
/* The columns of wire/event.def as tables: see columns.h. */
#include "store/columns.h"
#include "store/fields.h"
#include "store/inspect.h"

#include <assert.h>

static_assert(COLUMNS <= 255 && EV_KINDS <= 255, "columns and kinds are kept in a byte");

/* clang-format off */
const struct column_desc columns[COLUMNS] = {
#define EVENT(id, UPPER, lower, text, words, group)
#define FIELD(UPPER, lower, id, name, ctype, codec_, role_)                                     \
	[COL_##UPPER##_##name] = {EV_##UPPER, id, CODEC_##codec_, sizeof(ctype),          \
				  ROLE_##role_, offsetof(struct event, lower.name)},
#define EVENT_END(UPPER, lower)
#include "wire/event.def"
};

const struct kind_desc kinds[EV_KINDS] = {
#define EVENT(id, UPPER, lower, text, words, group) [EV_##UPPER] = {COL_FIRST_##UPPER, COL_END_##UPPER, GROUP_##group},
#define FIELD(UPPER, lower, id, name, ctype, codec, role)
#define EVENT_END(UPPER, lower)
#include "wire/event.def"
};
/* clang-format on */

bool event_field(unsigned kind, unsigned i, struct event_field *ret)
{
	unsigned column = kind_known(kind) ? kinds[kind].first + i : COLUMNS;

	if (column >= COLUMNS || column >= kinds[kind].end)
		return false;
	*ret = (struct event_field){.role = columns[column].role, .offset = columns[column].offset};
	return true;
}

enum event_group event_group(unsigned kind)
{
	return kind_known(kind) ? kinds[kind].group : GROUP_REST;
}

const char *event_name(unsigned kind)
{
	switch (kind) {
#define EVENT(id, UPPER, lower, text, words, group)                                                \
	case id:                                                                                   \
		return text;
#define FIELD(UPPER, lower, id, name, ctype, codec, role)
#define EVENT_END(UPPER, lower)
#include "wire/event.def"
	}
	return "unknown";
}
