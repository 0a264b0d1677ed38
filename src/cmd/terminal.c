// SPDX-License-Identifier: MIT
#include "cmd/terminal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/output.h"

enum { ESC = 0x1b, HELD_MAX = 12, PIECE = 4096 };

struct gate {
	int fd;
	bool colours;
	/* Lets tabs through (shell scripts), and CR LF, which ends a line of CSV. */
	bool data;
	/* The start of a character or colour that a write has cut. */
	unsigned char held[HELD_MAX + 1];
	size_t n;
	/* What is ready to be written. */
	char ready[PIECE];
	size_t filled;
};

static FILE *raw_stdout;

static int gate_write(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t got = write(fd, p, n);

		if (got < 0 && errno != EINTR)
			return -1;
		p += got > 0 ? got : 0;
		n -= got > 0 ? (size_t)got : 0;
	}
	return 0;
}

static int gate_flush(struct gate *g)
{
	size_t n = g->filled;

	g->filled = 0;
	return gate_write(g->fd, g->ready, n);
}

static int gate_put(struct gate *g, const void *p, size_t n)
{
	if (g->filled + n > sizeof(g->ready) && gate_flush(g))
		return -1;
	memcpy(g->ready + g->filled, p, n);
	g->filled += n;
	return 0;
}

enum held { HELD_MORE, HELD_GOOD, HELD_BAD };

/* ESC [ digits and semicolons m: a colour, and nothing else. */
static enum held judge_escape(const struct gate *g)
{
	unsigned char last = g->held[g->n - 1];

	if (!g->colours)
		return HELD_BAD;
	if (g->n == 1)
		return HELD_MORE;
	if (g->n == 2)
		return last == '[' ? HELD_MORE : HELD_BAD;
	if (last == 'm')
		return HELD_GOOD;
	return g->n < HELD_MAX && (last == ';' || (last >= '0' && last <= '9')) ? HELD_MORE
										: HELD_BAD;
}

/* CR alone would let text be overwritten; CR LF does no more than LF. */
static enum held judge_cr(const struct gate *g)
{
	if (!g->data)
		return HELD_BAD;
	if (g->n == 1)
		return HELD_MORE;
	return g->held[1] == '\n' ? HELD_GOOD : HELD_BAD;
}

static enum held terminal_judge(struct gate *g)
{
	unsigned char c = g->held[0];
	size_t want = c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : 4;

	if (c == ESC)
		return judge_escape(g);
	if (c == '\r')
		return judge_cr(g);
	if (c < 0x80)
		return (c >= 0x20 && c < 0x7f) || c == '\n' || (c == '\t' && g->data) ? HELD_GOOD
										      : HELD_BAD;
	if (c < 0xc2 || c > 0xf4)
		return HELD_BAD;
	if (g->n > 1 && (g->held[g->n - 1] & 0xc0) != 0x80)
		return HELD_BAD;
	if (g->n < want)
		return HELD_MORE;
	g->held[g->n] = '\0';
	return text_utf8_len((char *)g->held) == want && text_is_shown((char *)g->held, want)
		       ? HELD_GOOD
		       : HELD_BAD;
}

/* Replaces a whole character that is not only shown, or else the first byte. */
static int terminal_refuse(struct gate *g, size_t *ret_bytes)
{
	bool ascii = g->held[0] < 0x80;

	g->held[g->n] = '\0';
	*ret_bytes = text_utf8_len((char *)g->held);
	if (!*ret_bytes)
		*ret_bytes = 1;
	return ascii ? gate_put(g, "?", 1) : gate_put(g, TEXT_REPLACEMENT, 3);
}

static int terminal_take(struct gate *g, unsigned char c)
{
	unsigned char rest[HELD_MAX];
	size_t bytes, n;

	g->held[g->n++] = c;
	switch (terminal_judge(g)) {
	case HELD_MORE:
		return 0;
	case HELD_GOOD:
		n = g->n;
		g->n = 0;
		return gate_put(g, g->held, n);
	case HELD_BAD:
		break;
	}
	if (terminal_refuse(g, &bytes))
		return -1;
	/* The bytes after it may be good. */
	n = g->n - bytes;
	memcpy(rest, g->held + bytes, n);
	g->n = 0;
	for (size_t i = 0; i < n; i++)
		if (terminal_take(g, rest[i]))
			return -1;
	return 0;
}

static bool is_plain(unsigned char c)
{
	return (c >= 0x20 && c < 0x7f) || c == '\n';
}

static size_t plain_len(const char *p, size_t size)
{
	size_t n = 0;

	for (; n + TEXT_BLOCK <= size; n += TEXT_BLOCK) {
		text_block v = text_block_at(p + n);

		if (!text_block_all((text_block)(((v >= 0x20) & (v < 0x7f)) | (v == '\n'))))
			break;
	}
	while (n < size && is_plain((unsigned char)p[n]))
		n++;
	return n;
}

/* What needs no second look goes out as it came, if it is long enough to be worth a call. */
static int gate_pass(struct gate *g, const char *p, size_t n)
{
	if (n <= sizeof(g->ready))
		return gate_put(g, p, n);
	return gate_flush(g) ? -1 : gate_write(g->fd, p, n);
}

static ssize_t cookie_write(void *ctx, const char *p, size_t size)
{
	struct gate *g = ctx;

	for (size_t i = 0; i < size;) {
		size_t n = g->n ? 0 : plain_len(p + i, size - i);

		if (n ? gate_pass(g, p + i, n) : terminal_take(g, (unsigned char)p[i]))
			return 0;
		i += n ? n : 1;
	}
	return gate_flush(g) ? 0 : (ssize_t)size;
}

static int cookie_close(void *ctx)
{
	struct gate *g = ctx;
	int rc = close(g->fd);

	free(g);
	return rc;
}

static FILE *gate_open(int fd, bool colours, bool data)
{
	const cookie_io_functions_t io = {.write = cookie_write, .close = cookie_close};
	struct gate *g = mem_zalloc(sizeof(*g));
	FILE *f;

	g->fd = fd;
	g->colours = colours;
	g->data = data;
	f = fopencookie(g, "w", io);
	if (!f)
		free(g);
	return f;
}

void terminal_begin(void)
{
	FILE *out = gate_open(STDOUT_FILENO, output_colour(), true);
	FILE *words = gate_open(STDERR_FILENO, false, false);

	raw_stdout = stdout;
	if (!out || !words)
		abort();
	setvbuf(out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
	setvbuf(words, NULL, _IOLBF, BUFSIZ);
	stdout = out;
	stderr = words;
}

FILE *terminal_raw(void)
{
	return raw_stdout;
}

FILE *terminal_gate(int fd)
{
	return gate_open(fd, false, true);
}

void terminal_code(FILE *out, const char *fmt, ...)
{
	va_list ap;

	fflush(out);
	va_start(ap, fmt);
	vdprintf(out == stderr ? STDERR_FILENO : STDOUT_FILENO, fmt, ap);
	va_end(ap);
}
