// SPDX-License-Identifier: MIT
/*
 * A program that notices when somebody is inside of it: `manners [CASE...]` does what signals,
 * timers, preloaded libraries and changed environments are known to disturb, and prints what it
 * saw. Its output and its exit status are always the same; whatever a profiler does to it shows.
 */
#include "manners/manners.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"sleeps", manners_sleeps},	{"pipes", manners_pipes},
	{"waits", manners_waits},	{"handlers", manners_handlers},
	{"sigwait", manners_sigwait},	{"itimer", manners_itimer},
	{"altstack", manners_altstack}, {"fibers", manners_fibers},
	{"small", manners_small},	{"crowd", manners_crowd},
	{"cancel", manners_cancel},	{"keys", manners_keys},
	{"environ", manners_environ},	{"programs", manners_programs},
	{"forks", manners_forks},	{"libraries", manners_libraries},
	{"fds", manners_fds},		{"limits", manners_limits},
	{"own", manners_own_signal},
};

static int wanted(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return 1;
	return argc < 2;
}

int main(int argc, char **argv)
{
	manners_started(argv[0]);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (!wanted(argc, argv, cases[i].name))
			continue;
		printf("== %s\n", cases[i].name);
		cases[i].run();
		fflush(stdout);
	}
	return 42;
}
