/* SPDX-License-Identifier: MIT */
/* Children that were killed and did not end, because they wait for a silent file. */
#ifndef THAW_SYMBOL_LEFT_H
#define THAW_SYMBOL_LEFT_H

#include <sys/types.h>

#include "base/vec.h"

struct left {
	VEC(pid_t) pids;
};

/* How many there still are. Forgets those that have ended. */
size_t left_count(struct left *l);
void left_done(struct left *l);

#endif
