/* SPDX-License-Identifier: MIT */
/* A capture, read and understood, for the verbs that show what it means. */
#ifndef THAW_CMD_LOAD_H
#define THAW_CMD_LOAD_H

#include "base/options.h"
#include "cmd/moment.h"
#include "cmd/progress.h"
#include "model/summary/summary.h"

/* Which part of it to look at. */
struct cmd_choice {
	const char *thread;		 /* NULL: all */
	const char *from_word, *to_word; /* as they were written */
	struct cmd_moment from, to;	 /* cmd_check_choice() makes them */
	uint64_t min_lock_wait;		 /* shorter waits for locks do not count in their sums */
};

/* Rows of an option table: `at` is the offset of a struct cmd_choice. */
#define CMD_THREAD_ROW(at)                                                                         \
	{                                                                                          \
		0, "thread", OPTION_STR, (at) + offsetof(struct cmd_choice, thread), "NAME|TID",   \
			"only this thread, or those so named", 0, 0, 0                             \
	}
#define CMD_FROM_ROW(at)                                                                           \
	{                                                                                          \
		0, "from", OPTION_STR, (at) + offsetof(struct cmd_choice, from_word), "TIME",      \
			"leave out what was before: 3.2s, 04:45:39.449", 0, 0, 0                   \
	}
#define CMD_TO_ROW(at)                                                                             \
	{                                                                                          \
		0, "to", OPTION_STR, (at) + offsetof(struct cmd_choice, to_word), "TIME",          \
			"leave out what was after", 0, 0, 0                                        \
	}

/* --from and --to, as far as they can be checked without the capture. */
int cmd_check_choice(struct cmd_choice *c);

/* Both since the start of the recording; to 0: its end. */
int cmd_window(const char *path, const struct cmd_choice *c, uint64_t *ret_from, uint64_t *ret_to);

struct cmd_capture {
	struct reader *reader;
	struct model *model;
	struct summary *summary;
};

/* opts->thread is ignored: the choice has it. Shows a bar at a terminal. */
int cmd_load(const char *path, const struct cmd_choice *choice, const struct summary_opts *opts,
	     struct cmd_capture *ret);
/* The same as a stage of something longer. */
int cmd_load_stage(const char *path, const struct cmd_choice *choice,
		   const struct summary_opts *opts, struct progress *p, struct cmd_capture *ret);
void cmd_unload(struct cmd_capture *c);

#endif
