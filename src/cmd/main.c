// SPDX-License-Identifier: MIT
/* thaw: the table of verbs, and what is common to all of them. */
#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "cmd/help.h"
#include "cmd/terminal.h"

#ifndef THAW_VERSION
#define THAW_VERSION "0"
#endif

const struct verb cmd_verbs[] = {
#define VERB(name, summary) {#name, summary, cmd_##name, &cmd_##name##_form},
#include "cmd/verbs.def"
	{NULL, NULL, NULL, NULL},
};

int cmd_usage_error(const char *verb)
{
	fprintf(stderr, "thaw %s: %s\n", verb, err_msg());
	if (!strstr(err_msg(), "--help"))
		fprintf(stderr, "thaw %s --help shows the options\n", verb);
	return 2;
}

int cmd_fail(const char *verb)
{
	fprintf(stderr, "thaw %s: %s\n", verb, err_msg());
	return 1;
}

int main(int argc, char **argv)
{
	const struct verb *v;

	terminal_begin();
	if (argc < 2) {
		help_usage(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("thaw " THAW_VERSION);
		return 0;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		help_usage(stdout);
		return 0;
	}
	v = help_find_verb(argv[1]);
	return v ? v->run(argc - 1, argv + 1) : help_unknown_verb(argv[1]);
}
