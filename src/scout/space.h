/* SPDX-License-Identifier: MIT */
/*
 * The pieces of code that a process has mapped: sorted, disjoint, found by address.
 *
 * After a fork, processes share a space until one of them changes it, and then still share what has
 * not changed. A process may have tens of thousands of mappings and replace one after the other, so
 * a change must not cost a copy of all: they are kept in chunks, of which it touches one.
 */
#ifndef THAW_SCOUT_SPACE_H
#define THAW_SCOUT_SPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/types.h"

struct mapped_range {
	uint64_t start, end, pgoff;
	uint32_t module;
	enum module_kind kind;
};

struct space;

struct space *space_new(uint64_t version);
struct space *space_ref(struct space *s);
void space_put(struct space *s);
/* A space with the same mappings that nobody shares, to be changed. Takes the old one over. */
struct space *space_own(struct space *s, uint64_t version);

uint64_t space_version(const struct space *s);
size_t space_count(const struct space *s);
/* Replaces what is mapped there. */
void space_insert(struct space *s, struct mapped_range r);
/* NULL: nothing is mapped there. Valid until the next change. */
const struct mapped_range *space_at(const struct space *s, uint64_t addr);
/* Is anything mapped in [start, end)? */
bool space_overlaps(const struct space *s, uint64_t start, uint64_t end);
/* In the order of addresses; *pos begins with 0. NULL: that was the last. */
struct space_pos {
	size_t chunk, at;
};
const struct mapped_range *space_next(const struct space *s, struct space_pos *pos);

#endif
