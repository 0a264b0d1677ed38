/* SPDX-License-Identifier: MIT */
/*
 * A statement's text in tokens, as SQLite takes them apart. Whatever is odd is TYPE_BAD: remarks,
 * parameters, names in other quotes than ", with quotes or letters beyond ASCII in them, numbers
 * that are not plainly decimal.
 */
#ifndef THAW_SQL_TOKEN_H
#define THAW_SQL_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

enum type { TYPE_END, TYPE_WORD, TYPE_QUOTED, TYPE_NUMBER, TYPE_STRING, TYPE_OTHER, TYPE_BAD };

/* With its quotes, if it has any; of TYPE_OTHER each character is one. */
struct token {
	enum type type;
	const char *p;
	size_t n;
};

struct token token_after(const struct token *t);
bool token_is_word(const struct token *t, const char *word);
bool token_is_char(const struct token *t, char c);
/* A name, in quotes or not. */
bool token_is_name(const struct token *t, const char *name);

static inline const char *token_end(const struct token *t)
{
	return t->p + t->n;
}

#endif
