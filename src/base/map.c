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

/* The slot in which `key` is, or would be. `key` is not 0, and there are slots. */
static inline size_t map_find(const struct map *m, uint64_t key)
{
	size_t i = home(m, key);

	while (m->slots[i].key && m->slots[i].key != key)
		i = (i + 1) & m->mask;
	return i;
}

uint64_t *map_get(const struct map *m, uint64_t key)
{
	size_t i;

	if (!key)
		return m->has_zero ? (uint64_t *)&m->zero.val : NULL;
	if (!m->slots)
		return NULL;
	i = map_find(m, key);
	return m->slots[i].key ? &m->slots[i].val : NULL;
}

static __attribute__((noinline)) void resize(struct map *m, size_t room)
{
	struct map old = *m;

	m->slots = mem_zalloc(room * sizeof(*m->slots));
	m->mask = room - 1;
	for (size_t i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].key)
			m->slots[map_find(m, old.slots[i].key)] = old.slots[i];
	free(old.slots);
}

static uint64_t *put_zero(struct map *m, bool *ret_new)
{
	if (ret_new)
		*ret_new = !m->has_zero;
	if (!m->has_zero) {
		m->has_zero = true;
		m->zero.val = 0;
		m->n++;
	}
	return &m->zero.val;
}

uint64_t *map_put(struct map *m, uint64_t key, bool *ret_new)
{
	struct map_slot *slot;

	if (__builtin_expect(!key, 0))
		return put_zero(m, ret_new);
	if (__builtin_expect((m->n + 1) * 4 > (m->mask + 1) * 3 || !m->slots, 0))
		resize(m, m->slots ? (m->mask + 1) * 2 : 64);
	slot = &m->slots[map_find(m, key)];
	if (ret_new)
		*ret_new = !slot->key;
	if (!slot->key) {
		*slot = (struct map_slot){.key = key};
		m->n++;
	}
	return &slot->val;
}

static bool del_zero(struct map *m)
{
	bool had = m->has_zero;

	m->n -= had;
	m->has_zero = false;
	return had;
}

bool map_del(struct map *m, uint64_t key)
{
	size_t hole, i;

	if (!key)
		return del_zero(m);
	if (!m->slots)
		return false;
	hole = map_find(m, key);
	if (!m->slots[hole].key)
		return false;
	for (i = (hole + 1) & m->mask; m->slots[i].key; i = (i + 1) & m->mask) {
		size_t h = home(m, m->slots[i].key);

		/* An entry may fill the hole unless its home comes after the hole. */
		if (((i - h) & m->mask) >= ((i - hole) & m->mask)) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].key = 0;
	m->n--;
	return true;
}

void map_clear(struct map *m)
{
	if (m->slots && m->n)
		memset(m->slots, 0, (m->mask + 1) * sizeof(*m->slots));
	m->has_zero = false;
	m->n = 0;
}

void map_done(struct map *m)
{
	free(m->slots);
	*m = (struct map){0};
}

/* Position 0 is that of the key 0. */
bool map_next(const struct map *m, size_t *pos, struct map_slot **ret_slot)
{
	if (!*pos) {
		*pos = 1;
		if (m->has_zero) {
			*ret_slot = (struct map_slot *)&m->zero;
			return true;
		}
	}
	for (; m->slots && *pos <= m->mask + 1; (*pos)++) {
		if (!m->slots[*pos - 1].key)
			continue;
		*ret_slot = &m->slots[(*pos)++ - 1];
		return true;
	}
	return false;
}
