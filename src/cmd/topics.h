/* SPDX-License-Identifier: MIT */
/* The topics of thaw help: one function a row of topics.def, each at most 80 columns wide. */
#ifndef THAW_CMD_TOPICS_H
#define THAW_CMD_TOPICS_H

#include <stdio.h>

#define TOPIC(id, name, summary) void topic_##id(FILE *out);
#include "cmd/topics.def"

enum { TOPIC_WIDTH = 80 };

/* "  name        words", the words wrapped behind a column of that width. */
void topic_row(FILE *out, int wide, const char *name, const char *words);
/* A paragraph. */
void topic_say(FILE *out, const char *text);

#endif
