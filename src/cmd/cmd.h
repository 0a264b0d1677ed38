/* SPDX-License-Identifier: MIT */
/*
 * The verbs. Each is one file and one row of verbs.def; argv[0] is the verb, the return value the
 * exit status: 0, 1 for failure, 2 for wrong usage. Only this folder prints errors.
 */
#ifndef THAW_CMD_CMD_H
#define THAW_CMD_CMD_H

#include <stdbool.h>

#include "base/options.h"

/*
 * What may stand beside the options. A command is the first operand with all that follow, or
 * everything after "--".
 */
enum cmd_operand {
	OPERAND_NONE,
	OPERAND_CAPTURE, /* a .thaw file */
	OPERAND_FILE,	 /* any other */
	OPERAND_COMMAND,
	OPERAND_WORD, /* one of the form's words for "" */
	OPERAND_TEXT, /* nothing that could be offered */
};

/* Options whose values are words out of a list: word(i) is the i-th, NULL after the last. */
struct cmd_words {
	const char *option; /* its long name; "": the operand */
	const char *(*word)(size_t i);
};

/* What a verb's command line may have; --help and the completion of shells are made from it. */
struct cmd_form {
	const char *usage; /* of --help, before the options */
	const struct option_row *rows;
	void (*more)(void);	      /* after them; NULL: nothing */
	enum cmd_operand operands[3]; /* in their order, as many as there may be, then NONE */
	const char *schema; /* of --json, or its shape in words; NULL: there is no such option */
	const struct cmd_words *words; /* NULL, or ends with one whose option is NULL */
};

struct verb {
	const char *name;
	const char *summary;
	int (*run)(int argc, char **argv);
	const struct cmd_form *form;
};

/* Ends with a row whose name is NULL. */
extern const struct verb cmd_verbs[];

#define VERB(name, summary)                                                                        \
	int cmd_##name(int argc, char **argv);                                                     \
	extern const struct cmd_form cmd_##name##_form;
#include "cmd/verbs.def"

/* "thaw VERB: <err_msg()>" on stderr, with a hint at --help; returns 2. */
int cmd_usage_error(const char *verb);
/* "thaw VERB: <err_msg()>" on stderr; returns 1. */
int cmd_fail(const char *verb);

/* ---- open.c: what the verbs that read a capture share ---- */

void cmd_show_help(const struct cmd_form *f);

/*
 * Options, and at most one FILE, which may stand before or between them: *ret_path is NULL if there
 * is none. 0, 1 if only help was asked for (and has been given), -EINVAL with the message set.
 */
int cmd_parse(const struct cmd_form *f, int argc, char **argv, void *into, const char **ret_path);

#define CMD_CAPTURE "capture.thaw" /* unless another is named */

struct reader;
/*
 * Opens a capture. With `names`, a capture that was cut off before it got its names gets them now,
 * as far as this machine still knows them.
 */
int cmd_open(const char *path, bool names, struct reader **ret);
/* Says on stderr what is damaged, for verbs whose answer has no place for it. */
void cmd_tell_damage(const char *verb, const char *path, struct reader *r);

#endif
