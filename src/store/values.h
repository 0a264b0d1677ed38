/* SPDX-License-Identifier: MIT */
/*
 * Integers on their way into a column, each as wide as the widest of them needs. Most columns hold
 * small numbers: kept in a byte each, they stay in the CPU's caches, and packing them is cheap.
 */
#ifndef THAW_STORE_VALUES_H
#define THAW_STORE_VALUES_H

#include <stddef.h>
#include <stdint.h>

struct values {
	uint8_t *p;
	size_t n, room;
	unsigned shift; /* of their width: 1 << shift bytes */
};

/* `v` has integers of `size` bytes. */
void values_append(struct values *c, const void *v, size_t size, size_t n);
void values_set(struct values *c, size_t i, uint64_t v);
/* Forgets them. The next ones may be narrower. */
void values_clear(struct values *c);
void values_done(struct values *c);

#endif
