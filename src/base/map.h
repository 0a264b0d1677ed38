/* SPDX-License-Identifier: MIT */
/*
 * A hash map from a 64-bit key to a 64-bit value (an index, an id or a pointer). Open addressing,
 * linear probing, deletion by shifting back: no tombstones, so that a long recording with millions
 * of threads that come and go stays as fast as at its start.
 */
#ifndef THAW_BASE_MAP_H
#define THAW_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
	uint64_t key;
	uint64_t val;
};

struct map {
	struct map_slot *slots; /* key 0: a free one; the entry of that key is in `zero` */
	size_t n;
	size_t mask;
	struct map_slot zero;
	bool has_zero;
};

/* The value's place, or NULL. Valid until the next map_put() or map_del(). */
uint64_t *map_get(const struct map *m, uint64_t key);
/* The value's place, made (as zero) if it was not there; *ret_new says so when not NULL. */
uint64_t *map_put(struct map *m, uint64_t key, bool *ret_new);
bool map_del(struct map *m, uint64_t key);
void map_clear(struct map *m);
void map_done(struct map *m);

/* Walks the entries in table order: for (size_t i = 0; map_next(m, &i, &slot);) */
bool map_next(const struct map *m, size_t *pos, struct map_slot **ret_slot);

/* The finaliser of splitmix64: every input bit reaches every output bit. */
static inline uint64_t map_mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

uint64_t map_hash_bytes(const void *p, size_t n);

#endif
