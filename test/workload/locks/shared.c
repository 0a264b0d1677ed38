// SPDX-License-Identifier: MIT
/*
 * shared: a mutex in memory that two processes share, at one address in the one and at another in
 * the other: it is one lock.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include "locks/locks.h"

#define SHARED_SIZE 8192
#define SHARED_OFFSET 4160 /* not the first page, nor the first word of one */

static struct {
	int fd;
	pthread_mutex_t *lock; /* as this process sees it */
	struct lock *truth;
} shared;

static void *shared_map(void *not_here)
{
	/* A mapping where the first one is would be the same address after all. */
	char *p = mmap(NULL, SHARED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, shared.fd, 0);

	if (p == MAP_FAILED || p == not_here)
		die("cannot map the shared memory: %s", strerror(errno));
	return p + SHARED_OFFSET;
}

KEEP static void wait_shared(struct actor *a)
{
	wait_begin(a, shared.truth);
	if (pthread_mutex_lock(shared.lock))
		die("pthread_mutex_lock");
	wait_end(a);
	hold_begin(a, shared.truth, false);
}

KEEP static void hold_shared(struct actor *a)
{
	hold_time(a);
	sink++;
}

KEEP static void let_shared(struct actor *a)
{
	hold_end(a, shared.truth);
	if (pthread_mutex_unlock(shared.lock))
		die("pthread_mutex_unlock");
}

/* The old mapping stays while the new one is made, and so the address is another one. */
static void other_begins(void)
{
	char *old = (char *)shared.lock - SHARED_OFFSET;

	shared.lock = shared_map(old);
	munmap(old, SHARED_SIZE);
}

void case_shared(const struct args *a)
{
	const struct turn turn = {wait_shared, hold_shared, let_shared};
	pthread_mutexattr_t attr;

	shared.fd = memfd_create("locks", MFD_CLOEXEC);
	if (shared.fd < 0 || ftruncate(shared.fd, SHARED_SIZE))
		die("cannot make shared memory: %s", strerror(errno));
	shared.lock = shared_map(NULL);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (pthread_mutex_init(shared.lock, &attr))
		die("pthread_mutex_init");
	shared.truth = lock_add("shared", "mutex", shared.lock, sizeof(*shared.lock));
	contest_run_shared(a, &turn, 1, other_begins);
}
