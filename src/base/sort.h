/* SPDX-License-Identifier: MIT */
/*
 * Sorts many things by a number, without a function that compares two: the time grows in step with
 * how many there are. Equals keep their order.
 */
#ifndef THAW_BASE_SORT_H
#define THAW_BASE_SORT_H

#include <stddef.h>
#include <stdint.h>

struct sort_key {
	uint64_t key;
	uint32_t at; /* the caller's: mostly where the thing itself lies */
};

void sort_keys(struct sort_key *v, size_t n);

#endif
