// SPDX-License-Identifier: MIT
/*
 * Only what every terminal of the last decades understands: a scrolling region above our part
 * (DECSTBM), saving and restoring the cursor around it (DECSC, DECRC), and going to a line.
 */
#include "cmd/screen.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmd/terminal.h"

static void ask_size(struct screen *s)
{
	struct winsize size;

	s->rows = 24;
	s->cols = 80;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 4 || size.ws_col < 20)
		return;
	s->rows = size.ws_row;
	s->cols = size.ws_col;
}

/* Lets everything scroll again; the cursor stays where the others had it, and our part is empty. */
static void screen_release(struct screen *s)
{
	if (s->height)
		terminal_code(stdout, "\0337\033[r\033[%zu;1H\033[J\0338", s->rows - s->height + 1);
	s->height = 0;
}

/* Makes room: what is above scrolls up if it must, and keeps its cursor. */
static void reserve(struct screen *s, size_t height)
{
	screen_release(s);
	for (size_t i = 0; i < height; i++)
		terminal_code(stdout, "\033D");
	terminal_code(stdout, "\033[%zuA\0337\033[1;%zur\0338", height, s->rows - height);
	s->height = height;
}

void screen_open(struct screen *s, bool keys)
{
	struct termios raw;

	*s = (struct screen){0};
	ask_size(s);
	if (!keys || tcgetattr(STDIN_FILENO, &s->before))
		return;
	raw = s->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	s->keys = !tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

void screen_close(struct screen *s)
{
	screen_release(s);
	fflush(stdout);
	if (s->keys)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &s->before);
	s->keys = false;
}

void screen_resize(struct screen *s)
{
	size_t rows = s->rows;

	ask_size(s);
	if (!s->height)
		return;
	/* A terminal that shrinks keeps its lowest lines: ours stay, as far as they fit. */
	if (s->rows <= s->height)
		s->height = s->rows - 1;
	if (rows != s->rows)
		screen_release(s);
}

size_t screen_room(const struct screen *s, bool others)
{
	return others ? s->rows / 2 : s->rows - 2;
}

void screen_draw(struct screen *s, const char *text)
{
	size_t lines = 0, most = s->rows - 1;

	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	lines = lines < most ? lines : most;
	if (lines > s->height)
		reserve(s, lines);
	terminal_code(stdout, "\0337");
	for (size_t i = 0; i < s->height; i++) {
		size_t n = strcspn(text, "\n");

		terminal_code(stdout, "\033[%zu;1H", s->rows - s->height + 1 + i);
		fwrite(text, 1, n, stdout);
		terminal_code(stdout, "\033[K");
		text += n + (text[n] == '\n');
	}
	terminal_code(stdout, "\0338");
	fflush(stdout);
}
