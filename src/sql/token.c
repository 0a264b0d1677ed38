// SPDX-License-Identifier: MIT
#include "sql/token.h"

#include <sqlite3.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Of those that SQLite takes; the others end up as TYPE_BAD. */
static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static size_t number_length(const char *s)
{
	static const char digits[] = "0123456789";
	size_t n = strspn(s, digits), e;

	if (s[n] == '.')
		n += 1 + strspn(s + n + 1, digits);
	if (s[n] == 'e' || s[n] == 'E') {
		e = 1 + (s[n + 1] == '+' || s[n + 1] == '-');
		if (!is_digit(s[n + e]))
			return 0;
		n += e + strspn(s + n + e, digits);
	}
	return is_letter(s[n]) || s[n] == '.' ? 0 : n;
}

/* With both quotes; 0: it has no end, or is a name with quotes in it. */
static size_t quoted_length(const char *s)
{
	size_t n = 1;

	while (s[n] && (s[n] != *s || (*s == '\'' && s[n + 1] == *s)))
		n += 1 + (s[n] == *s);
	return s[n] && s[n + 1] != *s ? n + 1 : 0;
}

static struct token token_at(const char *s)
{
	struct token t = {.type = TYPE_OTHER, .p = s, .n = 1};

	if (!*s) {
		t.type = TYPE_END;
		t.n = 0;
	} else if (is_letter(*s)) {
		t.type = TYPE_WORD;
		while (is_letter(s[t.n]) || is_digit(s[t.n]))
			t.n++;
	} else if (is_digit(*s) || (*s == '.' && is_digit(s[1]))) {
		t.type = TYPE_NUMBER;
		t.n = number_length(s);
	} else if (*s == '"' || *s == '\'') {
		t.type = *s == '"' ? TYPE_QUOTED : TYPE_STRING;
		t.n = quoted_length(s);
	} else if (!strchr("+-*/%<>=!|&~(),;", *s) || !strncmp(s, "--", 2) ||
		   !strncmp(s, "/*", 2) || !strncmp(s, "->", 2)) {
		t.n = 0;
	}
	if (!t.n && *s)
		t.type = TYPE_BAD;
	return t;
}

struct token token_after(const struct token *t)
{
	const char *s = t->p + t->n;

	return token_at(s + strspn(s, " \t\r\n\f"));
}

static bool same(const char *a, size_t n, const char *b)
{
	return strlen(b) == n && !sqlite3_strnicmp(a, b, (int)n);
}

bool token_is_word(const struct token *t, const char *word)
{
	return t->type == TYPE_WORD && same(t->p, t->n, word);
}

bool token_is_char(const struct token *t, char c)
{
	return t->type == TYPE_OTHER && *t->p == c;
}

bool token_is_name(const struct token *t, const char *name)
{
	if (t->type == TYPE_QUOTED)
		return same(t->p + 1, t->n - 2, name);
	return token_is_word(t, name);
}
