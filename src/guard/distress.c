// SPDX-License-Identifier: MIT
#include "guard/distress.h"

#include <string.h>

struct row {
	const char *begins, *has;
	enum alarm alarm;
};

static const struct row rows[] = {
#define DISTRESS(begins, has, ALARM) {begins, has, ALARM_##ALARM},
#include "guard/distress.def"
};

/* The text of a record: what stands behind the first semicolon of its first line. */
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

static bool matches(const struct row *r, const char *text, size_t len)
{
	size_t n = strlen(r->begins);

	return len >= n && !memcmp(text, r->begins, n) &&
	       (!*r->has || memmem(text + n, len - n, r->has, strlen(r->has)));
}

static void copy_clean(char *to, size_t room, const char *text, size_t len)
{
	size_t n = len < room - 1 ? len : room - 1;

	for (size_t i = 0; i < n; i++)
		to[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	to[n] = '\0';
}

bool distress_find(const char *record, size_t len, enum alarm *ret_alarm, char *text, size_t room)
{
	size_t n;
	const char *line = text_of(record, len, &n);

	for (size_t i = 0; line && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!matches(&rows[i], line, n))
			continue;
		*ret_alarm = rows[i].alarm;
		copy_clean(text, room, line, n);
		return true;
	}
	return false;
}
