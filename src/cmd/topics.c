// SPDX-License-Identifier: MIT
/* The topics that are explained in words. */
#include "cmd/topics.h"

#include "base/mem.h"
#include "cmd/cmd.h"

struct topic_row {
	const char *name, *words;
};

static void put_rows(FILE *out, int wide, const struct topic_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		topic_row(out, wide, rows[i].name, rows[i].words);
}

void topic_examples(FILE *out)
{
	static const struct {
		const char *wish, *line;
	} rows[] = {
		{"Where does the time of a command go?",
		 "thaw record -- ./server --port 80 && thaw report"},
		{"What does that server do right now? (ten seconds of it)",
		 "thaw record -p $(pidof -s postgres) -d 10s"},
		{"Who holds the lock that everybody waits for?",
		 "thaw locks -p $(pidof -s postgres)"},
		{"What happened in those two seconds, to that thread?",
		 "thaw report --from 10s --to 12s --thread writer"},
		{"To look around in it, and to send it to somebody.",
		 "thaw view; thaw export -f html -o report.html"},
		{"Where do threads wait, as a flame graph?",
		 "thaw export -f collapsed --kind wait | flamegraph.pl > waits.svg"},
		{"What got slower in the new version, and is that more than chance?",
		 "thaw diff old.thaw new.thaw"},
		{"Anything else that one might want to know, in SQL.",
		 "thaw sql \"SELECT reason, sum(total_ns) FROM wait_sums GROUP BY reason\""},
		{"What does a recording of perf look like in all of this?",
		 "thaw import perf.data && thaw report"},
		{"The longest wait, for a script.", "thaw report --json | jq '.waits[0]'"},
		{"Why is there so little in it? Is the file whole?",
		 "thaw doctor; thaw info --verify"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		fprintf(out, "%s%s\n  %s\n", i ? "\n" : "", rows[i].wish, rows[i].line);
}

void topic_files(FILE *out)
{
	static const struct topic_row rows[] = {
		{CMD_CAPTURE, "The capture that verbs write and read unless another is named. It "
			      "holds everything: names, stacks, the machine. It can be read "
			      "while it is being written, and after a crash."},
		{"FILE.old", "The capture that had the name before: thaw record overwrites none."},
		{"libthaw-preload.so",
		 "With this library in it, a program records itself: the "
		 "ctimer engine. It is found beside thaw, or in ../lib/thaw."},
		{"perf-PID.map",
		 "In /tmp: names of functions that a runtime has compiled; those of "
		 "the recorded programs are read."},
	};

	put_rows(out, 18, rows, ARRAY_LEN(rows));
	fputc('\n', out);
	topic_say(out, "A file written with -o appears only when it is complete. Until then, and "
		       "on failure, an older file of that name stays.");
}

void topic_idle(FILE *out)
{
	static const struct topic_row rows[] = {
		{"an event loop", "It waits for any of several files, for connections, or for "
				  "signals."},
		{"a pool", "It is at a condition variable, a semaphore, a futex of unknown use, or "
			   "reads from a pipe; another thread of its process waits mostly there "
			   "too; and they are woken one by one, by others."},
		{"a clock", "It is at one of these, and most of it ended by timers of 40 ms or "
			    "more: nobody had anything for it."},
	};

	topic_say(out, "A thread's home is where it spends at least half of its waiting. It waits "
		       "for work there (\"no work\", idle) if that is:");
	fputc('\n', out);
	put_rows(out, 16, rows, ARRAY_LEN(rows));
	fputc('\n', out);
	topic_say(out,
		  "This is decided from the whole recording, also where a part of it is shown. "
		  "It is wrong for a client whose only wait is for one server's answer, and "
		  "for a pool whose one producer is slow: both look as if there were nothing "
		  "to do. A lone thread at a condition variable is never called idle.");
}

void topic_chance(FILE *out)
{
	topic_say(out,
		  "Each side's time is cut into 32 blocks (fewer if they would be shorter than "
		  "100 ms, but at least 8). How much a row differs from block to block says "
		  "how much it may differ from one recording to the next by chance alone.");
	fputc('\n', out);
	topic_say(out, "The noise between two runs is added, which no single recording shows "
		       "(--noise, 0.5%). With --per pace, so is the error of the machine's pace, "
		       "which is the median of after divided by before over all functions: the "
		       "same work takes some percent more or less from one run to the next.");
	fputc('\n', out);
	topic_say(out,
		  "A row is called different if chance explains it less often than --alpha "
		  "(1%), corrected for the number of rows (Holm): the chance that any of them "
		  "is wrongly called so is 1% in all. Rows with fewer than 20 samples or waits "
		  "are not tested.");
	fputc('\n', out);
	topic_say(out, "Stuck threads are not a matter of chance: they wait at the end of the "
		       "second side, have waited for at least a quarter of it, and did not wait at "
		       "the end of the first.");
}

void topic_environment(FILE *out)
{
	static const struct topic_row rows[] = {
		{"NO_COLOR", "If set and not empty, text is never coloured. Colour is used on "
			     "terminals only, and never if TERM is dumb."},
		{"TERM", "What the terminal can do."},
		{"TMPDIR",
		 "Where thaw locks keeps its temporary recording (without --keep), and where thaw "
		 "view puts the page that opens in the browser, if there is no XDG_RUNTIME_DIR."},
		{"TZ", "The time zone of times of day."},
		{"DISPLAY", "With it, or WAYLAND_DISPLAY, thaw view opens a browser."},
		{"DEBUGINFOD_URLS",
		 "Servers that are asked for debug information; without it, none "
		 "is."},
		{"SUDO_UID", "Under sudo, captures belong to that user, with SUDO_GID."},
	};

	put_rows(out, 16, rows, ARRAY_LEN(rows));
}

void topic_status(FILE *out)
{
	static const struct topic_row rows[] = {
		{"0", "Done."},
		{"1", "It failed; the message says what, on what, why, and what to do."},
		{"2", "Wrong usage."},
	};

	put_rows(out, 4, rows, ARRAY_LEN(rows));
	fputc('\n', out);
	topic_say(out,
		  "thaw record and thaw locks with a command exit with the command's status: 126 "
		  "if it cannot be run, 127 if there is none. thaw doctor: 0 all is well, 1 "
		  "something is left out, 2 nothing can be recorded.");
}
