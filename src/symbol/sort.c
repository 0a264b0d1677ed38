// SPDX-License-Identifier: MIT
/*
 * Offsets in order. A million of them take longer to compare with each other than to name, so they
 * are not compared: they are dealt out by their lowest byte, then by the next, and so on. Offsets
 * of one file differ in three or four bytes; the others are the same in all, and are left alone.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/symbol.h"

#define BYTES 8

struct piles {
	size_t count[BYTES][256];
};

static void deal(const uint64_t *from, uint64_t *to, size_t n, const size_t *count, unsigned byte)
{
	size_t at[256], sum = 0;

	for (unsigned d = 0; d < 256; d++) {
		at[d] = sum;
		sum += count[d];
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i] >> (8 * byte) & 0xff]++] = from[i];
}

static size_t once(uint64_t *v, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		if (!kept || v[kept - 1] != v[i])
			v[kept++] = v[i];
	return kept;
}

size_t symbols_order_offsets(uint64_t *offsets, size_t n)
{
	struct piles *p;
	uint64_t *from = offsets, *to, *other, *swap;

	if (n < 2)
		return n;
	p = mem_zalloc(sizeof(*p));
	other = to = mem_alloc(n * sizeof(*to));
	for (size_t i = 0; i < n; i++)
		for (unsigned b = 0; b < BYTES; b++)
			p->count[b][offsets[i] >> (8 * b) & 0xff]++;
	for (unsigned b = 0; b < BYTES; b++) {
		if (p->count[b][offsets[0] >> (8 * b) & 0xff] == n)
			continue;
		deal(from, to, n, p->count[b], b);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != offsets)
		memcpy(offsets, from, n * sizeof(*offsets));
	free(other);
	free(p);
	return once(offsets, n);
}
