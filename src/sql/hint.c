// SPDX-License-Identifier: MIT
/* SQLite says what is wrong; a hint says what the user may have meant. */
#include "sql/private.h"

#include <string.h>

#include "base/options.h"

/* What follows `begin` in a message: the name that was not found, without its table. */
static const char *after(const char *message, const char *begin)
{
	const char *at = strstr(message, begin), *dot;

	if (!at)
		return NULL;
	at += strlen(begin);
	dot = strrchr(at, '.');
	return dot ? dot + 1 : at;
}

static void add_table(struct buf *b, const char *word)
{
	const char *names[TABLES + 1] = {NULL}, *near;

	for (unsigned t = 0; t < TABLES; t++)
		names[t] = tables_name(t);
	near = options_closest(word, names);
	if (near) {
		buf_printf(b, "; did you mean %s?", near);
		return;
	}
	buf_printf(b, "; there are");
	for (unsigned t = 0; t < TABLES; t++)
		buf_printf(b, "%s %s", t ? "," : "", names[t]);
}

static void add_column(struct buf *b, const char *word)
{
	const char *names[TABLE_COLUMNS + 1] = {NULL}, *near;
	unsigned n = 0;

	for (unsigned t = 0; t < TABLES; t++)
		for (unsigned i = 0; i < tables_width(t); i++)
			names[n++] = tables_column(t, i);
	near = options_closest(word, names);
	if (!near) {
		buf_printf(b, "; .schema shows the columns of each table");
		return;
	}
	buf_printf(b, "; did you mean %s?", near);
	n = 0;
	for (unsigned t = 0; t < TABLES; t++)
		for (unsigned i = 0; i < tables_width(t); i++)
			if (!strcmp(tables_column(t, i), near))
				buf_printf(b, "%s %s", n++ ? "," : " It is in", tables_name(t));
}

void hint_add(struct buf *b, const char *message)
{
	const char *word;

	if ((word = after(message, "no such table: ")))
		add_table(b, word);
	else if ((word = after(message, "no such column: ")))
		add_column(b, word);
}
