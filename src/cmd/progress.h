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
/* What follows has this part of the bar, of 0 to 1; unless said otherwise, all of it. */
void progress_stage(struct progress *p, double from, double to);
/* arg is a struct progress; done goes from 0 to 1, of the stage. Cheap to call often. */
void progress_show(void *arg, double done);
/* Takes the bar away; what is shown later is not. */
void progress_end(struct progress *p);

#endif
