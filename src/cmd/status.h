/* SPDX-License-Identifier: MIT */
/* One line on stderr that says how a recording goes, if stderr is a terminal. */
#ifndef THAW_CMD_STATUS_H
#define THAW_CMD_STATUS_H

#include "record/session.h"

struct status_line {
	bool on;
	bool shown;
	uint64_t last_events, last_ns, last_cpu_ns; /* when a line was last shown */
};

/* A session's progress hook; `ctx` is the status line. */
void status_progress(void *ctx, const struct session_status *st, const char *phase);
void status_clear(struct status_line *s);

#endif
