/* SPDX-License-Identifier: MIT */
/*
 * Allocation that does not fail: a profiler that is out of memory has nothing useful left to do,
 * and every size that comes from outside is bounded before it gets here.
 */
#ifndef THAW_BASE_MEM_H
#define THAW_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t size) __attribute__((malloc, returns_nonnull));
/* Many megabytes that are filled from one end: in large pages, if there are any. free() it. */
void *mem_slab(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_grow(void *p, size_t n, size_t size) __attribute__((returns_nonnull));
char *mem_strdup(const char *s) __attribute__((malloc, returns_nonnull));
char *mem_strndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));

/*
 * From now on what is freed goes back to the kernel soon, and all threads share one heap. For a
 * process that lives long beside others and allocates seldom.
 */
void mem_be_thrifty(void);

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#endif
