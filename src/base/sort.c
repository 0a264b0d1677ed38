// SPDX-License-Identifier: MIT
/*
 * By a number: a radix sort, lowest digit first; each pass keeps the order of the pass before.
 * By comparing: a merge of addresses, so that large things are moved only once.
 */
#include "base/sort.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, FEW = 48, FEW_MERGED = 8 };

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

struct sort_order {
	int (*compare)(const void *, const void *, void *);
	void *arg;
};

static void insert_addresses(const char **v, size_t n, const struct sort_order *o)
{
	for (size_t i = 1; i < n; i++) {
		const char *p = v[i];
		size_t j = i;

		for (; j && o->compare(v[j - 1], p, o->arg) > 0; j--)
			v[j] = v[j - 1];
		v[j] = p;
	}
}

/* `room` holds half of them. */
static void merge_addresses(const char **v, size_t n, const char **room, const struct sort_order *o)
{
	size_t half = n / 2, a = 0, b = half, to = 0;

	if (n <= FEW_MERGED) {
		insert_addresses(v, n, o);
		return;
	}
	merge_addresses(v, half, room, o);
	merge_addresses(v + half, n - half, room, o);
	if (o->compare(v[half - 1], v[half], o->arg) <= 0)
		return;
	memcpy(room, v, half * sizeof(*v));
	while (a < half && b < n)
		v[to++] = o->compare(room[a], v[b], o->arg) <= 0 ? room[a++] : v[b++];
	memcpy(v + to, room + a, (half - a) * sizeof(*v));
}

void sort_with(void *v, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
	       void *arg)
{
	const struct sort_order o = {compare, arg};
	const char **order;
	char *sorted;

	if (n < 2)
		return;
	order = mem_alloc((n + n / 2) * sizeof(*order));
	for (size_t i = 0; i < n; i++)
		order[i] = (const char *)v + i * size;
	merge_addresses(order, n, order + n, &o);
	sorted = mem_alloc(n * size);
	for (size_t i = 0; i < n; i++)
		memcpy(sorted + i * size, order[i], size);
	memcpy(v, sorted, n * size);
	free(sorted);
	free(order);
}

static int compare_two(const void *a, const void *b, void *arg)
{
	int (*const *compare)(const void *, const void *) = arg;

	return (*compare)(a, b);
}

void sort_by(void *v, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	sort_with(v, n, size, compare_two, &compare);
}
