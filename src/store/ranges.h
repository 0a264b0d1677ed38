/* SPDX-License-Identifier: MIT */
/*
 * Maps the indices of a table in a file to places in memory. A file's indices go up without gaps,
 * unless a chunk is damaged: then what follows keeps its number, and the missing ones have no
 * place.
 */
#ifndef THAW_STORE_RANGES_H
#define THAW_STORE_RANGES_H

#include "base/search.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct range {
	uint32_t first, n;
	size_t place;
};

struct ranges {
	VEC(struct range) list;
	size_t places;
	uint32_t last; /* the largest index so far */
};

/* False if the indices do not go up, or above `max`. */
static inline bool ranges_add(struct ranges *r, uint64_t first, uint64_t n, uint64_t max)
{
	if (max > UINT32_MAX)
		max = UINT32_MAX;
	if (first <= r->last || first > max || n > max - first + 1)
		return false;
	if (!n)
		return true;
	if (r->list.n && first == (uint64_t)r->last + 1)
		r->list.v[r->list.n - 1].n += (uint32_t)n;
	else
		vec_push(&r->list, (struct range){(uint32_t)first, (uint32_t)n, r->places});
	r->places += (size_t)n;
	r->last = (uint32_t)(first + n - 1);
	return true;
}

static inline bool ranges_find(const struct ranges *r, uint32_t index, size_t *ret_place)
{
	size_t at = SEARCH(0, r->list.n, i, r->list.v[i].first <= index);
	const struct range *g = at ? &r->list.v[at - 1] : NULL;

	if (!g || index - g->first >= g->n)
		return false;
	*ret_place = g->place + (index - g->first);
	return true;
}

#endif
