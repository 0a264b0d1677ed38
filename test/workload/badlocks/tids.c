// SPDX-License-Identifier: MIT
/*
 * tids: the numbers of threads come round. Pairs of a holder and a waiter meet at churn_lock; then
 * threads that do nothing use up all numbers, and pairs with the same numbers and other names meet
 * at the same lock. Where there are too many numbers to use up, `reused` is 0.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "badlocks/badlocks.h"
#include "lib/party.h"

#define CHURN_MAX 40000
#define MARGIN 64

extern pthread_mutex_t churn_lock;
pthread_mutex_t churn_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
	struct lock *truth;
	pthread_barrier_t meet;
	const char *age;
} churn;

static void *holder_main(void *arg)
{
	struct actor *a = arg;
	char name[16];

	snprintf(name, sizeof(name), "%s-h-%zu", churn.age, a->index % 1000);
	actor_begin(a, name);
	pthread_mutex_lock(&churn_lock);
	hold_begin(a, churn.truth, false);
	pthread_barrier_wait(&churn.meet);
	sleep_ns(2 * NSEC_PER_MSEC);
	hold_end(a, churn.truth);
	pthread_mutex_unlock(&churn_lock);
	actor_end(a);
	return NULL;
}

KEEP static void *wait_churn(void *arg)
{
	struct actor *a = arg;
	char name[16];

	snprintf(name, sizeof(name), "%s-w-%zu", churn.age, a->index % 1000);
	actor_begin(a, name);
	pthread_barrier_wait(&churn.meet);
	wait_begin(a, churn.truth);
	pthread_mutex_lock(&churn_lock);
	wait_end(a);
	hold_begin(a, churn.truth, false);
	hold_end(a, churn.truth);
	pthread_mutex_unlock(&churn_lock);
	actor_end(a);
	return NULL;
}

static void pairs_meet(struct actor *actors, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		pthread_t holder, waiter;

		thread_start(&holder, holder_main, &actors[2 * i]);
		thread_start(&waiter, wait_churn, &actors[2 * i + 1]);
		pthread_join(holder, NULL);
		pthread_join(waiter, NULL);
	}
}

static void *nobody_main(void *arg)
{
	*(pid_t *)arg = gettid();
	return NULL;
}

/* Until the next numbers are again those that came after `first`. */
static size_t numbers_use(pid_t first)
{
	pid_t tid = 0;
	size_t made = 0;

	do {
		pthread_t thread;

		thread_start(&thread, nobody_main, &tid);
		pthread_join(thread, NULL);
	} while (++made < CHURN_MAX && !(tid < first && first - tid <= MARGIN));
	return made;
}

static size_t reused(const struct actor *actors, size_t n)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = n; j < 2 * n; j++)
			found += actors[i].truth->tid == actors[j].truth->tid;
	}
	return found;
}

void case_tids(const struct args *a)
{
	size_t n = arg_count(a, "pairs"), made;
	struct actor *actors = actors_room(4 * n);

	churn.truth = lock_add("churn_lock", "mutex", &churn_lock, sizeof(churn_lock));
	pthread_barrier_init(&churn.meet, NULL, 2);
	churn.age = "old";
	pairs_meet(actors, n);
	made = n ? numbers_use(actors[0].truth->tid) : 0;
	churn.age = "new";
	pairs_meet(actors + 2 * n, n);
	fact(&run.facts, "churned", (double)made);
	fact(&run.facts, "reused", (double)reused(actors, 2 * n));
	locklog_write(arg_str(a, "log"));
}
