// SPDX-License-Identifier: MIT
/*
 * The prompt of thaw sql. A statement may have several lines and ends with a ';'. Ctrl-C ends a
 * statement that runs, or forgets what was typed; Ctrl-D ends thaw. The terminal's own editing of
 * lines is all there is.
 */
#include "cmd/sql_prompt.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"

static struct sql *running; /* for the signal handler alone */

static void on_interrupt(int sig)
{
	if (running)
		sql_interrupt(running);
}

static void help(void)
{
	fputs(".tables          the tables\n"
	      ".schema [TABLE]  their columns\n"
	      ".mode MODE       answer with: table, csv, json\n"
	      ".help            this\n"
	      ".quit            end; so does Ctrl-D\n"
	      "Everything else is SQL, and ends with a ';'. Ctrl-C ends a statement.\n"
	      "Times are nanoseconds since the recording's begin.\n",
	      stdout);
}

static void complain(void)
{
	(void)fflush(stdout);
	fprintf(stderr, "%s\n", err_msg());
}

static int set_mode(const char *word, enum sql_form *form)
{
	static const char *const modes[] = {
		[SQL_TABLE] = "table", [SQL_CSV] = "csv", [SQL_JSON] = "json"};

	for (unsigned i = 0; i < 3; i++) {
		if (strcmp(word, modes[i]))
			continue;
		*form = i;
		return 0;
	}
	return err_set(-EINVAL, ".mode: '%s' is none of table, csv and json", word);
}

/* A line that begins with a dot. False: it is the end. */
static bool command(char *line, enum sql_form *form)
{
	char *word = strtok(line, " \t\n"), *arg = strtok(NULL, " \t\n;");
	int rc = 0;

	if (!strcmp(word, ".quit") || !strcmp(word, ".exit"))
		return false;
	if (!strcmp(word, ".help"))
		help();
	else if (!strcmp(word, ".tables"))
		rc = sql_describe(stdout, false, NULL);
	else if (!strcmp(word, ".schema"))
		rc = sql_describe(stdout, true, arg);
	else if (!strcmp(word, ".mode"))
		rc = set_mode(arg ? arg : "", form);
	else
		rc = err_set(-EINVAL, "there is no %s; .help lists what there is", word);
	if (rc)
		complain();
	return true;
}

static void answer(struct sql *s, const char *text, enum sql_form form)
{
	int rc;

	running = s;
	rc = sql_run(s, text, form, stdout);
	running = NULL;
	if (rc)
		complain();
	(void)fflush(stdout);
}

static bool only_space(const char *s)
{
	return !s[strspn(s, " \t\n")];
}

void sql_prompt(struct sql *s, const char *path, enum sql_form form)
{
	/* Not restarted: what waits for a line comes back. */
	struct sigaction act = {.sa_handler = on_interrupt}, before;
	struct buf text = {0};
	char *line = NULL;
	size_t room = 0;

	sigaction(SIGINT, &act, &before);
	printf("%s: .tables shows the tables, .help what else there is\n", path);
	for (;;) {
		fputs(text.len ? " ...> " : "thaw> ", stdout);
		(void)fflush(stdout);
		errno = 0;
		if (getline(&line, &room, stdin) < 0) {
			if (errno != EINTR)
				break;
			clearerr(stdin);
			fputc('\n', stdout);
			buf_clear(&text);
			continue;
		}
		if (!text.len && line[0] == '.') {
			if (!command(line, &form))
				break;
			continue;
		}
		if (!text.len && only_space(line))
			continue;
		buf_put(&text, line, strlen(line));
		if (!sql_is_whole(buf_cstr(&text)))
			continue;
		answer(s, buf_cstr(&text), form);
		buf_clear(&text);
	}
	fputc('\n', stdout);
	sigaction(SIGINT, &before, NULL);
	free(line);
	buf_done(&text);
}
