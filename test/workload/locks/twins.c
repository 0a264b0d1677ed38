// SPDX-License-Identifier: MIT
/*
 * twins: every thread takes two locks by turns, each in a function of its own. The two functions
 * have frames of the same size and call the same function: whoever sleeps has the same registers
 * and the same depth of the stack, and only one return address tells where it is.
 */
#include <pthread.h>
#include "locks/locks.h"

extern pthread_mutex_t left_lock, right_lock;
pthread_mutex_t left_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t right_lock = PTHREAD_MUTEX_INITIALIZER;

static struct lock *left, *right;
static _Thread_local unsigned turns;

KEEP static void take(struct actor *a, pthread_mutex_t *m, struct lock *truth)
{
	wait_begin(a, truth);
	if (pthread_mutex_lock(m))
		die("pthread_mutex_lock");
	wait_end(a);
	hold_begin(a, truth, false);
}

KEEP static void take_left(struct actor *a)
{
	take(a, &left_lock, left);
	sink++;
}

KEEP static void take_right(struct actor *a)
{
	take(a, &right_lock, right);
	sink++;
}

static void take_one(struct actor *a)
{
	if (turns++ % 2)
		take_left(a);
	else
		take_right(a);
}

KEEP static void hold_one(struct actor *a)
{
	hold_time(a);
	sink++;
}

static void let_one(struct actor *a)
{
	bool is_right = turns % 2;

	hold_end(a, is_right ? right : left);
	if (pthread_mutex_unlock(is_right ? &right_lock : &left_lock))
		die("pthread_mutex_unlock");
}

void case_twins(const struct args *a)
{
	const struct turn turn = {take_one, hold_one, let_one};

	left = lock_add("left_lock", "mutex", &left_lock, sizeof(left_lock));
	right = lock_add("right_lock", "mutex", &right_lock, sizeof(right_lock));
	contest_run(a, &turn, 1);
}
