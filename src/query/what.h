/* SPDX-License-Identifier: MIT */
/*
 * One number for what a call, a node of a flame graph or a piece of a chart is, and the list of
 * their names in an answer, each name once.
 */
#ifndef THAW_QUERY_WHAT_H
#define THAW_QUERY_WHAT_H

#include "base/json.h"
#include "model/model.h"

/* Its kind is in the upper two bits. */
#define WHAT_KIND 0xc0000000u
#define WHAT_FRAME 0u /* function << 1 | inlined */
#define WHAT_REASON 0x40000000u
#define WHAT_THREAD 0x80000000u
#define WHAT_OTHER 0xc0000000u
#define WHAT_ROOT (WHAT_OTHER | 0)
#define WHAT_NO_STACK (WHAT_OTHER | 1)
#define WHAT_SMALL (WHAT_OTHER | 2)

static inline bool what_is_frame(uint32_t what)
{
	return (what & WHAT_KIND) == WHAT_FRAME;
}

static inline uint32_t what_function(uint32_t what)
{
	return what >> 1;
}

struct what_names {
	VEC(char *) names;
	VEC(const char *) modules;
	struct map by_what, by_module;
};

/* Places in the lists. */
size_t what_name(struct what_names *n, const struct model *m, uint32_t what);
size_t what_module(struct what_names *n, const struct model *m, uint32_t what);
/* "names" and "modules", into an object that is open. */
void what_names_put(const struct what_names *n, struct json *j);
void what_names_done(struct what_names *n);

#endif
