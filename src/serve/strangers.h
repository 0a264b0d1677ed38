/* SPDX-License-Identifier: MIT */
/*
 * Connections that have not shown the token: anybody on this machine can open some, and say
 * nothing. When there are too many, the oldest is closed. A connection that shows the token is no
 * longer a stranger.
 */
#ifndef THAW_SERVE_STRANGERS_H
#define THAW_SERVE_STRANGERS_H

#include <stdbool.h>

struct stranger {
	struct stranger *next, *before;
	int fd;
	bool here;
};

struct strangers {
	struct stranger *first, *last;
	unsigned n, most;
};

void stranger_comes(struct strangers *all, struct stranger *s, int fd);
/* Because it has shown the token, or is gone; harmless if it was closed before. */
void stranger_leave(struct strangers *all, struct stranger *s);

#endif
