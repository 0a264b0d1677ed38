// SPDX-License-Identifier: MIT
/* A radix sort, lowest digit first: each pass keeps the order of the pass before. */
#include "base/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, FEW = 48 };

static void insert_each(struct sort_key *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct sort_key k = v[i];
		size_t j = i;

		for (; j && v[j - 1].key > k.key; j--)
			v[j] = v[j - 1];
		v[j] = k;
	}
}

/* All bits in which keys differ, relative to the least; false: they are in order. */
static bool spread_of(const struct sort_key *v, size_t n, uint64_t *ret_least, uint64_t *ret_bits)
{
	uint64_t least = v[0].key, most = v[0].key;
	bool disorder = false;

	for (size_t i = 1; i < n; i++) {
		disorder |= v[i].key < v[i - 1].key;
		least = v[i].key < least ? v[i].key : least;
		most = v[i].key > most ? v[i].key : most;
	}
	*ret_least = least;
	*ret_bits = most - least;
	return disorder;
}

static void sort_digit(const struct sort_key *v, size_t n, struct sort_key *to, uint64_t least,
		       unsigned shift)
{
	size_t at[DIGITS] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		at[(v[i].key - least) >> shift & (DIGITS - 1)]++;
	for (size_t i = 0; i < DIGITS; i++) {
		size_t here = at[i];

		at[i] = sum;
		sum += here;
	}
	for (size_t i = 0; i < n; i++)
		to[at[(v[i].key - least) >> shift & (DIGITS - 1)]++] = v[i];
}

void sort_keys(struct sort_key *v, size_t n)
{
	struct sort_key *room, *from = v, *to;
	uint64_t least, bits;

	if (n <= FEW) {
		insert_each(v, n);
		return;
	}
	if (!spread_of(v, n, &least, &bits))
		return;
	room = to = mem_alloc(n * sizeof(*room));
	for (unsigned shift = 0; shift < 64 && bits >> shift; shift += DIGIT_BITS) {
		struct sort_key *done = to;

		sort_digit(from, n, to, least, shift);
		to = from;
		from = done;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
	free(room);
}
