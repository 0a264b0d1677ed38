/* SPDX-License-Identifier: MIT */
/* Binary search. */
#ifndef THAW_BASE_SEARCH_H
#define THAW_BASE_SEARCH_H

#include <stddef.h>

/*
 * The first index i in [from, to) for which `before`, an expression of `i`, is false, or `to`. It
 * must be true up to some place and false from there on.
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
