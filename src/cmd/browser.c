// SPDX-License-Identifier: MIT
#include "cmd/browser.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

static bool browser_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/* Under sudo, root is on another user's screen: browsers refuse that, or should. */
bool browser_usable(void)
{
	if (!browser_set("DISPLAY") && !browser_set("WAYLAND_DISPLAY"))
		return false;
	return geteuid() != 0 ||
	       !(browser_set("SUDO_UID") || browser_set("PKEXEC_UID") || browser_set("DOAS_USER"));
}

static char *write_file(const char *address)
{
	const char *folder = browser_set("XDG_RUNTIME_DIR") ? getenv("XDG_RUNTIME_DIR")
			     : browser_set("TMPDIR")	    ? getenv("TMPDIR")
							    : "/tmp";
	struct buf b = {0};
	char *path;
	FILE *f;
	int fd;

	buf_printf(&b, "%s/thaw-view-XXXXXX.html", folder);
	path = mem_strdup(buf_cstr(&b));
	buf_done(&b);
	fd = mkostemps(path, 5, O_CLOEXEC);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (f) {
		fprintf(f,
			"<!doctype html><meta charset=\"utf-8\"><title>thaw</title>"
			"<meta http-equiv=\"refresh\" content=\"0;url=%s\">"
			"<a href=\"%s\">thaw view</a>\n",
			address, address);
		if (!fclose(f))
			return path;
		unlink(path);
	} else if (fd >= 0) {
		close(fd);
		unlink(path);
	}
	free(path);
	return NULL;
}

/* Detaches from the terminal: Ctrl-C is for thaw, and nobody wants a browser's output. */
static void become_opener(const char *path)
{
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	for (int fd = 0; fd < 3 && null >= 0; fd++)
		dup2(null, fd);
	execlp("xdg-open", "xdg-open", path, (char *)NULL);
	_exit(127);
}

char *browser_open(const char *address)
{
	char *path = write_file(address);
	int status = 0;
	pid_t pid = path ? fork() : -1;

	/* Fork twice, so that nobody has to wait for the browser. */
	if (!pid) {
		pid = fork();
		if (!pid)
			become_opener(path);
		_exit(pid < 0);
	}
	if (pid > 0 && waitpid(pid, &status, 0) == pid && !status)
		return path;
	if (path)
		unlink(path);
	free(path);
	return NULL;
}
