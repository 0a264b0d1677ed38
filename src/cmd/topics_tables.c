// SPDX-License-Identifier: MIT
/* The topics whose words come from a table of the program. */
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "cmd/formats.h"
#include "cmd/topics.h"
#include "model/lock/kind.h"
#include "report/words.h"
#include "timeline/reason.h"

void topic_row(FILE *out, int wide, const char *name, const char *words)
{
	fprintf(out, "  %-*s ", wide, name);
	words_wrap(out, words, (size_t)wide + 3, (size_t)wide + 3, TOPIC_WIDTH);
}

void topic_say(FILE *out, const char *text)
{
	words_wrap(out, text, 0, 0, TOPIC_WIDTH);
}

void topic_formats(FILE *out)
{
	fputs("thaw export -f FORMAT writes these:\n\n", out);
	formats_text(out);
	fputc('\n', out);
	topic_say(out,
		  "What the capture's engine did not see is left out, never written as zero; a "
		  "format that cannot do without it says so and writes nothing.");
}

void topic_reasons(FILE *out)
{
	fputs("A thread waited:\n\n", out);
#define REASON(id, UPPER, name, label, words, group, traits, level, light, dark)                   \
	if (!reason_is_runnable(id))                                                               \
		topic_row(out, 12, name, words);
#include "timeline/reason.def"
	fputs("\nA thread could run, and waited:\n\n", out);
	topic_row(out, 12, reason_name(REASON_RUN_QUEUE), reason_words(REASON_RUN_QUEUE));
	topic_row(out, 12, reason_name(REASON_THROTTLED), reason_words(REASON_THROTTLED));
	fputs("\nJSON also says what decided it:\n\n", out);
#define EVIDENCE(id, UPPER, name, words) topic_row(out, 12, name, words);
#include "timeline/reason.def"
	fputs("\nthaw help idle says when a wait is for work.\n", out);
}

void topic_lock_kinds(FILE *out)
{
	static const char *const classes[] = {
		[LOCK_CLASS_HELD] =
			"Locks of programs: one thread has it, others wait until it is let go",
		[LOCK_CLASS_SIGNAL] = "Nobody holds these; thaw locks has them with --signals",
		[LOCK_CLASS_KERNEL] = "Locks of the kernel, on which threads sleep",
		[LOCK_CLASS_SPIN] = "Locks of the kernel, for which threads burn CPU time",
	};

	for (unsigned c = 0; c < ARRAY_LEN(classes); c++) {
		fprintf(out, "%s%s:\n\n", c ? "\n" : "", classes[c]);
		for (unsigned k = 0; k < LOCK_KINDS; k++)
			if (lock_kind_class(k) == c)
				topic_row(out, 16, lock_kind_name(k), lock_kind_words(k));
	}
	fputs("\nthaw locks --kind KIND shows those of one kind.\n", out);
}

void topic_engines(FILE *out)
{
	topic_say(out, "thaw record uses the first of these that is permitted and can do what was "
		       "asked. --engine picks one; thaw doctor says why one cannot be used.");
	fputc('\n', out);
#define ENGINE(id, UPPER, name, sees) topic_row(out, 8, name, sees);
#include "guard/engines.def"
	fputs("\nA capture says what its engine could not see, and nothing shows that as zero:\n\n",
	      out);
#define UNSEEN(bit, UPPER, name, words, brief, with) topic_row(out, 12, name, words);
#include "wire/unseen.def"
}

void topic_losses(FILE *out)
{
	topic_say(out, "Everything that could not be recorded is counted by cause. Thread time "
		       "that is unknown for that reason is shown as lost, never as waiting. thaw "
		       "info lists what a capture lacks:");
	fputc('\n', out);
#define LOSS(id, UPPER, name, class, words, advice) topic_row(out, 12, name, words);
#include "wire/loss.def"
}

static void put_units(FILE *out, const char *(*unit)(size_t i))
{
	const char *name;

	for (size_t i = 0; (name = unit(i)); i++)
		fprintf(out, "%s%s", i ? ", " : "", name);
	fputs(".\n", out);
}

void topic_units(FILE *out)
{
	fputs("A duration is a number and its unit: 50us, 10ms, 2s, 1.5m. Units are\n  ", out);
	put_units(out, units_duration_name);
	fputs("A bare number means seconds (microseconds with --min-wait).\n"
	      "\n"
	      "A moment (--from, --to) is a duration since the start of the recording, 3.2s,\n"
	      "or a time of day, as reports print it, 04:45:39.449, with its date if need be,\n"
	      "2026-11-16T04:45:39.\n"
	      "\n"
	      "A size is a number of bytes, or of 1024, 1024^2 or 1024^3 of them:\n  ",
	      out);
	put_units(out, units_size_name);
	fputc('\n', out);
	topic_say(out, "A thread is named by its tid or by its name; a process (-p) by its pid, "
		       "several with commas between them.");
}

void topic_json(FILE *out)
{
	topic_say(out, "What --json writes has a \"schema\", which names what it holds; the number "
		       "after the slash changes when a key is removed or changes meaning, not when "
		       "one is added:");
	fputc('\n', out);
	for (const struct verb *v = cmd_verbs; v->name; v++)
		if (v->form->schema)
			fprintf(out, "  thaw %-10s %s\n", v->name, v->form->schema);
	fputc('\n', out);
	topic_say(out, "thaw sql --json writes an array instead: an object for each row of the "
		       "answer, with the keys that the statement gives its columns.");
	fputc('\n', out);
	topic_say(
		out,
		"Times and durations are nanoseconds. Stacks are lists of frames, leaf first. What "
		"was not recorded is null, never 0. Addresses are strings: they do not fit a "
		"number. The words are those of thaw help reasons, lock-kinds, losses and engines. "
		"Keys say what they hold: total_ns is a sum, max_ns the longest, start_unix_ns a "
		"time of day, start_ns the same since the start of the recording.");
}
