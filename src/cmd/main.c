// SPDX-License-Identifier: MIT
/* thaw: the table of verbs, and what is common to all of them. */
#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/options.h"

#ifndef THAW_VERSION
#define THAW_VERSION "0"
#endif

const struct verb cmd_verbs[] = {
#define VERB(name, summary) {#name, summary, cmd_##name, &cmd_##name##_form},
#include "cmd/verbs.def"
	{NULL, NULL, NULL, NULL},
};

enum { VERBS = ARRAY_LEN(cmd_verbs) - 1 };

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

static void usage(FILE *out)
{
	fputs("thaw shows where every thread's time went: running, waiting to run, or waiting.\n"
	      "\n"
	      "  thaw record -- COMMAND     record a command until it ends\n"
	      "  thaw report                say what was wrong\n"
	      "  thaw view                  look at it in the browser\n"
	      "\n"
	      "verbs:\n",
	      out);
	for (const struct verb *v = cmd_verbs; v->name; v++)
		fprintf(out, "  %-10s %s\n", v->name, v->summary);
	fputs("\n"
	      "thaw VERB --help shows a verb's options, thaw --version the version.\n",
	      out);
}

static const struct verb *find(const char *name)
{
	for (const struct verb *v = cmd_verbs; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

static int unknown(const char *word)
{
	const char *names[VERBS + 2] = {NULL}, *near;

	for (size_t i = 0; i < VERBS; i++)
		names[i] = cmd_verbs[i].name;
	names[VERBS] = "help";
	near = options_closest(word, names);
	fprintf(stderr, "thaw: there is no verb '%s'", word);
	if (near)
		fprintf(stderr, "; did you mean '%s'?\n", near);
	else
		fputs("; thaw --help lists them\n", stderr);
	return 2;
}

static int help(const char *word)
{
	const struct verb *v = word ? find(word) : NULL;
	char *argv[] = {(char *)word, "--help", NULL};

	if (word && !v)
		return unknown(word);
	if (v)
		return v->run(2, argv);
	usage(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	const struct verb *v;

	if (argc < 2) {
		usage(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("thaw " THAW_VERSION);
		return 0;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help(NULL);
	if (!strcmp(argv[1], "help"))
		return help(argc > 2 ? argv[2] : NULL);
	v = find(argv[1]);
	return v ? v->run(argc - 1, argv + 1) : unknown(argv[1]);
}
