// SPDX-License-Identifier: MIT
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

uint64_t map_hash_bytes(const void *p, size_t n)
{
	const uint8_t *b = p;
	uint64_t h = 0xcbf29ce484222325ull ^ n;

	for (size_t i = 0; i < n; i++)
		h = (h ^ b[i]) * 0x100000001b3ull;
	return map_mix(h);
}

static inline size_t home(const struct map *m, uint64_t key)
{
	return map_mix(key) & m->mask;
}

static inline size_t find(const struct map *m, uint64_t key)
{
	size_t i = home(m, key);

	while (m->used[i] && m->slots[i].key != key)
		i = (i + 1) & m->mask;
	return i;
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
	size_t i;

	if (!m->n)
		return NULL;
	i = find(m, key);
	return m->used[i] ? &m->slots[i].val : NULL;
}

static __attribute__((noinline)) void resize(struct map *m, size_t room)
{
	struct map old = *m;

	m->slots = mem_alloc(room * sizeof(*m->slots));
	m->used = mem_zalloc(room);
	m->mask = room - 1;
	for (size_t i = 0; old.slots && i <= old.mask; i++) {
		if (!old.used[i])
			continue;
		size_t j = find(m, old.slots[i].key);

		m->used[j] = 1;
		m->slots[j] = old.slots[i];
	}
	free(old.slots);
	free(old.used);
}

uint64_t *map_put(struct map *m, uint64_t key, bool *ret_new)
{
	size_t i;

	if (__builtin_expect((m->n + 1) * 4 > (m->mask + 1) * 3 || !m->slots, 0))
		resize(m, m->slots ? (m->mask + 1) * 2 : 64);
	i = find(m, key);
	if (ret_new)
		*ret_new = !m->used[i];
	if (!m->used[i]) {
		m->used[i] = 1;
		m->slots[i] = (struct map_slot){.key = key};
		m->n++;
	}
	return &m->slots[i].val;
}

bool map_del(struct map *m, uint64_t key)
{
	size_t hole, i;

	if (!m->n)
		return false;
	hole = find(m, key);
	if (!m->used[hole])
		return false;
	for (i = (hole + 1) & m->mask; m->used[i]; i = (i + 1) & m->mask) {
		size_t h = home(m, m->slots[i].key);

		/* An entry may fill the hole unless its home lies behind the hole. */
		if (((i - h) & m->mask) >= ((i - hole) & m->mask)) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->used[hole] = 0;
	m->n--;
	return true;
}

void map_clear(struct map *m)
{
	if (m->used)
		memset(m->used, 0, m->mask + 1);
	m->n = 0;
}

void map_done(struct map *m)
{
	free(m->slots);
	free(m->used);
	*m = (struct map){0};
}

bool map_next(const struct map *m, size_t *pos, struct map_slot **ret_slot)
{
	for (; m->slots && *pos <= m->mask; (*pos)++) {
		if (!m->used[*pos])
			continue;
		*ret_slot = &m->slots[(*pos)++];
		return true;
	}
	return false;
}
