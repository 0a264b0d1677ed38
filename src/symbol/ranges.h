/* SPDX-License-Identifier: MIT */
/*
 * Ranges of addresses that may overlap become disjoint ones, once, so that a lookup is a binary
 * search. Where two overlap, the one that begins last wins, and after its end the other goes on;
 * of two that begin together, the one that was added last. Private to symbol/.
 */
#ifndef THAW_SYMBOL_RANGES_H
#define THAW_SYMBOL_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct symbol_range {
	uint64_t begin, end;
	uint32_t id;
	uint32_t order; /* of adding: breaks ties */
};

struct symbol_ranges {
	VEC(struct symbol_range) in;
	VEC(struct symbol_range) out; /* sorted, disjoint */
};

void ranges_add(struct symbol_ranges *r, uint64_t begin, uint64_t end, uint32_t id);
void ranges_build(struct symbol_ranges *r);
/* The range that holds the address, or NULL; *ret_next is then where the next one begins. */
const struct symbol_range *ranges_find(const struct symbol_ranges *r, uint64_t at,
				       uint64_t *ret_next);
/* The same, fastest if `at` mostly grows from call to call. *hint is 0 at first. */
const struct symbol_range *ranges_find_from(const struct symbol_ranges *r, size_t *hint,
					    uint64_t at, uint64_t *ret_next);
void ranges_done(struct symbol_ranges *r);

#endif
