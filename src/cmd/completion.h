/* SPDX-License-Identifier: MIT */
/*
 * What a shell may offer for the next word of a command line, read off the verbs' forms, and the
 * shells' own ways to say it: one file a shell, each printing a script that needs nothing of thaw
 * while it completes.
 */
#ifndef THAW_CMD_COMPLETION_H
#define THAW_CMD_COMPLETION_H

#include <stdio.h>

#include "cmd/cmd.h"

enum offer_kind {
	OFFER_NOTHING,
	OFFER_WORDS,
	OFFER_CAPTURE,
	OFFER_FILE,
	OFFER_FOLDER,
	OFFER_PID,
	OFFER_TID,
	OFFER_COMMAND,
};

struct offer {
	enum offer_kind kind;
	const char *(*word)(size_t i); /* of OFFER_WORDS */
};

/* For an option's value. */
struct offer offer_value(const struct cmd_form *f, const struct option_row *row);
/* For the i-th operand. */
struct offer offer_operand(const struct cmd_form *f, size_t i);

/* Its words with blanks between them. */
void offer_print_words(const struct offer *o, FILE *out);

void completion_bash(FILE *out);
void completion_zsh(FILE *out);

#endif
