// SPDX-License-Identifier: MIT
#include "capture/arrays.h"

#include <sys/mman.h>

#define ROWS (4u << 20)
#define BLOCKS (1u << 20)

static void *zeroes(size_t n)
{
	void *at = mmap(NULL, n, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

bool arrays_open(struct unwind_arrays *a)
{
	*a = (struct unwind_arrays){
		.n_rows = ROWS,
		.n_blocks = BLOCKS,
		.rows = zeroes(ROWS * sizeof(*a->rows)),
		.blocks = zeroes(BLOCKS * sizeof(*a->blocks)),
		.rules = zeroes(UNWIND_RULES * sizeof(*a->rules)),
		.objects = zeroes(UNWIND_OBJECTS * sizeof(*a->objects)),
	};
	return a->rows && a->blocks && a->rules && a->objects;
}

void arrays_close(struct unwind_arrays *a)
{
	if (a->rows)
		munmap(a->rows, ROWS * sizeof(*a->rows));
	if (a->blocks)
		munmap(a->blocks, BLOCKS * sizeof(*a->blocks));
	if (a->rules)
		munmap(a->rules, UNWIND_RULES * sizeof(*a->rules));
	if (a->objects)
		munmap(a->objects, UNWIND_OBJECTS * sizeof(*a->objects));
	*a = (struct unwind_arrays){0};
}
