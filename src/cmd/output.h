/* SPDX-License-Identifier: MIT */
/* Where a verb's data goes, and how it ends. */
#ifndef THAW_CMD_OUTPUT_H
#define THAW_CMD_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

/* A reader that goes away ends the verb quietly, even if our parent ignored the signal for it. */
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
 * A file that appears whole or not at all: what stood under its name before stays until then.
 * Things that are no regular files (a pipe, /dev/stdout) are written to as they are.
 */
struct output {
	FILE *out;
	const char *path;  /* NULL: standard output */
	char *real, *temp; /* NULL: nothing to be moved */
	bool nameless;	   /* temp is not there yet */
};

int output_create(const char *path, struct output *ret);
/* `rc` is how the writing went; the file only appears if it and this are 0. */
int output_finish(struct output *o, int rc);

#endif
