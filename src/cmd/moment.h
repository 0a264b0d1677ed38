/* SPDX-License-Identifier: MIT */
/*
 * A moment of a recording as people write it: how long after its start ("3.2s"), or by the clock
 * that reports print ("04:45:39.449", with a date if need be). The second form needs a capture to
 * mean anything.
 */
#ifndef THAW_CMD_MOMENT_H
#define THAW_CMD_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

struct cmd_moment {
	const char *word;   /* as it was written; NULL: not given */
	bool clock;	    /* by the clock */
	uint64_t ns;	    /* since the start; by the clock: of the second */
	bool dated;	    /* the clock has a date */
	bool whole;	    /* no fraction of a second was written */
	int year, mon, day; /* from 1900 and 0 on, as in struct tm */
	int hour, min, sec;
};

/* -EINVAL with both forms in words. A bare number counts `unit_ns`; 0: there are none. */
int moment_parse(const char *word, uint64_t unit_ns, struct cmd_moment *ret);

/* When a recording began and ended, in ns since 1970; begin 0: not known. */
struct moment_span {
	uint64_t begin, end;
};

/* Since its start. -ERANGE with words if it is not a moment of the recording. */
int moment_resolve(const struct cmd_moment *m, const struct moment_span *span, uint64_t *ret);

#endif
