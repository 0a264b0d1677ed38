/* SPDX-License-Identifier: MIT */
#ifndef THAW_CMD_SQL_PROMPT_H
#define THAW_CMD_SQL_PROMPT_H

#include "sql/sql.h"

/* Asks for statements on standard input, and answers them, until that ends. */
void sql_prompt(struct sql *s, const char *path, enum sql_form form);

/*
 * The same for the statements of a text, and its lines that begin with a dot. Ends at the first
 * that fails.
 */
int sql_text(struct sql *s, const char *text, enum sql_form form);

#endif
