// SPDX-License-Identifier: MIT
/* The contest: everybody wants the same lock until the time is up. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/contest.h"
#include "lib/party.h"

struct contestant {
	struct actor *actor;
	const struct turn *turn;
	pthread_t thread;
};

/* Asleep or computing, so that waiters meet holders of both kinds. */
void hold_time(struct actor *a)
{
	uint64_t ns = 200 * NSEC_PER_USEC + random_below(&a->seed, 2800 * NSEC_PER_USEC);

	if (random_below(&a->seed, 2))
		sleep_ns(ns);
	else
		spin_until(now_ns() + ns);
}

void pause_time(struct actor *a)
{
	sleep_ns(50 * NSEC_PER_USEC + random_below(&a->seed, 950 * NSEC_PER_USEC));
}

static void *contestant_main(void *arg)
{
	struct contestant *c = arg;
	struct actor *a = c->actor;
	char name[16];

	snprintf(name, sizeof(name), "contest-%zu", a->index % 1000);
	actor_begin(a, name);
	while (now_ns() < a->end_ns) {
		c->turn->wait(a);
		c->turn->hold(a);
		c->turn->let(a);
		hold_done(a);
		pause_time(a);
	}
	actor_end(a);
	return NULL;
}

static struct contestant *contestants(const struct args *a, const struct turn *turns, size_t n,
				      size_t *ret_n)
{
	size_t count = arg_count(a, "threads");
	struct actor *actors = actors_room(count);
	struct contestant *c = calloc(count + 1, sizeof(*c));
	uint64_t end_ns = now_ns() + arg_seconds(a);

	if (!count || !c)
		die("cannot run %zu contestants", count);
	for (size_t i = 0; i < count; i++) {
		actors[i].end_ns = end_ns;
		c[i] = (struct contestant){.actor = &actors[i], .turn = &turns[i % n]};
	}
	*ret_n = count;
	return c;
}

/* Every step-th, from the first on. */
static void contestants_run(struct contestant *c, size_t n, size_t first, size_t step)
{
	for (size_t i = first; i < n; i += step)
		thread_start(&c[i].thread, contestant_main, &c[i]);
	for (size_t i = first; i < n; i += step)
		pthread_join(c[i].thread, NULL);
}

void contest_run(const struct args *a, const struct turn *turns, size_t n)
{
	struct contestant *c = contestants(a, turns, n, &n);

	contestants_run(c, n, 0, 1);
	locklog_write(arg_str(a, "log"));
	free(c);
}

void contest_run_shared(const struct args *a, const struct turn *turns, size_t n,
			void (*other_begins)(void))
{
	struct contestant *c = contestants(a, turns, n, &n);
	pid_t pid = fork_child();

	if (!pid) {
		other_begins();
		contestants_run(c, n, 1, 2);
		_exit(0);
	}
	contestants_run(c, n, 0, 2);
	wait_child(pid);
	locklog_write(arg_str(a, "log"));
	free(c);
}
