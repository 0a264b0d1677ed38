/* SPDX-License-Identifier: MIT */
/* The same work for many independent things, on all CPUs. */
#ifndef THAW_BASE_PARALLEL_H
#define THAW_BASE_PARALLEL_H

#include <stddef.h>

/*
 * fn(arg, i) for each i below n, in any order, several at a time; done when it returns. A call may
 * write only what no other call touches.
 */
void parallel(size_t n, void (*fn)(void *arg, size_t i), void *arg);

#endif
