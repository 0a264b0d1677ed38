/* SPDX-License-Identifier: MIT */
/* How far a long task is, for a person who waits at a terminal: a bar on standard error. */
#ifndef THAW_CMD_PROGRESS_H
#define THAW_CMD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what;
	uint64_t begun, shown; /* ns of the monotonic clock; shown 0: never */
	double from, to;       /* the part of the bar that the present stage has */
	bool terminal;
};

void progress_begin(struct progress *p, const char *what);
/* The stage that follows gets this part of the bar, within 0 to 1; by default, all of it. */
void progress_stage(struct progress *p, double from, double to);
/* arg is a struct progress; done goes from 0 to 1, of the stage. Cheap to call often. */
void progress_show(void *arg, double done);
/* Takes the bar away for good. */
void progress_end(struct progress *p);

#endif
