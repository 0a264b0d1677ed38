// SPDX-License-Identifier: MIT
/*
 * What the engine inside of a page has instead of the parts of thaw, of zstd and zlib, and of a C
 * library that need a system below them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "host.h"
#include "store/expand.h"
#include "store/format.h"

/* The sums were checked when the page was made. */
uint32_t format_crc(const void *p, size_t n)
{
	return 0;
}

static char nothing;

struct expander *expander_new(void)
{
	return (struct expander *)&nothing;
}

void expander_free(struct expander *e)
{
}

int expander_run(struct expander *e, const void *frame, size_t n, void *into, size_t bytes)
{
	return err_set(-EBADMSG, "compressed, which a page cannot read");
}

/*
 * This C library's printf() would complain on stderr that it has no long double, if it were asked
 * for one. A page has no stderr: these functions stand in for what its streams need.
 */
size_t __stdio_write(FILE *f, const unsigned char *p, size_t n)
{
	return 0;
}

off_t __stdio_seek(FILE *f, off_t offset, int whence)
{
	return -1;
}

int __stdio_close(FILE *f)
{
	return 0;
}

static void *checked(void *p)
{
	if (!p)
		__builtin_trap();
	return p;
}

void *mem_alloc(size_t size)
{
	return checked(malloc(size ? size : 1));
}

void *mem_zalloc(size_t size)
{
	return checked(calloc(1, size ? size : 1));
}

void *mem_slab(size_t size)
{
	return mem_alloc(size);
}

void *mem_grow(void *p, size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size)
		return checked(NULL);
	return checked(realloc(p, n && size ? n * size : 1));
}

char *mem_strdup(const char *s)
{
	return checked(strdup(s));
}

char *mem_strndup(const char *s, size_t n)
{
	return checked(strndup(s, n));
}

/* There is one thread. */
void parallel(size_t n, void (*fn)(void *arg, size_t i), void *arg)
{
	for (size_t i = 0; i < n; i++)
		fn(arg, i);
}
