/* SPDX-License-Identifier: MIT */
/* A capture, read and understood, for the verbs that show what it means. */
#ifndef THAW_CMD_LOAD_H
#define THAW_CMD_LOAD_H

#include "base/options.h"
#include "cmd/progress.h"
#include "model/summary.h"

/* Which part of it to look at. */
struct cmd_choice {
	const char *thread; /* NULL: all */
	uint64_t from, to;
	uint64_t min_lock_wait; /* shorter waits for locks do not count in their sums */
};

/* Rows of an option table: `at` is the offset of a struct cmd_choice. */
#define CMD_THREAD_ROW(at)                                                                         \
	{                                                                                          \
		0, "thread", OPTION_STR, (at) + offsetof(struct cmd_choice, thread), "NAME|TID",   \
			"only this thread, or those so named", 0, 0, 0                             \
	}
#define CMD_FROM_ROW(at)                                                                           \
	{                                                                                          \
		0, "from", OPTION_DURATION, (at) + offsetof(struct cmd_choice, from), "TIME",      \
			"leave out what was before: 2s, 500ms", 0, 0, 0                            \
	}
#define CMD_TO_ROW(at)                                                                             \
	{                                                                                          \
		0, "to", OPTION_DURATION, (at) + offsetof(struct cmd_choice, to), "TIME",          \
			"leave out what was after", 0, 0, 0                                        \
	}

int cmd_check_choice(const struct cmd_choice *c);

struct cmd_capture {
	struct reader *reader;
	struct model *model;
	struct summary *summary;
};

/* opts->thread is ignored: the choice has it. A person at a terminal sees how far it is. */
int cmd_load(const char *path, const struct cmd_choice *choice, const struct summary_opts *opts,
	     struct cmd_capture *ret);
/* The same as a stage of something longer. */
int cmd_load_stage(const char *path, const struct cmd_choice *choice,
		   const struct summary_opts *opts, struct progress *p, struct cmd_capture *ret);
void cmd_unload(struct cmd_capture *c);

#endif
