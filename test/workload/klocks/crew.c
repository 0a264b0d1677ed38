// SPDX-License-Identifier: MIT
/* Threads that all do the same thing, and count how often. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "klocks/klocks.h"
#include "lib/party.h"

static void *hand_main(void *arg)
{
	struct hand *h = arg;
	char name[16];

	snprintf(name, sizeof(name), "hand-%zu", h->index % 1000);
	truth_begin(h->truth, name);
	for (; now_ns() < h->end_ns; h->done++)
		h->work(h);
	fact(&h->truth->facts, "operations", (double)h->done);
	truth_end(h->truth);
	return NULL;
}

void crew_run(const struct args *a, void (*work)(struct hand *h), int from, int to)
{
	size_t n = arg_count(a, "threads");
	struct truth *truths = truth_room(n);
	struct hand *hands = calloc(n + 1, sizeof(*hands));
	pthread_t *threads = calloc(n + 1, sizeof(*threads));
	uint64_t end_ns = now_ns() + arg_seconds(a);
	double operations = 0;

	if (!hands || !threads)
		die("no memory for %zu threads", n);
	for (size_t i = 0; i < n; i++) {
		hands[i] = (struct hand){.truth = &truths[i],
					 .work = work,
					 .index = i,
					 .end_ns = end_ns,
					 .from = from,
					 .to = to};
		thread_start(&threads[i], hand_main, &hands[i]);
	}
	for (size_t i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		operations += (double)hands[i].done;
	}
	fact(&run.facts, "operations", operations);
	free(threads);
	free(hands);
}
