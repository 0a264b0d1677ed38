/* SPDX-License-Identifier: MIT */
/* Searching in what is sorted. */
#ifndef THAW_BASE_SEARCH_H
#define THAW_BASE_SEARCH_H

#include <stddef.h>

/*
 * The first index of [from, to) at which `before` does not hold, or `to`. `before` is an expression
 * of `i`, an index, and holds for all up to some place and for none from there on.
 */
#define SEARCH(from, to, i, before)                                                                \
	({                                                                                         \
		size_t search_lo_ = (from), search_hi_ = (to);                                     \
                                                                                                   \
		while (search_lo_ < search_hi_) {                                                  \
			size_t i = search_lo_ + (search_hi_ - search_lo_) / 2;                     \
                                                                                                   \
			if (before)                                                                \
				search_lo_ = i + 1;                                                \
			else                                                                       \
				search_hi_ = i;                                                    \
		}                                                                                  \
		search_lo_;                                                                        \
	})

#endif
