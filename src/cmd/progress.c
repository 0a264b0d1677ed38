// SPDX-License-Identifier: MIT
#include "cmd/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/units.h"
#include "cmd/terminal.h"

/* A shorter task needs no bar; and a bar that changes more often flickers. */
#define AFTER_NS (NSEC_PER_SEC / 2)
#define EVERY_NS (NSEC_PER_SEC / 10)

enum { BAR = 40 };

void progress_begin(struct progress *p, const char *what)
{
	*p = (struct progress){
		.what = what, .begun = clock_mono_ns(), .to = 1, .terminal = isatty(STDERR_FILENO)};
}

void progress_stage(struct progress *p, double from, double to)
{
	p->from = from;
	p->to = to;
}

void progress_show(void *arg, double done)
{
	struct progress *p = arg;
	uint64_t now;
	int full;

	if (!p->terminal)
		return;
	now = clock_mono_ns();
	if (now - p->begun < AFTER_NS || now - p->shown < EVERY_NS)
		return;
	p->shown = now;
	done = p->from + done * (p->to - p->from);
	full = done <= 0 ? 0 : done >= 1 ? BAR : (int)(done * BAR);
	terminal_code(stderr, "\r");
	fprintf(stderr, "%s [%.*s%*s] %3d%%", p->what, full,
		"########################################", BAR - full, "", (int)(done * 100));
	fflush(stderr);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		terminal_code(stderr, "\r\033[K");
	p->shown = 0;
	p->terminal = false;
}
