/* SPDX-License-Identifier: MIT */
/* What thaw says of itself as a whole. */
#ifndef THAW_CMD_HELP_H
#define THAW_CMD_HELP_H

#include <stdio.h>

struct verb;

/* The verbs and the topics. */
void help_usage(FILE *out);

/* NULL: there is none of that name. */
const struct verb *help_find_verb(const char *name);
/* Says so, with the nearest; returns the exit status. */
int help_unknown_verb(const char *word);

#endif
