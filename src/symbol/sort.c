// SPDX-License-Identifier: MIT
/*
 * Offsets in order, each once. A million of them take longer to compare with each other than to
 * name, so they are not compared.
 *
 * Those of one file mostly lie close together, and many are the same: setting a bit for each, and
 * reading the bits back, is enough. Where the bits would take more memory than the offsets, a radix
 * sort goes byte by byte from the lowest; it skips bytes that are the same in all.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "symbol/symbol.h"

#define BYTES 8

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

static size_t order_far(uint64_t *offsets, size_t n)
{
	uint64_t *from = offsets, *to = mem_alloc(n * sizeof(*to)), *other = to, *swap;
	size_t count[256];

	for (unsigned b = 0; b < BYTES; b++) {
		memset(count, 0, sizeof(count));
		for (size_t i = 0; i < n; i++)
			count[offsets[i] >> (8 * b) & 0xff]++;
		if (count[offsets[0] >> (8 * b) & 0xff] == n)
			continue;
		deal(from, to, n, count, b);
		swap = from;
		from = to;
		to = swap;
	}
	if (from != offsets)
		memcpy(offsets, from, n * sizeof(*offsets));
	free(other);
	return once(offsets, n);
}

static size_t order_near(uint64_t *offsets, size_t n, uint64_t low, uint64_t high)
{
	size_t words = (size_t)((high - low) / 64 + 1), kept = 0;
	uint64_t *bits = mem_zalloc(words * sizeof(*bits));

	for (size_t i = 0; i < n; i++)
		bits[(offsets[i] - low) / 64] |= 1ull << ((offsets[i] - low) & 63);
	for (size_t w = 0; w < words; w++)
		for (uint64_t left = bits[w]; left; left &= left - 1)
			offsets[kept++] = low + 64 * w + (unsigned)__builtin_ctzll(left);
	free(bits);
	return kept;
}

size_t symbols_order_offsets(uint64_t *offsets, size_t n)
{
	uint64_t low, high;

	if (n < 2)
		return n;
	low = high = offsets[0];
	for (size_t i = 1; i < n; i++) {
		low = offsets[i] < low ? offsets[i] : low;
		high = offsets[i] > high ? offsets[i] : high;
	}
	if ((high - low) / 64 < n)
		return order_near(offsets, n, low, high);
	return order_far(offsets, n);
}
