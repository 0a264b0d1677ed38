// SPDX-License-Identifier: MIT
#include "engine/arrays.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"

#define SHELF_BYTES (SHELF_WORDS * 4ull)
#define SHARE 32u
#define SHELVES_MIN 4u

/* The shelves of one `struct unwind_arrays`: its ctx. */
struct own_shelves {
	uint32_t now;
	uint32_t *at[SHELVES_MAX];
};

uint32_t arrays_max_shelves(uint64_t asked)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	uint64_t memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
	uint64_t n = asked ? (asked + SHELF_BYTES - 1) / SHELF_BYTES : memory / SHARE / SHELF_BYTES;

	if (!asked && n < SHELVES_MIN)
		n = SHELVES_MIN;
	return n < SHELVES_MAX ? (uint32_t)n : SHELVES_MAX;
}

static void *zeroes(size_t n)
{
	void *at = mmap(NULL, n, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static uint32_t *own_shelf(void *ctx, uint32_t i)
{
	struct own_shelves *own = ctx;

	if (!own->at[i])
		own->at[i] = zeroes(SHELF_BYTES);
	return own->at[i];
}

bool arrays_open(struct unwind_arrays *a, uint64_t asked)
{
	struct own_shelves *own = mem_zalloc(sizeof(*own));

	*a = (struct unwind_arrays){
		.objects = zeroes(UNWIND_OBJECTS * sizeof(*a->objects)),
		.now = &own->now,
		.shelf = own_shelf,
		.ctx = own,
		.max_shelves = arrays_max_shelves(asked),
	};
	return a->objects;
}

void arrays_close(struct unwind_arrays *a)
{
	struct own_shelves *own = a->ctx;

	if (a->objects)
		munmap(a->objects, UNWIND_OBJECTS * sizeof(*a->objects));
	for (uint32_t i = 0; own && i < SHELVES_MAX; i++)
		if (own->at[i])
			munmap(own->at[i], SHELF_BYTES);
	free(own);
	*a = (struct unwind_arrays){0};
}
