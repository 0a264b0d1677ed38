/* SPDX-License-Identifier: MIT */
/*
 * The table of `thaw locks` while it is being recorded: a process of its own reads the capture as
 * it grows and draws on the terminal. The recording does not wait for it, and it ends with the
 * recording, however that ends.
 */
#ifndef THAW_CMD_LIVE_H
#define THAW_CMD_LIVE_H

#include "cmd/load.h"
#include "report/locks.h"

struct live_opts {
	const char *path; /* of the capture; as a child process finds it */
	const struct locks_opts *view;
	const struct cmd_choice *choice;
	bool keys; /* the keyboard is ours: no command may want it */
};

struct live;

/* Standard output is a terminal that can be drawn on, and we are in its foreground. */
bool live_possible(void);

/* NULL if it cannot be: the recording goes on without. */
struct live *live_start(const struct live_opts *opts);
/* Leaves the terminal as it was. */
void live_stop(struct live *l);

#endif
