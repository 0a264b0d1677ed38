/* SPDX-License-Identifier: MIT */
/* How far a long task is, for a person who waits at a terminal: a bar on standard error. */
#ifndef THAW_CMD_PROGRESS_H
#define THAW_CMD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what;
	uint64_t begun, shown; /* ns of the monotonic clock; shown 0: never */
	bool terminal;
};

void progress_begin(struct progress *p, const char *what);
/* arg is a struct progress; done goes from 0 to 1. Cheap to call often. */
void progress_show(void *arg, double done);
void progress_end(struct progress *p);

#endif
