/* SPDX-License-Identifier: MIT */
/* Where a verb's data goes, and how it ends. */
#ifndef THAW_CMD_OUTPUT_H
#define THAW_CMD_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* If the reader goes away, the verb ends quietly, even if thaw's parent ignored SIGPIPE. */
void output_begin(void);

/* Columns for text on standard output: those of the terminal if it has more than 80. */
size_t output_width(void);

/* Standard output is a terminal, and NO_COLOR does not forbid it. */
bool output_colour(void);

/*
 * Flushes and closes. A reader that went away early (`| head`) is no error; a full disk is, with
 * the message set.
 */
int output_close(FILE *out, const char *name);

/*
 * A file that appears whole or not at all: an older file of that name stays until then. Output that
 * is not a regular file (a pipe, /dev/stdout) is written directly. In a folder that others can
 * write to, thaw touches no file of theirs: see record/place.h.
 */
struct output {
	FILE *out;
	int fd;		   /* its, if it is not standard output */
	const char *path;  /* NULL: standard output */
	char *real, *temp; /* NULL: nothing to be moved */
	bool nameless;	   /* temp is not there yet */
};

/* `path` NULL or "-": standard output. `text`: for people, see terminal.h. */
int output_create(const char *path, bool text, struct output *ret);
/* `rc` is how the writing went; the file only appears if it and this are 0. */
int output_finish(struct output *o, int rc);

#endif
