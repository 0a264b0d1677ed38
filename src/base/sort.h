/* SPDX-License-Identifier: MIT */
/*
 * Equals keep their order. Use these, not the C library's: its sort may leave equals in any order,
 * so the engine inside the page, which has another C library, would list them differently from the
 * report.
 */
#ifndef THAW_BASE_SORT_H
#define THAW_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

/* By a function that compares two elements, each of `size` bytes. */
void sort_by(void *v, size_t n, size_t size, int (*compare)(const void *, const void *));
void sort_with(void *v, size_t n, size_t size, int (*compare)(const void *, const void *, void *),
	       void *arg);

/*
 * Many things by a number, without a function that compares two: the time grows in step with how
 * many there are.
 */
struct sort_key {
	uint64_t key;
	uint32_t at; /* the caller's: mostly where the thing itself lies */
};

void sort_keys(struct sort_key *v, size_t n);

#endif
