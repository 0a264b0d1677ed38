// SPDX-License-Identifier: MIT
/* threads, manythreads: crowds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/base.h"
#include "lib/party.h"
#include "workload/workload.h"

struct stormer {
	struct truth *truth;
	size_t index;
	uint64_t end_ns; /* manythreads only */
};

/* Odd ones spin for up to 200 us, even ones sleep for up to 2 ms: the same in every run. */
static void *stormer_main(void *arg)
{
	struct stormer *s = arg;
	uint64_t seed = s->index * 7919 + 1, ns;
	char name[24];

	snprintf(name, sizeof(name), "storm-%zu", s->index);
	truth_begin(s->truth, name);
	random_below(&seed, 2);
	if (s->index % 2) {
		ns = random_below(&seed, 200 * NSEC_PER_USEC);
		spin_until(now_ns() + ns);
		fact(&s->truth->facts, "spun_ns", (double)ns);
	} else {
		ns = sleep_ns(random_below(&seed, 2 * NSEC_PER_MSEC));
		fact(&s->truth->facts, "slept_ns", (double)ns);
	}
	truth_end(s->truth);
	return NULL;
}

void case_threads(const struct args *a)
{
	size_t n = arg_count(a, "count"), alive = arg_count(a, "alive");
	struct truth *truths = truth_room(n);
	struct stormer *s = calloc(n + 1, sizeof(*s));
	pthread_t *threads = calloc(n + 1, sizeof(*threads));

	if (!s || !threads || !alive)
		die("cannot run %zu threads, %zu alive at a time", n, alive);
	for (size_t i = 0; i < n; i++) {
		if (i >= alive)
			pthread_join(threads[i - alive], NULL);
		s[i] = (struct stormer){&truths[i], i, 0};
		thread_start(&threads[i], stormer_main, &s[i]);
	}
	for (size_t i = n > alive ? n - alive : 0; i < n; i++)
		pthread_join(threads[i], NULL);
	fact(&run.facts, "created", (double)n);
	free(threads);
	free(s);
}

static void *crowd_main(void *arg)
{
	struct stormer *s = arg;
	uint64_t seed = s->index * 7919 + 1, slept = 0, sleeps = 0;
	char name[24];

	snprintf(name, sizeof(name), "crowd-%zu", s->index);
	truth_begin(s->truth, name);
	while (now_ns() < s->end_ns) {
		uint64_t left = s->end_ns - now_ns();
		uint64_t ns = 50 * NSEC_PER_MSEC + random_below(&seed, 100 * NSEC_PER_MSEC);

		slept += sleep_ns(ns < left ? ns : left);
		sleeps++;
	}
	fact(&s->truth->facts, "sleeps", (double)sleeps);
	fact(&s->truth->facts, "slept_ns", (double)slept);
	truth_end(s->truth);
	return NULL;
}

void case_manythreads(const struct args *a)
{
	size_t n = arg_count(a, "count");
	uint64_t end_ns = now_ns() + arg_seconds(a);
	struct truth *truths = truth_room(n);
	struct stormer *s = calloc(n + 1, sizeof(*s));
	pthread_t *threads = calloc(n + 1, sizeof(*threads));

	if (!s || !threads)
		die("no memory for %zu threads", n);
	for (size_t i = 0; i < n; i++) {
		s[i] = (struct stormer){&truths[i], i, end_ns};
		thread_start(&threads[i], crowd_main, &s[i]);
	}
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	fact(&run.facts, "created", (double)n);
	free(threads);
	free(s);
}
