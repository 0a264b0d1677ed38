// SPDX-License-Identifier: MIT
/* Below a signal handler, on the stack that it interrupted or on one of its own. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include "lib/base.h"
#include "stacks/stacks.h"

KEEP static void signal_1(void)
{
	for (int i = 0; i < 100; i++)
		burn();
	sink++;
}

KEEP static void signal_2(void)
{
	signal_1();
	sink++;
}

KEEP static void signal_3(int sig)
{
	signal_2();
	sink += (uint64_t)sig;
}

static void on_timer(bool own_stack)
{
	struct sigaction sa = {.sa_handler = signal_3,
			       .sa_flags = SA_RESTART | (own_stack ? SA_ONSTACK : 0)};
	struct itimerval t = {{0, 1000}, {0, 1000}};
	stack_t ss = {.ss_size = 1 << 16};

	if (own_stack) {
		ss.ss_sp = malloc(ss.ss_size);
		if (!ss.ss_sp || sigaltstack(&ss, NULL))
			die("sigaltstack: %s", strerror(errno));
	}
	if (sigaction(SIGPROF, &sa, NULL) || setitimer(ITIMER_PROF, &t, NULL))
		die("timer: %s", strerror(errno));
}

static void timer_off(void)
{
	struct itimerval t = {0};

	setitimer(ITIMER_PROF, &t, NULL);
}

KEEP uint64_t leaf_signal(struct job *j)
{
	on_timer(false);
	while (go_on(j))
		burn();
	timer_off();
	return sink;
}

KEEP uint64_t leaf_altstack(struct job *j)
{
	on_timer(true);
	while (go_on(j))
		burn();
	timer_off();
	return sink;
}
