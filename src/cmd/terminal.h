/* SPDX-License-Identifier: MIT */
/*
 * The gate between thaw and the terminal: everything that thaw writes to standard output and
 * standard error passes through it, and nothing that a terminal would obey gets past. Recorded
 * programs choose the names of threads, files and functions, and a capture may come from anybody;
 * so no printf in any folder has to escape them.
 *
 * What is not a character that is only shown (see base/text.h) becomes '?' or U+FFFD. Newlines
 * pass, and on standard output tabs (of scripts for shells), CR LF (which ends a line of CSV) and,
 * where colours are wanted, colours. thaw's own codes for the terminal go around the gate:
 * terminal_code().
 */
#ifndef THAW_CMD_TERMINAL_H
#define THAW_CMD_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* From now on, stdout and stderr go through the gate. */
void terminal_begin(void);

/* Standard output as it is: for formats that are not text. */
FILE *terminal_raw(void);

/* A gate in front of a file of text, which closes the descriptor. NULL: errno says why. */
FILE *terminal_gate(int fd);

/* Codes for the terminal at stdout or stderr, after all that was written there before. */
void terminal_code(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
