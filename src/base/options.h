/* SPDX-License-Identifier: MIT */
/*
 * Command-line options as a table: one row an option, and the parser, the help text, and later the
 * man page and shell completion all come from that row. A verb keeps its options in one struct; a
 * row says at which offset and of which type.
 */
#ifndef THAW_BASE_OPTIONS_H
#define THAW_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_type {
	OPTION_FLAG,	 /* bool */
	OPTION_U64,	 /* uint64_t, within [min, max] */
	OPTION_STR,	 /* const char * */
	OPTION_STRV,	 /* struct option_list: may be given several times */
	OPTION_DURATION, /* uint64_t nanoseconds; a bare number counts `unit` */
	OPTION_SIZE,	 /* uint64_t bytes, within [min, max] */
};

#define OPTION_LIST_MAX 16

struct option_list {
	const char *v[OPTION_LIST_MAX];
	size_t n;
};

struct option_row {
	char letter; /* 0: none */
	const char *name;
	enum option_type type;
	size_t offset;
	const char *arg; /* NULL for flags */
	const char *help;
	uint64_t min, max; /* max 0: no limits */
	uint64_t unit;
};

/* A table ends with a row whose name is NULL. */
enum {
	OPTIONS_PERMUTE = 1, /* options may follow operands: `thaw report FILE --json` */
};

/*
 * Fills `into`; *ret_first is the index of the first operand in argv (reordered when permuting).
 * Returns 0, -EINVAL with the message set, or 1 when --help was asked for.
 */
int options_parse(const struct option_row *rows, int argc, char **argv, unsigned flags, void *into,
		  int *ret_first);
void options_help(const struct option_row *rows, FILE *out);

/* The name in `names` (NULL-terminated) closest to `word`, or NULL if none is close. */
const char *options_closest(const char *word, const char *const *names);

#endif
