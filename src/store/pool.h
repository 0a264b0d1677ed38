/* SPDX-License-Identifier: MIT */
/* Memory that is never freed alone and never moves, and strings of which each is kept once. */
#ifndef THAW_STORE_POOL_H
#define THAW_STORE_POOL_H

#include <stddef.h>
#include <stdint.h>

struct pool {
	struct pool_block *blocks;
	size_t used, room; /* of the newest block */
	/* Interned strings, in the order in which they came; slots hold index + 1. */
	const char **strings;
	uint32_t *lens;
	size_t n_strings;
	uint32_t *slots;
	size_t mask;
};

void pool_done(struct pool *p);

/* Aligned for anything; not cleared. */
void *pool_alloc(struct pool *p, size_t n);

/* The number of the string, terminated copy in strings[]. */
uint32_t pool_intern(struct pool *p, const char *s, size_t n);

/* A terminated copy, kept once. */
const char *pool_str(struct pool *p, const char *s, size_t n);

#endif
