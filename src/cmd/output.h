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

/* Standard output, or a file to be written. */
int output_open(const char *path, FILE **ret);

/* Standard output is a terminal, and NO_COLOR does not forbid it. */
bool output_colour(void);

/*
 * Flushes and closes. A reader that went away early (`| head`) is no error; a full disk is, with
 * the message set.
 */
int output_close(FILE *out, const char *name);

#endif
