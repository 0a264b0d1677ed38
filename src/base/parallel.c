// SPDX-License-Identifier: MIT
#include "base/parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS_MAX = 8 };

struct work {
	void (*fn)(void *arg, size_t i);
	void *arg;
	size_t n;
	atomic_size_t next;
};

static void *parallel_take(void *arg)
{
	struct work *w = arg;
	size_t i;

	while ((i = atomic_fetch_add(&w->next, 1)) < w->n)
		w->fn(w->arg, i);
	return NULL;
}

void parallel(size_t n, void (*fn)(void *arg, size_t i), void *arg)
{
	struct work w = {.fn = fn, .arg = arg, .n = n};
	pthread_t others[THREADS_MAX - 1];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t more = 0;

	/* This thread is one of them: without any others the work is done all the same. */
	while (more < THREADS_MAX - 1 && (long)more + 1 < cpus && more + 1 < n &&
	       !pthread_create(&others[more], NULL, parallel_take, &w))
		more++;
	parallel_take(&w);
	while (more)
		pthread_join(others[--more], NULL);
}
