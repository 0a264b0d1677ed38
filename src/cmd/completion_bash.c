// SPDX-License-Identifier: MIT
/*
 * The script for bash: fixed text that walks over the words before the one to complete, and two
 * tables of cases, a verb's options and operands, and what an option's value may be. It needs no
 * package, but lets bash-completion, where installed, complete the commands that thaw records. bash
 * takes --option=value for three words.
 */
#include "base/mem.h"
#include "cmd/completion.h"

static const char *const kinds[] = {
	[OFFER_NOTHING] = "nothing", [OFFER_WORDS] = "words",	  [OFFER_CAPTURE] = "capture",
	[OFFER_FILE] = "file",	     [OFFER_FOLDER] = "folder",	  [OFFER_PID] = "pid",
	[OFFER_TID] = "tid",	     [OFFER_COMMAND] = "command",
};

static const char head[] = "# bash completion for thaw, as made by: thaw completion bash\n"
			   "\n"
			   "# _thaw_offer KIND [WORDS]: what begins as $cur does\n"
			   "_thaw_offer() {\n"
			   "	local ids\n"
			   "	case $1 in\n"
			   "	words) mapfile -t COMPREPLY < <(compgen -W \"$2\" -- \"$cur\") ;;\n"
			   "	capture)\n"
			   "		compopt -o filenames 2>/dev/null\n"
			   "		mapfile -t COMPREPLY < <(compgen -f -X '!*.thaw' -- "
			   "\"$cur\"; compgen -d -- \"$cur\")\n"
			   "		;;\n"
			   "	file)\n"
			   "		compopt -o filenames 2>/dev/null\n"
			   "		mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
			   "		;;\n"
			   "	folder)\n"
			   "		compopt -o filenames 2>/dev/null\n"
			   "		mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
			   "		;;\n"
			   "	pid)\n"
			   "		ids=(/proc/[0-9]*)\n"
			   "		_thaw_offer words \"${ids[*]##*/}\"\n"
			   "		;;\n"
			   "	tid)\n"
			   "		ids=(/proc/[0-9]*/task/[0-9]*)\n"
			   "		_thaw_offer words \"${ids[*]##*/}\"\n"
			   "		;;\n"
			   "	command) mapfile -t COMPREPLY < <(compgen -c -- \"$cur\") ;;\n"
			   "	esac\n"
			   "}\n"
			   "\n"
			   "# _thaw_value VERB OPTION: what may follow it\n"
			   "_thaw_value() {\n"
			   "	case \"$1 $2\" in\n";

static const char walk[] =
	"	*) return ;;\n"
	"	esac\n"
	"	for ((i = 2; i < COMP_CWORD; i++)); do\n"
	"		w=${COMP_WORDS[i]}\n"
	"		if [[ $option ]]; then\n"
	"			[[ $w == = ]] || option=\n"
	"		elif [[ $w == -- && \" ${operands[*]} \" == *' command '* ]]; then\n"
	"			command=$((i + 1))\n"
	"			break\n"
	"		elif [[ $w == -- ]]; then\n"
	"			dashes=1\n"
	"		elif [[ $w == -* && ! $dashes ]]; then\n"
	"			[[ $takes == *\" $w \"* ]] && option=$w\n"
	"		elif [[ ${operands[0]} == command ]]; then\n"
	"			command=$i\n"
	"			break\n"
	"		else\n"
	"			((n++))\n"
	"		fi\n"
	"	done\n"
	"	if [[ $option ]]; then\n"
	"		[[ $cur == = ]] && cur=\n"
	"		_thaw_value \"$verb\" \"$option\"\n"
	"	elif ((command)) && declare -F _command_offset >/dev/null; then\n"
	"		_command_offset \"$command\"\n"
	"	elif ((command)); then\n"
	"		if ((command == COMP_CWORD)); then _thaw_offer command; else _thaw_offer "
	"file; fi\n"
	"	elif [[ $cur == -* && ! $dashes ]]; then\n"
	"		_thaw_offer words \"$options\"\n"
	"	elif [[ ${operands[n]} == words ]]; then\n"
	"		_thaw_offer words \"$words\"\n"
	"	elif [[ ${operands[n]} && ( $n == 0 || ${operands[n]} != command ) ]]; then\n"
	"		_thaw_offer \"${operands[n]}\"\n"
	"	else\n"
	"		_thaw_offer words \"$options\"\n"
	"	fi\n"
	"}\n"
	"\n"
	"complete -F _thaw thaw\n";

static void put_values(const struct verb *v, FILE *out)
{
	for (const struct option_row *r = v->form->rows; r->name; r++) {
		struct offer o = offer_value(v->form, r);

		if (!r->arg || o.kind == OFFER_NOTHING)
			continue;
		fprintf(out, "\t'%s --%s'", v->name, r->name);
		if (r->letter)
			fprintf(out, " | '%s -%c'", v->name, r->letter);
		fprintf(out, ") _thaw_offer %s", kinds[o.kind]);
		if (o.kind == OFFER_WORDS) {
			fputs(" '", out);
			offer_print_words(&o, out);
			fputc('\'', out);
		}
		fputs(" ;;\n", out);
	}
}

/* With a blank before each. */
static void put_options(const struct verb *v, bool only_with_value, FILE *out)
{
	for (const struct option_row *r = v->form->rows; r->name; r++) {
		if (only_with_value && !r->arg)
			continue;
		if (r->letter)
			fprintf(out, " -%c", r->letter);
		fprintf(out, " --%s", r->name);
	}
	if (!only_with_value)
		fputs(" -h --help", out);
}

static void put_operands(const struct verb *v, FILE *out)
{
	fputs("\t\toperands=(", out);
	for (size_t i = 0; i < ARRAY_LEN(v->form->operands) && v->form->operands[i]; i++)
		fprintf(out, "%s%s", i ? " " : "", kinds[offer_operand(v->form, i).kind]);
	fputs(")\n", out);
	for (size_t i = 0; i < ARRAY_LEN(v->form->operands); i++) {
		struct offer o = offer_operand(v->form, i);

		if (o.kind != OFFER_WORDS)
			continue;
		fputs("\t\twords='", out);
		offer_print_words(&o, out);
		fputs("'\n", out);
	}
}

void completion_bash(FILE *out)
{
	fputs(head, out);
	for (const struct verb *v = cmd_verbs; v->name; v++)
		put_values(v, out);
	fputs("	esac\n"
	      "}\n"
	      "\n"
	      "_thaw() {\n"
	      "	local cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} options takes words "
	      "operands=()\n"
	      "	local option='' command=0 dashes='' w i n=0\n"
	      "	COMPREPLY=()\n"
	      "	if ((COMP_CWORD == 1)) && [[ $cur == -* ]]; then\n"
	      "		_thaw_offer words '-h --help -V --version'\n"
	      "		return\n"
	      "	elif ((COMP_CWORD == 1)); then\n"
	      "		_thaw_offer words '",
	      out);
	for (const struct verb *v = cmd_verbs; v->name; v++)
		fprintf(out, "%s%s", v == cmd_verbs ? "" : " ", v->name);
	fputs("'\n"
	      "		return\n"
	      "	fi\n"
	      "	case $verb in\n",
	      out);
	for (const struct verb *v = cmd_verbs; v->name; v++) {
		fprintf(out, "\t%s)\n\t\toptions='", v->name);
		put_options(v, false, out);
		fputs("'\n\t\ttakes='", out);
		put_options(v, true, out);
		fputs(" '\n", out);
		put_operands(v, out);
		fputs("\t\t;;\n", out);
	}
	fputs(walk, out);
}
