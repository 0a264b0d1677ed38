// SPDX-License-Identifier: MIT
#include "base/mem.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_PAGE (2u << 20)

static void *mem_checked(void *p)
{
	if (!p) {
		fputs("thaw: out of memory\n", stderr);
		abort();
	}
	return p;
}

void *mem_alloc(size_t size)
{
	return mem_checked(malloc(size ? size : 1));
}

void *mem_zalloc(size_t size)
{
	return mem_checked(calloc(1, size ? size : 1));
}

void *mem_slab(size_t size)
{
	void *p = NULL;

	if (posix_memalign(&p, LARGE_PAGE, size))
		p = NULL;
	mem_checked(p);
	/* Only advice: without large pages it is memory like any other. */
	(void)madvise(p, size, MADV_HUGEPAGE);
	return p;
}

void *mem_grow(void *p, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size)
		return mem_checked(NULL);
	return mem_checked(realloc(p, n && size ? n * size : 1));
}

char *mem_strdup(const char *s)
{
	return mem_checked(strdup(s));
}

char *mem_strndup(const char *s, size_t n)
{
	return mem_checked(strndup(s, n));
}

void mem_be_thrifty(void)
{
#ifdef __GLIBC__
	/* Setting any of the two thresholds keeps glibc from raising both by what it has seen. */
	(void)mallopt(M_MMAP_THRESHOLD, 128 << 10);
	(void)mallopt(M_TRIM_THRESHOLD, 256 << 10);
	(void)mallopt(M_ARENA_MAX, 1);
#endif
}
