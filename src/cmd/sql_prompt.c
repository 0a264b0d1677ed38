// SPDX-License-Identifier: MIT
/*
 * The prompt of thaw sql. A statement may have several lines and ends with a ';'. Ctrl-C ends a
 * statement that runs, or forgets what was typed; Ctrl-D ends thaw. The terminal's own editing of
 * lines is all there is. The signal is blocked except during a statement and the wait for a line,
 * so that no other code is interrupted.
 */
#include "cmd/sql_prompt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

static struct sql *running; /* for the signal handler alone */

static void on_interrupt(int sig)
{
	if (running)
		sql_interrupt(running);
}

static void block_interrupt(int how, sigset_t *before)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, SIGINT);
	(void)sigprocmask(how, &one, before);
}

static void help(void)
{
	fputs(".tables          the tables\n"
	      ".schema [TABLE]  their columns\n"
	      ".mode MODE       answer with: table, csv, json\n"
	      ".help            this\n"
	      ".quit            end; so does Ctrl-D\n"
	      "Everything else is SQL, and ends with a ';'. Ctrl-C ends a statement.\n"
	      "Times are nanoseconds since the start of the recording.\n",
	      stdout);
}

static void sql_prompt_complain(void)
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

/* A line that begins with a dot. *ret_end: it asks for the end. */
static int sql_prompt_command(char *line, enum sql_form *form, bool *ret_end)
{
	char *word = strtok(line, " \t\n;"), *arg = strtok(NULL, " \t\n;");
	int rc = 0;

	*ret_end = !strcmp(word, ".quit") || !strcmp(word, ".exit");
	if (*ret_end)
		return 0;
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
	return rc;
}

static void sql_prompt_answer(struct sql *s, const char *text, enum sql_form form)
{
	int rc;

	running = s;
	block_interrupt(SIG_UNBLOCK, NULL);
	rc = sql_run(s, text, form, stdout);
	block_interrupt(SIG_BLOCK, NULL);
	running = NULL;
	if (rc)
		sql_prompt_complain();
	(void)fflush(stdout);
}

/*
 * Waits for a line or the end. False: it was Ctrl-C. A terminal hands over whole lines, one at a
 * time, so none waits in stdio's buffer.
 */
static bool wait_for_line(const sigset_t *mask)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

	return ppoll(&in, 1, NULL, mask) >= 0 || errno != EINTR;
}

static bool only_space(const char *s)
{
	return !s[strspn(s, " \t\n")];
}

void sql_prompt(struct sql *s, const char *path, enum sql_form form)
{
	struct sigaction act = {.sa_handler = on_interrupt}, before;
	sigset_t mask, open_mask;
	struct buf text = {0};
	char *line = NULL;
	size_t room = 0;

	block_interrupt(SIG_BLOCK, &mask);
	open_mask = mask;
	sigdelset(&open_mask, SIGINT);
	sigaction(SIGINT, &act, &before);
	printf("%s: .tables shows the tables, .help what else there is\n", path);
	for (;;) {
		fputs(text.len ? " ...> " : "thaw> ", stdout);
		(void)fflush(stdout);
		if (!wait_for_line(&open_mask)) {
			fputc('\n', stdout);
			buf_clear(&text);
			continue;
		}
		if (getline(&line, &room, stdin) < 0)
			break;
		if (!text.len && line[0] == '.') {
			bool end;

			if (sql_prompt_command(line, &form, &end))
				sql_prompt_complain();
			if (end)
				break;
			continue;
		}
		if (!text.len && only_space(line))
			continue;
		buf_put(&text, line, strlen(line));
		if (!sql_is_whole(buf_cstr(&text)))
			continue;
		sql_prompt_answer(s, buf_cstr(&text), form);
		buf_clear(&text);
	}
	fputc('\n', stdout);
	sigaction(SIGINT, &before, NULL);
	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	free(line);
	buf_done(&text);
}

static int run_rest(struct sql *s, struct buf *text, enum sql_form form)
{
	int rc = only_space(buf_cstr(text)) ? 0 : sql_run(s, buf_cstr(text), form, stdout);

	buf_clear(text);
	return rc;
}

int sql_text(struct sql *s, const char *text, enum sql_form form)
{
	char *copy = mem_strdup(text), *next = copy, *line;
	struct buf sql = {0};
	bool end = false;
	int rc = 0;

	while (!rc && !end && (line = strsep(&next, "\n"))) {
		bool free_line = only_space(buf_cstr(&sql)) || sql_is_whole(buf_cstr(&sql));

		if (line[0] == '.' && free_line) {
			rc = run_rest(s, &sql, form);
			rc = rc ? rc : sql_prompt_command(line, &form, &end);
			continue;
		}
		buf_put(&sql, line, strlen(line));
		buf_put(&sql, "\n", 1);
	}
	rc = rc ? rc : run_rest(s, &sql, form);
	buf_done(&sql);
	free(copy);
	return rc;
}
