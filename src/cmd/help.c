// SPDX-License-Identifier: MIT
/* thaw help: the verbs and the topics, or one of them in full. */
#include "cmd/help.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/output.h"
#include "cmd/topics.h"

static const struct topic {
	const char *name, *summary;
	void (*print)(FILE *out);
} topics[] = {
#define TOPIC(id, name, summary) {name, summary, topic_##id},
#include "cmd/topics.def"
};

static const struct option_row rows[] = {
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

/* The verbs, then the topics. */
static const char *any_word(size_t i)
{
	for (const struct verb *v = cmd_verbs; v->name; v++)
		if (!i--)
			return v->name;
	return i < ARRAY_LEN(topics) ? topics[i].name : NULL;
}

static const struct cmd_words words[] = {
	{"", any_word},
	{NULL, NULL},
};

static void list_topics(FILE *out)
{
	for (size_t i = 0; i < ARRAY_LEN(topics); i++)
		fprintf(out, "  %-11s %s\n", topics[i].name, topics[i].summary);
}

static void help_more(void)
{
	fputs("\ntopics:\n", stdout);
	list_topics(stdout);
}

const struct cmd_form cmd_help_form = {
	.usage = "usage: thaw help [VERB | TOPIC]\n\n"
		 "Lists the verbs and the topics, or explains one of them.\n\n",
	.rows = rows,
	.more = help_more,
	.operands = {OPERAND_WORD},
	.words = words,
};

void help_usage(FILE *out)
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
		fprintf(out, "  %-11s %s\n", v->name, v->summary);
	fputs("\n"
	      "thaw help VERB shows a verb's options, thaw --version the version.\n"
	      "\n"
	      "topics, each with thaw help TOPIC:\n",
	      out);
	list_topics(out);
}

const struct verb *help_find_verb(const char *name)
{
	for (const struct verb *v = cmd_verbs; v->name; v++)
		if (!strcmp(v->name, name))
			return v;
	return NULL;
}

/* Of the first n words; NULL if none is close. */
static const char *closest(const char *word, size_t n)
{
	const char *names[64] = {NULL};

	for (size_t i = 0; i < n && i < ARRAY_LEN(names) - 1; i++)
		names[i] = any_word(i);
	return options_closest(word, names);
}

int help_unknown_verb(const char *word)
{
	size_t n = 0;
	const char *near;

	while (cmd_verbs[n].name)
		n++;
	near = closest(word, n);
	fprintf(stderr, "thaw: there is no verb '%s'", word);
	if (near)
		fprintf(stderr, "; did you mean '%s'?\n", near);
	else
		fputs("; thaw --help lists them\n", stderr);
	return 2;
}

static const struct topic *find_topic(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(topics); i++)
		if (!strcmp(topics[i].name, name))
			return &topics[i];
	return NULL;
}

static int help_unknown(const char *word)
{
	const char *near = closest(word, SIZE_MAX);

	if (near)
		return err_set(-EINVAL, "there is no help on '%s'; did you mean '%s'?", word, near);
	return err_set(-EINVAL, "there is no help on '%s'; thaw help lists what there is", word);
}

static int explain(const char *word)
{
	const struct verb *v = help_find_verb(word);
	const struct topic *t = v ? NULL : find_topic(word);

	if (v)
		cmd_show_help(v->form);
	else if (t)
		t->print(stdout);
	else
		return help_unknown(word);
	return 0;
}

int cmd_help(int argc, char **argv)
{
	int first, rc = options_parse(rows, argc, argv, OPTIONS_PERMUTE, NULL, &first);

	if (rc < 0)
		return cmd_usage_error(argv[0]);
	output_begin();
	if (rc > 0)
		cmd_show_help(&cmd_help_form);
	else if (argc - first > 1)
		rc = err_set(-EINVAL, "one verb or topic at a time, not %d", argc - first);
	else if (first < argc)
		rc = explain(argv[first]);
	else
		help_usage(stdout);
	if (rc < 0)
		return cmd_usage_error(argv[0]);
	return output_close(stdout, "standard output") ? cmd_fail(argv[0]) : 0;
}
