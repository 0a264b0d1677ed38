// SPDX-License-Identifier: MIT
/*
 * What waits on a futex and is no contention: pool, workers that wait on a condition variable for
 * something to do, and join, a thread that waits for others to end.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/party.h"
#include "locks/locks.h"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t ready;
	size_t queued;
	bool closed;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .ready = PTHREAD_COND_INITIALIZER};
static struct lock *pool_lock_truth, *pool_ready_truth;

KEEP static void wait_pool_lock(struct actor *a)
{
	wait_begin(a, pool_lock_truth);
	pthread_mutex_lock(&pool.lock);
	wait_end(a);
}

/* Sleeps of getting the lock again are among those of the condition variable. */
KEEP static bool wait_for_work(struct actor *a)
{
	bool got;

	wait_pool_lock(a);
	while (!pool.queued && !pool.closed) {
		wait_begin(a, pool_ready_truth);
		pthread_cond_wait(&pool.ready, &pool.lock);
		wait_end(a);
	}
	got = pool.queued > 0;
	pool.queued -= got;
	pthread_mutex_unlock(&pool.lock);
	return got;
}

static void *worker_main(void *arg)
{
	struct actor *a = arg;
	uint64_t done = 0;
	char name[16];

	snprintf(name, sizeof(name), "worker-%zu", a->index % 1000);
	actor_begin(a, name);
	for (; wait_for_work(a); done++)
		spin_until(now_ns() + random_below(&a->seed, 1000 * NSEC_PER_USEC));
	fact(&a->truth->facts, "done", (double)done);
	actor_end(a);
	return NULL;
}

static uint64_t pace_ns;

static void *producer_main(void *arg)
{
	struct actor *a = arg;
	bool closed = false;

	actor_begin(a, "producer");
	while (!closed) {
		sleep_ns(pace_ns / 2 + random_below(&a->seed, pace_ns));
		closed = now_ns() >= a->end_ns;
		wait_pool_lock(a);
		pool.queued += !closed;
		pool.closed = closed;
		pthread_mutex_unlock(&pool.lock);
		if (closed)
			pthread_cond_broadcast(&pool.ready);
		else
			pthread_cond_signal(&pool.ready);
	}
	actor_end(a);
	return NULL;
}

void case_pool(const struct args *a)
{
	size_t n = arg_count(a, "threads");
	struct actor *actors = actors_room(n + 1);
	pthread_t *threads = calloc(n + 1, sizeof(*threads));
	uint64_t end_ns = now_ns() + arg_seconds(a);

	if (!threads)
		die("no memory for %zu threads", n);
	pace_ns = arg_count(a, "every-us") * NSEC_PER_USEC;
	pool_lock_truth = lock_add("pool.lock", "mutex", &pool.lock, sizeof(pool.lock));
	pool_ready_truth = lock_add("pool.ready", "condvar", &pool.ready, sizeof(pool.ready));
	for (size_t i = 0; i <= n; i++) {
		actors[i].end_ns = end_ns;
		thread_start(&threads[i], i ? worker_main : producer_main, &actors[i]);
	}
	for (size_t i = 0; i <= n; i++)
		pthread_join(threads[i], NULL);
	locklog_write(arg_str(a, "log"));
	free(threads);
}

/* ---- join ---- */

static struct lock *join_truth;

struct joined {
	pthread_t thread;
	uint64_t length_ns;
};

static void *joined_main(void *arg)
{
	struct joined *j = arg;

	sleep_ns(j->length_ns);
	return NULL;
}

KEEP static void wait_join(struct actor *a, struct joined *j)
{
	wait_begin(a, join_truth);
	pthread_join(j->thread, NULL);
	wait_end(a);
}

static void *joiner_main(void *arg)
{
	struct actor *a = arg;
	uint64_t joins = 0;

	actor_begin(a, "joiner");
	for (; now_ns() < a->end_ns; joins++) {
		struct joined j = {.length_ns = NSEC_PER_MSEC +
						random_below(&a->seed, 4 * NSEC_PER_MSEC)};

		thread_start(&j.thread, joined_main, &j);
		wait_join(a, &j);
	}
	fact(&a->truth->facts, "joins", (double)joins);
	actor_end(a);
	return NULL;
}

void case_join(const struct args *a)
{
	struct actor *actor = actors_room(1);
	pthread_t thread;

	join_truth = lock_add("join", "join", NULL, 0);
	actor->end_ns = now_ns() + arg_seconds(a);
	thread_start(&thread, joiner_main, actor);
	pthread_join(thread, NULL);
	locklog_write(arg_str(a, "log"));
}
