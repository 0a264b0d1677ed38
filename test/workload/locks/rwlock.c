// SPDX-License-Identifier: MIT
/* rwlock: two who write and, among the others, readers who hold it together; semaphore: of one. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include "locks/locks.h"

extern pthread_rwlock_t table_lock;
pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct lock *table_truth;

KEEP static void wait_write(struct actor *a)
{
	wait_begin(a, table_truth);
	if (pthread_rwlock_wrlock(&table_lock))
		die("pthread_rwlock_wrlock");
	wait_end(a);
	hold_begin(a, table_truth, false);
}

KEEP static void hold_write(struct actor *a)
{
	hold_time(a);
	sink++;
}

KEEP static void wait_read(struct actor *a)
{
	wait_begin(a, table_truth);
	if (pthread_rwlock_rdlock(&table_lock))
		die("pthread_rwlock_rdlock");
	wait_end_shared(a, true);
	hold_begin(a, table_truth, true);
}

KEEP static void hold_read(struct actor *a)
{
	hold_time(a);
	sink++;
}

KEEP static void let_table(struct actor *a)
{
	hold_end(a, table_truth);
	if (pthread_rwlock_unlock(&table_lock))
		die("pthread_rwlock_unlock");
}

void case_rwlock(const struct args *a)
{
	const struct turn turns[] = {{wait_write, hold_write, let_table},
				     {wait_read, hold_read, let_table}};

	table_truth = lock_add("table_lock", "rwlock", &table_lock, sizeof(table_lock));
	contest_run(a, turns, ARRAY_LEN(turns));
}

extern sem_t slots;
sem_t slots;
static struct lock *slots_truth;

KEEP static void wait_semaphore(struct actor *a)
{
	wait_begin(a, slots_truth);
	while (sem_wait(&slots)) {
		if (errno != EINTR)
			die("sem_wait: %s", strerror(errno));
	}
	wait_end(a);
	hold_begin(a, slots_truth, false);
}

KEEP static void hold_semaphore(struct actor *a)
{
	hold_time(a);
	sink++;
}

KEEP static void let_semaphore(struct actor *a)
{
	hold_end(a, slots_truth);
	if (sem_post(&slots))
		die("sem_post: %s", strerror(errno));
}

void case_semaphore(const struct args *a)
{
	const struct turn turn = {wait_semaphore, hold_semaphore, let_semaphore};

	if (sem_init(&slots, 0, 1))
		die("sem_init: %s", strerror(errno));
	slots_truth = lock_add("slots", "semaphore", &slots, sizeof(slots));
	contest_run(a, &turn, 1);
}
