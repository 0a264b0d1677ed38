// SPDX-License-Identifier: MIT
/*
 * Names of frames in memory. An address is found through a hash table of entries; symbols and their
 * strings lie in a pool, so that what symtab_find() returned stays valid while others are added.
 */
#include "store/symtab_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "store/pool.h"

struct symtab {
	struct pool pool;
	struct symtab_entry *entries;
	size_t n;
	uint32_t *slots; /* index + 1; 0: free */
	size_t mask;
	struct symdata data;
};

struct symtab *symtab_new(void)
{
	return mem_zalloc(sizeof(struct symtab));
}

void symtab_free(struct symtab *st)
{
	if (!st)
		return;
	pool_done(&st->pool);
	symdata_done(&st->data);
	free(st->entries);
	free(st->slots);
	free(st);
}

static size_t store_symtab_find(const struct symtab *st, uint32_t module, uint64_t offset)
{
	size_t i = (size_t)map_mix(map_mix(offset) + module) & st->mask;

	for (; st->slots[i]; i = (i + 1) & st->mask) {
		const struct symtab_entry *e = &st->entries[st->slots[i] - 1];

		if (e->module == module && e->offset == offset)
			break;
	}
	return i;
}

static void symtab_grow(struct symtab *st)
{
	size_t room = st->slots ? 2 * (st->mask + 1) : 256;

	free(st->slots);
	st->slots = mem_zalloc(room * sizeof(*st->slots));
	st->mask = room - 1;
	st->entries = mem_grow(st->entries, room, sizeof(*st->entries));
	for (size_t k = 0; k < st->n; k++)
		st->slots[store_symtab_find(st, st->entries[k].module, st->entries[k].offset)] =
			(uint32_t)k + 1;
}

static const char *symtab_keep(struct symtab *st, const char *s)
{
	return s ? pool_str(&st->pool, s, strlen(s)) : NULL;
}

void symtab_add(struct symtab *st, uint32_t module, uint64_t offset, const struct symbol *syms,
		size_t n)
{
	struct symbol *copy;
	size_t i;

	if (!n)
		return;
	if (n > SYMBOLS_PER_FRAME_MAX)
		n = SYMBOLS_PER_FRAME_MAX;
	if (!st->slots || 2 * st->n > st->mask)
		symtab_grow(st);
	i = store_symtab_find(st, module, offset);
	if (st->slots[i])
		return;
	copy = pool_alloc(&st->pool, n * sizeof(*copy));
	for (size_t k = 0; k < n; k++)
		copy[k] = (struct symbol){.name = symtab_keep(st, syms[k].name ? syms[k].name : ""),
					  .file = symtab_keep(st, syms[k].file),
					  .line = syms[k].line,
					  .inlined = syms[k].inlined};
	st->entries[st->n] = (struct symtab_entry){module, (uint32_t)n, offset, copy};
	st->slots[i] = (uint32_t)++st->n;
}

size_t symtab_find(const struct symtab *st, uint32_t module, uint64_t offset,
		   const struct symbol **ret_syms)
{
	size_t i;

	if (!st || !st->n)
		return 0;
	i = store_symtab_find(st, module, offset);
	if (!st->slots[i])
		return 0;
	*ret_syms = st->entries[st->slots[i] - 1].syms;
	return st->entries[st->slots[i] - 1].n;
}

size_t symtab_count(const struct symtab *st)
{
	return st ? st->n : 0;
}

const struct symtab_entry *symtab_entries(const struct symtab *st)
{
	return st->entries;
}

struct symdata *symtab_data(struct symtab *st)
{
	return &st->data;
}

void symtab_add_data(struct symtab *st, uint32_t module, const struct data_symbol *d)
{
	symdata_add(&st->data, module, d);
}

const struct data_symbol *symtab_find_data(struct symtab *st, uint32_t module, uint64_t address)
{
	return st ? symdata_find(&st->data, module, address) : NULL;
}

size_t symtab_data_count(struct symtab *st)
{
	return st ? symdata_count(&st->data) : 0;
}
