// SPDX-License-Identifier: MIT
/* Clocks, and ways to spend time. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include "lib/base.h"

void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(1);
}

uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

void sleep_until(uint64_t at_ns)
{
	struct timespec t = {.tv_sec = (time_t)(at_ns / NSEC_PER_SEC),
			     .tv_nsec = (long)(at_ns % NSEC_PER_SEC)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

uint64_t sleep_ns(uint64_t ns)
{
	uint64_t t0 = now_ns();

	sleep_until(t0 + ns);
	return now_ns() - t0;
}

_Thread_local volatile uint64_t sink;

KEEP void burn(void)
{
	uint64_t x = sink | 1;

	for (int i = 0; i < 5003; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	sink = x;
}

KEEP uint64_t spin_until(uint64_t at_ns)
{
	uint64_t burns = 0;

	while (now_ns() < at_ns) {
		burn();
		burns++;
	}
	return burns;
}

uint64_t random_below(uint64_t *state, uint64_t n)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (*state >> 33) % n;
}
