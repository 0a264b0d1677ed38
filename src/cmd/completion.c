// SPDX-License-Identifier: MIT
/* thaw completion: a script with which a shell completes thaw's command lines. */
#include "cmd/completion.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "cmd/output.h"

static const struct shell {
	const char *name;
	void (*print)(FILE *out);
} shells[] = {
	{"bash", completion_bash},
	{"zsh", completion_zsh},
};

static const struct option_row rows[] = {
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

static const char *shell_word(size_t i)
{
	return i < ARRAY_LEN(shells) ? shells[i].name : NULL;
}

static const struct cmd_words words[] = {
	{"", shell_word},
	{NULL, NULL},
};

const struct cmd_form cmd_completion_form = {
	.usage = "usage: thaw completion bash | zsh\n\n"
		 "Prints a script with which the shell completes thaw's verbs, options and their\n"
		 "values. make install puts it where the shells look. Without that, in ~/.bashrc,\n"
		 "or the same with zsh after compinit in ~/.zshrc:\n\n"
		 "  source <(thaw completion bash)\n\n",
	.rows = rows,
	.operands = {OPERAND_WORD},
	.words = words,
};

/* What an option's value stands for, by its name in the help. */
static const struct {
	const char *arg;
	enum offer_kind kind;
} values[] = {
	{"FILE", OFFER_FILE},	 {"PATH", OFFER_FOLDER}, {"PID", OFFER_PID},
	{"PID|NAME", OFFER_PID}, {"TID", OFFER_TID},	 {"CAPTURE", OFFER_CAPTURE},
};

static struct offer offer_words(const struct cmd_form *f, const char *option)
{
	for (const struct cmd_words *w = f->words; w && w->option; w++)
		if (!strcmp(w->option, option))
			return (struct offer){OFFER_WORDS, w->word};
	return (struct offer){0};
}

struct offer offer_value(const struct cmd_form *f, const struct option_row *row)
{
	struct offer o = offer_words(f, row->name);

	for (size_t i = 0; i < ARRAY_LEN(values) && !o.kind && row->arg; i++)
		if (!strcmp(values[i].arg, row->arg))
			o.kind = values[i].kind;
	return o;
}

struct offer offer_operand(const struct cmd_form *f, size_t i)
{
	static const enum offer_kind kinds[] = {
		[OPERAND_CAPTURE] = OFFER_CAPTURE,
		[OPERAND_FILE] = OFFER_FILE,
		[OPERAND_COMMAND] = OFFER_COMMAND,
		[OPERAND_TEXT] = OFFER_NOTHING,
	};

	if (i >= ARRAY_LEN(f->operands))
		return (struct offer){0};
	if (f->operands[i] == OPERAND_WORD)
		return offer_words(f, "");
	return (struct offer){kinds[f->operands[i]], NULL};
}

void offer_print_words(const struct offer *o, FILE *out)
{
	const char *word;

	for (size_t i = 0; (word = o->word(i)); i++)
		fprintf(out, "%s%s", i ? " " : "", word);
}

static const struct shell *completion_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(shells); i++)
		if (!strcmp(shells[i].name, name))
			return &shells[i];
	return NULL;
}

int cmd_completion(int argc, char **argv)
{
	const struct shell *shell = NULL;
	int first, rc = options_parse(rows, argc, argv, OPTIONS_PERMUTE, NULL, &first);

	if (rc > 0) {
		cmd_show_help(&cmd_completion_form);
		return 0;
	}
	if (!rc && argc - first != 1)
		rc = err_set(-EINVAL, "for which shell? Say bash or zsh");
	else if (!rc && !(shell = completion_find(argv[first])))
		rc = err_set(-EINVAL, "there is none for '%s', only for bash and zsh", argv[first]);
	if (rc)
		return cmd_usage_error(argv[0]);
	output_begin();
	shell->print(stdout);
	return output_close(stdout, "standard output") ? cmd_fail(argv[0]) : 0;
}
