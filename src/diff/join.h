/* SPDX-License-Identifier: MIT */
/*
 * Two captures as one: the second after the first, as if they had been recorded one after the
 * other. Whatever compares two ranges of one capture then compares two captures.
 */
#ifndef THAW_DIFF_JOIN_H
#define THAW_DIFF_JOIN_H

#include <stdint.h>

struct reader;

/*
 * Into a file, which it closes; *ret_moved is what is added to the times of the second (modulo
 * 2^64). Facts are those of the first, except that what either did not see is unseen.
 */
int diff_join(struct reader *a, struct reader *b, int fd, uint64_t *ret_moved);

#endif
