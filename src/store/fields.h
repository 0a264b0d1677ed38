/* SPDX-License-Identifier: MIT */
/*
 * The fields of events by their roles (wire/event.def), for code that prints, moves or follows them
 * without knowing each kind.
 */
#ifndef THAW_STORE_FIELDS_H
#define THAW_STORE_FIELDS_H

#include <stdbool.h>
#include <string.h>

#include "wire/event.h"

struct event_field {
	enum event_role role;
	uint16_t offset; /* in struct event */
};

/* The i-th field of a kind; false: there is none. */
bool event_field(unsigned kind, unsigned i, struct event_field *ret);
enum event_group event_group(unsigned kind);

/* Of roles that are 32 bits wide: threads, processes, stacks and modules. */
static inline uint32_t event_field_get(const struct event *ev, const struct event_field *f)
{
	uint32_t v;

	memcpy(&v, (const char *)ev + f->offset, sizeof(v));
	return v;
}

static inline void event_field_set(struct event *ev, const struct event_field *f, uint32_t v)
{
	memcpy((char *)ev + f->offset, &v, sizeof(v));
}

#endif
