// SPDX-License-Identifier: MIT
#include "guard/distress.h"

#include <string.h>

/* The levels of printk(), and what stands for "without one". */
enum { EMERG, ALERT, CRIT, ERR, WARNING, NOTICE, INFO, DEBUG, DEFAULT };

enum { LEVEL_BITS = 3, HEAD_DIGITS_MAX = 6 };

struct distress_row {
	int level;
	const char *form;
	enum alarm alarm;
};

static const struct distress_row rows[] = {
#define DISTRESS(LEVEL, form, ALARM) {LEVEL, form, ALARM_##ALARM},
#include "guard/distress.def"
};

/* The text of a record: what follows the first semicolon of its first line. */
static const char *text_of(const char *record, size_t len, size_t *ret_len)
{
	const char *end = memchr(record, '\n', len);
	const char *semicolon;

	len = end ? (size_t)(end - record) : len;
	semicolon = memchr(record, ';', len);
	if (!semicolon)
		return NULL;
	*ret_len = len - (size_t)(semicolon + 1 - record);
	return semicolon + 1;
}

/*
 * The level of a record that the kernel has written, or -1. The facility, in the bits above the
 * level, is 0 for the kernel itself, and never for what programs write to /dev/kmsg.
 */
static int kernel_level(const char *record, size_t len)
{
	unsigned head = 0;
	size_t i = 0;

	while (i < len && i < HEAD_DIGITS_MAX && record[i] >= '0' && record[i] <= '9')
		head = head * 10 + (unsigned)(record[i++] - '0');
	if (!i || i == len || record[i] != ',' || head >> LEVEL_BITS)
		return -1;
	return (int)head;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == 'x';
}

static bool is_capital(char c)
{
	return (c >= 'A' && c <= 'Z') || c == '_' || c == ' ';
}

static bool is_word(char c)
{
	return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool is_path(char c)
{
	return is_word(c) || c == '/' || c == '.' || c == '-' || c == '+';
}

static bool is_text(char c)
{
	return is_word(c) || c == ' ' || c == ',' || c == '#' || c == '-';
}

static bool is_any(char c)
{
	return c != '\0';
}

static const struct field {
	char letter;
	bool (*fits)(char);
	size_t least;
} fields[] = {
	{'d', is_digit, 1}, {'x', is_hex, 1},	  {'w', is_word, 1}, {'t', is_text, 1},
	{'p', is_path, 0},  {'F', is_capital, 0}, {'s', is_any, 0},
};

static const struct field *field_of(char letter)
{
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (fields[i].letter == letter)
			return &fields[i];
	return NULL;
}

/*
 * A field may match more or less of the text, so this backtracks. That is cheap: forms have few
 * fields, lines are short, and a field is tried again only where the form's next letter is.
 */
static bool distress_fits(const char *form, const char *text, size_t len)
{
	const struct field *field;

	for (; *form && *form != '%'; form++, text++, len--)
		if (!len || *text != *form)
			return false;
	if (!*form)
		return !len;
	if (form[1] == '.')
		return true;
	field = field_of(form[1]);
	form += 2;
	for (size_t n = 0;; n++) {
		bool next = !*form || *form == '%' || (n < len && text[n] == *form);

		if (n >= field->least && next && distress_fits(form, text + n, len - n))
			return true;
		if (n >= len || !field->fits(text[n]))
			return false;
	}
}

static bool loud_enough(const struct distress_row *r, int level, int default_level)
{
	return level <= (r->level == DEFAULT ? default_level : r->level);
}

static void copy_clean(char *to, size_t room, const char *text, size_t len)
{
	size_t n = len < room - 1 ? len : room - 1;

	for (size_t i = 0; i < n; i++)
		to[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	to[n] = '\0';
}

bool distress_find(const char *record, size_t len, int default_level, enum alarm *ret_alarm,
		   char *text, size_t room)
{
	int level = kernel_level(record, len);
	size_t n;
	const char *line = level < 0 ? NULL : text_of(record, len, &n);

	if (line && n > DISTRESS_LINE_MAX)
		n = DISTRESS_LINE_MAX;
	for (size_t i = 0; line && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!loud_enough(&rows[i], level, default_level) ||
		    !distress_fits(rows[i].form, line, n))
			continue;
		*ret_alarm = rows[i].alarm;
		copy_clean(text, room, line, n);
		return true;
	}
	return false;
}
