// SPDX-License-Identifier: MIT
/* Blocks of memory that live and die together, and interned strings: see pool.h. */
#include "store/pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"

enum { BLOCK_BYTES = 64 << 10, ALIGN = 16 };

struct pool_block {
	struct pool_block *next;
	_Alignas(ALIGN) char bytes[];
};

void *pool_alloc(struct pool *p, size_t n)
{
	size_t need = (n + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	void *at;

	if (p->room - p->used < need) {
		size_t room = need > BLOCK_BYTES ? need : BLOCK_BYTES;
		struct pool_block *b = mem_alloc(sizeof(*b) + room);

		b->next = p->blocks;
		p->blocks = b;
		p->used = 0;
		p->room = room;
	}
	at = p->blocks->bytes + p->used;
	p->used += need;
	return at;
}

static size_t pool_find(const struct pool *p, const char *s, size_t n)
{
	size_t i = (size_t)map_hash_bytes(s, n) & p->mask;

	for (; p->slots[i]; i = (i + 1) & p->mask) {
		uint32_t k = p->slots[i] - 1;

		if (p->lens[k] == n && !memcmp(p->strings[k], s, n))
			break;
	}
	return i;
}

static void pool_grow(struct pool *p)
{
	size_t room = p->slots ? 2 * (p->mask + 1) : 256;

	free(p->slots);
	p->slots = mem_zalloc(room * sizeof(*p->slots));
	p->mask = room - 1;
	p->strings = mem_grow(p->strings, room, sizeof(*p->strings));
	p->lens = mem_grow(p->lens, room, sizeof(*p->lens));
	for (size_t k = 0; k < p->n_strings; k++)
		p->slots[pool_find(p, p->strings[k], p->lens[k])] = (uint32_t)k + 1;
}

uint32_t pool_intern(struct pool *p, const char *s, size_t n)
{
	size_t i;
	char *copy;

	if (!p->slots || 2 * p->n_strings > p->mask)
		pool_grow(p);
	i = pool_find(p, s, n);
	if (p->slots[i])
		return p->slots[i] - 1;
	copy = pool_alloc(p, n + 1);
	memcpy(copy, s, n);
	copy[n] = '\0';
	p->strings[p->n_strings] = copy;
	p->lens[p->n_strings] = (uint32_t)n;
	p->slots[i] = (uint32_t)++p->n_strings;
	return (uint32_t)p->n_strings - 1;
}

const char *pool_str(struct pool *p, const char *s, size_t n)
{
	uint32_t i = pool_intern(p, s, n);

	return p->strings[i];
}

void pool_done(struct pool *p)
{
	while (p->blocks) {
		struct pool_block *next = p->blocks->next;

		free(p->blocks);
		p->blocks = next;
	}
	free(p->strings);
	free(p->lens);
	free(p->slots);
	*p = (struct pool){0};
}
