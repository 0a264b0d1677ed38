/* SPDX-License-Identifier: MIT */
/* The same work for many things that have nothing to do with each other, on all CPUs. */
#ifndef THAW_BASE_PARALLEL_H
#define THAW_BASE_PARALLEL_H

#include <stddef.h>

/*
 * fn(arg, i) for each i below n, in any order, several at a time; done when it returns. What one of
 * them touches is its own, or only read.
 */
void parallel(size_t n, void (*fn)(void *arg, size_t i), void *arg);

#endif
