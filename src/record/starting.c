// SPDX-License-Identifier: MIT
#include "record/starting.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/units.h"

struct starting {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t over_cond;
	bool over;
	const char *what;
	starting_fn *fn;
	void *ctx;
	uint64_t since;
};

static void *starting_main(void *arg)
{
	struct starting *s = arg;

	pthread_mutex_lock(&s->lock);
	for (uint64_t after = NSEC_PER_SEC; !s->over; after *= 2) {
		uint64_t at = s->since + after;
		struct timespec t = {(time_t)(at / NSEC_PER_SEC), (long)(at % NSEC_PER_SEC)};

		while (!s->over && clock_mono_ns() < at)
			pthread_cond_timedwait(&s->over_cond, &s->lock, &t);
		if (!s->over)
			s->fn(s->ctx, s->what, clock_mono_ns() - s->since);
		while (s->since + after * 2 < clock_mono_ns())
			after *= 2;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct starting *starting_new(starting_fn *fn, void *ctx, uint64_t since)
{
	struct starting *s = fn ? mem_zalloc(sizeof(*s)) : NULL;
	pthread_condattr_t attr;

	if (!s)
		return NULL;
	*s = (struct starting){
		.what = "looking at the machine", .fn = fn, .ctx = ctx, .since = since};
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->over_cond, &attr);
	pthread_condattr_destroy(&attr);
	if (!pthread_create(&s->thread, NULL, starting_main, s))
		return s;
	free(s);
	return NULL;
}

void starting_at(struct starting *s, const char *what)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->what = what;
	pthread_mutex_unlock(&s->lock);
}

void starting_end(struct starting *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->over = true;
	pthread_cond_signal(&s->over_cond);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_cond_destroy(&s->over_cond);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
