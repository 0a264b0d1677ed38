// SPDX-License-Identifier: MIT
/*
 * The script for zsh: one _arguments a verb, whose specifications are made from the option rows. It
 * works as a file _thaw in $fpath and when it is sourced after compinit.
 */
#include "base/mem.h"
#include "cmd/completion.h"

/* Inside of single quotes, in a specification of _arguments or _describe. */
static void zsh_put_text(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

/* A blank before an action keeps _arguments from putting words of its own into it. */
static void put_action(const struct offer *o, FILE *out)
{
	static const char *const actions[] = {
		[OFFER_NOTHING] = " ",
		[OFFER_CAPTURE] = "_files -g \"*.thaw(-.)\"",
		[OFFER_FILE] = "_files",
		[OFFER_FOLDER] = "_files -/",
		[OFFER_PID] = "_thaw_pids",
		[OFFER_TID] = "_thaw_tids",
		[OFFER_COMMAND] = " _command_names -e",
	};

	if (o->kind != OFFER_WORDS) {
		fputs(actions[o->kind], out);
		return;
	}
	fputc('(', out);
	offer_print_words(o, out);
	fputc(')', out);
}

/* An option that may not be repeated excludes itself, in both spellings. */
static void put_option(const struct cmd_form *f, const struct option_row *r, FILE *out)
{
	struct offer o = offer_value(f, r);
	const char *joined = r->arg ? "+" : "", *equals = r->arg ? "=" : "";

	fputs("\t\t\t'", out);
	if (r->type == OPTION_STRV)
		fputs("*", out);
	else if (r->letter)
		fprintf(out, "(-%c --%s)", r->letter, r->name);
	if (r->letter)
		fprintf(out, "'{-%c%s,--%s%s}'", r->letter, joined, r->name, equals);
	else
		fprintf(out, "--%s%s", r->name, equals);
	fputc('[', out);
	zsh_put_text(r->help, out);
	fputc(']', out);
	if (r->arg) {
		fputc(':', out);
		zsh_put_text(r->arg, out);
		fputc(':', out);
		put_action(&o, out);
	}
	fputs("' \\\n", out);
}

static void put_operands(const struct cmd_form *f, FILE *out)
{
	static const char *const names[] = {
		[OPERAND_CAPTURE] = "capture", [OPERAND_FILE] = "file",
		[OPERAND_COMMAND] = "command", [OPERAND_WORD] = "word",
		[OPERAND_TEXT] = "text",
	};

	for (size_t i = 0; i < ARRAY_LEN(f->operands) && f->operands[i]; i++) {
		struct offer o = offer_operand(f, i);

		if (f->operands[i] == OPERAND_COMMAND && i)
			continue;
		fprintf(out, " \\\n\t\t\t'%s%zu:%s:", o.kind == OFFER_COMMAND ? "(-)" : "", i + 1,
			names[f->operands[i]]);
		put_action(&o, out);
		fputc('\'', out);
		if (o.kind == OFFER_COMMAND)
			fputs(" \\\n\t\t\t'*::argument: _normal'", out);
	}
}

static bool has_command(const struct cmd_form *f)
{
	for (size_t i = 0; i < ARRAY_LEN(f->operands); i++)
		if (f->operands[i] == OPERAND_COMMAND)
			return true;
	return false;
}

static void put_verb(const struct verb *v, FILE *out)
{
	bool first = v->form->operands[0] == OPERAND_COMMAND;

	fprintf(out, "\t%s)\n", v->name);
	if (has_command(v->form))
		fputs("\t\t_thaw_command && return\n", out);
	fprintf(out, "\t\t_arguments -s -S%s : \\\n", first ? " -A \"-*\"" : "");
	for (const struct option_row *r = v->form->rows; r->name; r++)
		put_option(v->form, r, out);
	fputs("\t\t\t'(- *)'{-h,--help}'[show this text]'", out);
	put_operands(v->form, out);
	fputs(" && ret=0\n\t\t;;\n", out);
}

void completion_zsh(FILE *out)
{
	fputs("#compdef thaw\n"
	      "# zsh completion for thaw, as made by: thaw completion zsh\n"
	      "\n"
	      "_thaw_pids() {\n"
	      "	local expl\n"
	      "	_wanted pids expl process compadd -- /proc/<->(N:t)\n"
	      "}\n"
	      "\n"
	      "_thaw_tids() {\n"
	      "	local expl\n"
	      "	_wanted tids expl thread compadd -- /proc/<->/task/<->(N:t)\n"
	      "}\n"
	      "\n"
	      "# After -- comes a command, with its own completion.\n"
	      "_thaw_command() {\n"
	      "	local at=${words[(i)--]}\n"
	      "	((at < CURRENT)) || return 1\n"
	      "	shift $at words\n"
	      "	((CURRENT -= at))\n"
	      "	_normal\n"
	      "	return 0\n"
	      "}\n"
	      "\n"
	      "_thaw() {\n"
	      "	local curcontext=$curcontext state line ret=1\n"
	      "	local -A opt_args\n"
	      "	local -a verbs=(\n",
	      out);
	for (const struct verb *v = cmd_verbs; v->name; v++) {
		fprintf(out, "\t\t'%s:", v->name);
		zsh_put_text(v->summary, out);
		fputs("'\n", out);
	}
	fputs("	)\n"
	      "	_arguments -C \\\n"
	      "		'(- *)'{-h,--help}'[show the verbs]' \\\n"
	      "		'(- *)'{-V,--version}'[show the version]' \\\n"
	      "		'1:verb:->verb' '*::argument:->rest' && ret=0\n"
	      "	[[ $state == verb ]] && _describe -t verbs verb verbs && ret=0\n"
	      "	[[ $state == rest ]] || return ret\n"
	      "	case $words[1] in\n",
	      out);
	for (const struct verb *v = cmd_verbs; v->name; v++)
		put_verb(v, out);
	fputs("	esac\n"
	      "	return ret\n"
	      "}\n"
	      "\n"
	      "if [[ $funcstack[1] == _thaw ]]; then _thaw \"$@\"; else compdef _thaw thaw; fi\n",
	      out);
}
