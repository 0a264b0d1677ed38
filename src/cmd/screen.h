/* SPDX-License-Identifier: MIT */
/*
 * The lower part of a terminal, drawn again and again in place. What others write (a command's
 * output) scrolls in the part above it and is kept; the alternate screen is not used, so all of it
 * is still there at the end.
 */
#ifndef THAW_CMD_SCREEN_H
#define THAW_CMD_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct screen {
	size_t rows, cols;
	size_t height; /* of the part that is ours; it only grows */
	bool keys;     /* they come one by one and are not shown */
	struct termios before;
};

/* Keys are taken from standard input, if it is a terminal and `keys` asks for it. */
void screen_open(struct screen *s, bool keys);
/* Gives the whole terminal back, with our part empty. */
void screen_close(struct screen *s);

/* The terminal has another size now. */
void screen_resize(struct screen *s);

/* Leaves out lines that the terminal has no room for. */
void screen_draw(struct screen *s, const char *text);

/* How many lines there is room for, if others need a part too. */
size_t screen_room(const struct screen *s, bool others);

#endif
