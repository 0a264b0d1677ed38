// SPDX-License-Identifier: MIT
/* Runs pairs of waiter and feeder, and those who wait alone, until the time is up. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include "lib/party.h"
#include "waits/waits.h"

struct running {
	struct pair pair;
	const struct pair_case *how;
	pthread_t threads[2];
};

static void *waiter_main(void *arg)
{
	struct running *r = arg;

	actor_begin(r->pair.waiter, r->how->name);
	atomic_store(&r->pair.waiter_tid, r->pair.waiter->truth->tid);
	while (r->how->wait(&r->pair))
		;
	actor_end(r->pair.waiter);
	return NULL;
}

static void *feeder_main(void *arg)
{
	struct running *r = arg;
	struct actor *a = r->pair.feeder;

	actor_begin(a, "feeder");
	while (!atomic_load(&r->pair.waiter_tid))
		sleep_ns(100 * NSEC_PER_USEC);
	while (now_ns() < a->end_ns) {
		sleep_ns(500 * NSEC_PER_USEC + random_below(&a->seed, 2500 * NSEC_PER_USEC));
		r->how->feed(&r->pair);
	}
	atomic_store(&r->pair.over, true);
	r->how->end(&r->pair);
	actor_end(a);
	return NULL;
}

void pairs_run(const struct args *a, const struct pair_case *cases, size_t n)
{
	struct actor *actors = actors_room(2 * n);
	struct running *all = calloc(n, sizeof(*all));
	uint64_t end_ns = now_ns() + arg_seconds(a);

	if (!all)
		die("no memory for %zu pairs", n);
	for (size_t i = 0; i < n; i++) {
		struct pair *p = &all[i].pair;

		all[i].how = &cases[i];
		p->waiter = &actors[2 * i];
		p->feeder = &actors[2 * i + 1];
		p->feeder->end_ns = end_ns;
		p->reason = lock_add(cases[i].name, cases[i].reason, NULL, 0);
		cases[i].open(p);
		thread_start(&all[i].threads[0], waiter_main, &all[i]);
		thread_start(&all[i].threads[1], feeder_main, &all[i]);
	}
	for (size_t i = 0; i < n; i++) {
		pthread_join(all[i].threads[0], NULL);
		pthread_join(all[i].threads[1], NULL);
	}
	locklog_write(arg_str(a, "log"));
	free(all);
}

struct alone {
	struct lone lone;
	const char *name;
	pthread_t thread;
};

static void *lone_main(void *arg)
{
	struct alone *one = arg;

	actor_begin(one->lone.actor, one->name);
	one->lone.work(&one->lone);
	actor_end(one->lone.actor);
	return NULL;
}

void lone_run(const struct args *a, const struct lone_case *cases, size_t n)
{
	struct actor *actors = actors_room(n);
	struct alone *all = calloc(n, sizeof(*all));
	uint64_t end_ns;

	if (!all)
		die("no memory for %zu threads", n);
	for (size_t i = 0; i < n; i++) {
		all[i].name = cases[i].name;
		all[i].lone = (struct lone){
			.actor = &actors[i],
			.reason = lock_add(cases[i].name, cases[i].reason, NULL, 0),
			.work = cases[i].work,
			.fd = cases[i].open ? cases[i].open() : -1,
		};
	}
	end_ns = now_ns() + arg_seconds(a);
	for (size_t i = 0; i < n; i++) {
		actors[i].end_ns = end_ns;
		thread_start(&all[i].thread, lone_main, &all[i]);
	}
	for (size_t i = 0; i < n; i++) {
		pthread_join(all[i].thread, NULL);
		if (all[i].lone.fd >= 0)
			close(all[i].lone.fd);
	}
	locklog_write(arg_str(a, "log"));
	free(all);
}
