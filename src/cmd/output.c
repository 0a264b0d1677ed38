// SPDX-License-Identifier: MIT
#include "cmd/output.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"

enum { WIDTH_LEAST = 80 };

void output_begin(void)
{
	signal(SIGPIPE, SIG_DFL);
}

size_t output_width(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return WIDTH_LEAST;
	return size.ws_col > WIDTH_LEAST ? size.ws_col : WIDTH_LEAST;
}

bool output_colour(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

int output_close(FILE *out, const char *name)
{
	bool bad;
	int err;

	errno = 0;
	bad = fflush(out) != 0 || ferror(out);
	err = errno;
	if (fclose(out) && !bad) {
		bad = true;
		err = errno;
	}
	if (!bad)
		return 0;
	return err_set(err ? -err : -EIO, "cannot write %s: %s", name, strerror(err ? err : EIO));
}
