/* SPDX-License-Identifier: MIT */
/* A command that waits, before its first instruction, until the recording is ready. */
#ifndef THAW_RECORD_LAUNCH_H
#define THAW_RECORD_LAUNCH_H

#include <stdbool.h>
#include <sys/types.h>

struct launch {
	pid_t pid;
	int go_fd;   /* closed: go */
	int fail_fd; /* gives the errno of a failed exec */
	bool done;
	int status; /* of waitpid(), once done */
};

/* `env` (may be NULL): set in its environment, "NAME=value". */
int launch_prepare(char *const argv[], char *const env[], struct launch *ret);
/* Lets the command run. Returns the exec's -errno if that failed. */
int launch_go(struct launch *l, const char *name);
/* Has the command ended? Never waits. */
bool launch_ended(struct launch *l);
/* Sends SIGTERM, or SIGKILL to a child that has not started yet, and waits. */
void launch_stop(struct launch *l);
void launch_wait(struct launch *l);
/* As a shell would report it: the exit status, or 128 and the signal. */
int launch_exit_status(const struct launch *l);

#endif
