// SPDX-License-Identifier: MIT
/*
 * The same address, another object: reused, a mutex, then a semaphore, then a condition variable in
 * one piece of memory; dead_owner: a robust mutex whose holder ends without letting it go.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "badlocks/badlocks.h"
#include "lib/party.h"

#define PHASES 3
#define ACTORS_MAX 64

union object {
	pthread_mutex_t mutex;
	sem_t semaphore;
	pthread_cond_t condition;
};

static struct {
	union object *object;
	struct lock *mutex, *semaphore, *condition;
	pthread_mutex_t turn_lock;
	size_t turn, n; /* the condition: whose turn it is */
	pthread_barrier_t barrier;
	uint64_t phase_ns;
} re;

static void object_make(int phase)
{
	union object *was = re.object;

	free(re.object);
	re.object = malloc(sizeof(*re.object));
	if (!re.object || (was && re.object != was))
		die("the memory is not the same");
	if (phase == 0)
		pthread_mutex_init(&re.object->mutex, NULL);
	else if (phase == 1)
		sem_init(&re.object->semaphore, 0, 1);
	else
		pthread_cond_init(&re.object->condition, NULL);
}

KEEP static void wait_mutex(struct actor *a)
{
	wait_begin(a, re.mutex);
	pthread_mutex_lock(&re.object->mutex);
	wait_end(a);
	hold_begin(a, re.mutex, false);
	hold_time(a);
	hold_end(a, re.mutex);
	pthread_mutex_unlock(&re.object->mutex);
	pause_time(a);
}

KEEP static void wait_semaphore(struct actor *a)
{
	wait_begin(a, re.semaphore);
	if (sem_wait(&re.object->semaphore))
		die("sem_wait: %s", strerror(errno));
	wait_end(a);
	hold_begin(a, re.semaphore, false);
	hold_time(a);
	hold_end(a, re.semaphore);
	sem_post(&re.object->semaphore);
	pause_time(a);
}

/* In turns; the end of the time lets everybody go. */
KEEP static void wait_condition(struct actor *a)
{
	pthread_mutex_lock(&re.turn_lock);
	while (re.turn % re.n != a->index && now_ns() < a->end_ns) {
		wait_begin(a, re.condition);
		pthread_cond_wait(&re.object->condition, &re.turn_lock);
		wait_end(a);
	}
	pthread_mutex_unlock(&re.turn_lock);
	hold_time(a);
	pthread_mutex_lock(&re.turn_lock);
	re.turn++;
	pthread_mutex_unlock(&re.turn_lock);
	pthread_cond_broadcast(&re.object->condition);
}

static void *reuser_main(void *arg)
{
	static void (*const phases[PHASES])(struct actor * a) = {wait_mutex, wait_semaphore,
								 wait_condition};
	struct actor *a = arg;

	actor_begin(a, "reuser");
	for (int i = 0; i < PHASES; i++) {
		pthread_barrier_wait(&re.barrier);
		if (a->index == 0)
			object_make(i);
		pthread_barrier_wait(&re.barrier);
		a->end_ns = now_ns() + re.phase_ns;
		while (now_ns() < a->end_ns)
			phases[i](a);
	}
	actor_end(a);
	return NULL;
}

void case_reused(const struct args *a)
{
	size_t n = arg_count(a, "threads");
	struct actor *actors = actors_room(n);
	pthread_t threads[ACTORS_MAX];

	if (!n || n > ACTORS_MAX)
		die("threads: 1 to %d", ACTORS_MAX);
	re.n = n;
	re.phase_ns = arg_seconds(a) / PHASES;
	pthread_mutex_init(&re.turn_lock, NULL);
	pthread_barrier_init(&re.barrier, NULL, (unsigned)n);
	object_make(0);
	re.mutex = lock_add("mutex", "mutex", re.object, sizeof(re.object->mutex));
	re.semaphore = lock_add("semaphore", "semaphore", re.object, sizeof(re.object->semaphore));
	re.condition = lock_add("condition", "condvar", re.object, sizeof(re.object->condition));
	for (size_t i = 0; i < n; i++)
		thread_start(&threads[i], reuser_main, &actors[i]);
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	locklog_write(arg_str(a, "log"));
	free(re.object);
}

/* ---- dead_owner ---- */

extern pthread_mutex_t last_will;
pthread_mutex_t last_will;
static struct lock *will_truth;

static void *mortal_main(void *arg)
{
	int rc;

	pthread_setname_np(pthread_self(), "mortal");
	rc = pthread_mutex_lock(&last_will);
	/* On a busy machine the heir may have come and gone before the last one died. */
	if (rc == EOWNERDEAD)
		rc = pthread_mutex_consistent(&last_will);
	if (rc)
		die("pthread_mutex_lock: %s", strerror(rc));
	sleep_ns(3 * NSEC_PER_MSEC);
	return NULL;
}

KEEP static void *wait_will(void *arg)
{
	struct actor *a = arg;
	uint64_t deaths = 0;

	actor_begin(a, "heir");
	while (now_ns() < a->end_ns) {
		pthread_t mortal;
		int rc;

		thread_start(&mortal, mortal_main, NULL);
		sleep_ns(NSEC_PER_MSEC);
		wait_begin(a, will_truth);
		rc = pthread_mutex_lock(&last_will);
		wait_end(a);
		if (rc == EOWNERDEAD)
			pthread_mutex_consistent(&last_will);
		deaths += rc == EOWNERDEAD;
		pthread_mutex_unlock(&last_will);
		pthread_join(mortal, NULL);
	}
	fact(&a->truth->facts, "deaths", (double)deaths);
	actor_end(a);
	return NULL;
}

void case_dead_owner(const struct args *a)
{
	struct actor *actor = actors_room(1);
	pthread_mutexattr_t attr;
	pthread_t thread;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&last_will, &attr);
	will_truth = lock_add("last_will", "robust_mutex", &last_will, sizeof(last_will));
	actor->end_ns = now_ns() + arg_seconds(a);
	thread_start(&thread, wait_will, actor);
	pthread_join(thread, NULL);
	locklog_write(arg_str(a, "log"));
}
