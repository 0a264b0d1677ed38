// SPDX-License-Identifier: MIT
/*
 * Where a lock can lie: on the heap, in a member of a struct, in an array, on a stack, in a
 * function. All are normal mutexes; the name that a profiler should find is the truth's.
 */
#include <pthread.h>
#include <stdlib.h>
#include "locks/locks.h"

/* The one that this run is about; threads find it here. */
static struct {
	pthread_mutex_t *lock;
	struct lock *truth;
} place;

KEEP static void wait_place(struct actor *a)
{
	wait_begin(a, place.truth);
	if (pthread_mutex_lock(place.lock))
		die("pthread_mutex_lock");
	wait_end(a);
	hold_begin(a, place.truth, false);
}

KEEP static void hold_place(struct actor *a)
{
	hold_time(a);
	sink++;
}

KEEP static void let_place(struct actor *a)
{
	hold_end(a, place.truth);
	if (pthread_mutex_unlock(place.lock))
		die("pthread_mutex_unlock");
}

static void place_run(const struct args *a, pthread_mutex_t *m, const char *name)
{
	const struct turn turn = {wait_place, hold_place, let_place};

	place.lock = m;
	place.truth = lock_add(name, "mutex", m, sizeof(*m));
	contest_run(a, &turn, 1);
}

struct account {
	uint64_t id;
	char owner[40];
	pthread_mutex_t lock;
};

/* It has no name; only where it came from. */
void case_heap(const struct args *a)
{
	struct account *account = calloc(1, sizeof(*account));

	if (!account)
		die("no memory for an account");
	pthread_mutex_init(&account->lock, NULL);
	place_run(a, &account->lock, "");
	free(account);
}

static struct {
	uint64_t generation;
	struct {
		size_t length;
		pthread_mutex_t lock;
	} wal;
	pthread_mutex_t commit_lock;
} server = {.wal.lock = PTHREAD_MUTEX_INITIALIZER, .commit_lock = PTHREAD_MUTEX_INITIALIZER};

/* A member, and one of a member. */
void case_member(const struct args *a)
{
	server.generation++;
	place_run(a, &server.commit_lock, "server.commit_lock");
}

void case_inner(const struct args *a)
{
	server.wal.length++;
	place_run(a, &server.wal.lock, "server.wal.lock");
}

static struct account accounts[5];

void case_array(const struct args *a)
{
	for (size_t i = 0; i < ARRAY_LEN(accounts); i++) {
		accounts[i].id = i;
		pthread_mutex_init(&accounts[i].lock, NULL);
	}
	place_run(a, &accounts[3].lock, "accounts[3].lock");
}

void case_stack(const struct args *a)
{
	pthread_mutex_t local = PTHREAD_MUTEX_INITIALIZER;

	place_run(a, &local, "");
}

void case_function(const struct args *a)
{
	static pthread_mutex_t once_lock = PTHREAD_MUTEX_INITIALIZER;

	place_run(a, &once_lock, "once_lock");
}
