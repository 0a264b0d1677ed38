// SPDX-License-Identifier: MIT
/* thaw view: a capture as a page in the browser, from a server on loopback. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/browser.h"
#include "cmd/cmd.h"
#include "engine/files_limit.h"
#include "query/query.h"
#include "serve/serve.h"
#include "store/reader.h"

/* Descriptors: for connections, and the server's own. */
enum { VIEW_FILES = 1200 };

struct view_args {
	uint64_t port;
	bool no_open;
};

#define AT(member) offsetof(struct view_args, member)

static const struct option_row rows[] = {
	{0, "port", OPTION_U64, AT(port), "N", "listen on this port (any that is free)", 1, 65535,
	 0},
	{0, "no-open", OPTION_FLAG, AT(no_open), NULL, "only print the address", 0, 0, 0},
	{0, NULL, 0, 0, NULL, NULL, 0, 0, 0},
};

const struct cmd_form cmd_view_form = {
	.usage =
		"usage: thaw view [options] [FILE]\n\n"
		"Shows a capture (capture.thaw) as a page in the browser, until Ctrl-C. Only this\n"
		"machine can reach it, and only with the address that is printed.\n\n",
	.rows = rows,
	.operands = {OPERAND_CAPTURE},
};

/* Called before there are threads, so that no signal interrupts one: 0, or negative. */
static int catch_signals(int *ret_fd)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*ret_fd = signalfd(-1, &set, SFD_CLOEXEC);
	return *ret_fd < 0 ? err_set(-errno, "no descriptor for signals: %s", strerror(errno)) : 0;
}

static int open_query(const char *path, struct query **ret)
{
	struct reader *r;
	int rc = cmd_open(path, true, &r);

	if (rc)
		return rc;
	cmd_tell_damage("view", path, r);
	*ret = query_new(r, path);
	return 0;
}

/* Until a signal comes. The page itself says what went wrong with loading, so it stays. */
static void wait_for_end(struct serve *s, int signals)
{
	struct pollfd fds[] = {{signals, POLLIN, 0}, {serve_fd(s), POLLIN, 0}};

	while (!fds[0].revents) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		if (!fds[1].revents)
			continue;
		if (serve_loaded(s))
			cmd_fail("view");
		fds[1] = (struct pollfd){-1, 0, 0};
	}
}

static char *view_show(const struct serve *s, const struct view_args *a)
{
	char *file = a->no_open || !browser_usable() ? NULL : browser_open(serve_address(s));

	printf("%s\n", serve_address(s));
	printf("%s Ctrl-C ends it.\n",
	       file ? "It opens in the browser." : "Open this address in a browser.");
	fflush(stdout);
	return file;
}

static int view_run(const char *path, const struct view_args *a)
{
	const char *slash = strrchr(path, '/');
	struct query *q;
	struct serve *s;
	char *file;
	int signals, rc = open_query(path, &q);

	if (rc)
		return rc;
	rc = catch_signals(&signals);
	if (rc) {
		query_close(q);
		return rc;
	}
	/* The server also works with fewer. */
	(void)files_limit_raise(VIEW_FILES);
	rc = serve_start(q, slash ? slash + 1 : path, (uint16_t)a->port, &s);
	if (rc)
		return rc;
	file = view_show(s, a);
	wait_for_end(s, signals);
	if (file)
		unlink(file);
	free(file);
	/* Do not wait for a long question: nothing is lost with it. */
	if (!serve_stop(s))
		_exit(0);
	close(signals);
	return 0;
}

int cmd_view(int argc, char **argv)
{
	struct view_args args = {0};
	const char *path = NULL;
	int rc = cmd_parse(&cmd_view_form, argc, argv, &args, &path);

	if (rc > 0)
		return 0;
	if (rc)
		return cmd_usage_error(argv[0]);
	return view_run(path ? path : CMD_CAPTURE, &args) ? cmd_fail(argv[0]) : 0;
}
