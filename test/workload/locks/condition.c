// SPDX-License-Identifier: MIT
/*
 * Waiters of a condition compete with lockers for its mutex. A thread that waits for the condition
 * gives the mutex back meanwhile, and gets it again, perhaps behind a locker, before its call
 * returns; the log has its hold end where that call begins, and the next one begin where it
 * returns.
 *
 * Lockers hold the mutex for milliseconds, so that there is always somebody behind it, and every
 * now and then announce something: one waiter, or all, come back and hold it for a while in turn.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "lib/party.h"
#include "locks/locks.h"

#define LOCKERS 3

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t news; /* announced so far, and not yet taken */
	bool closed;
} board = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static struct lock *board_truth, *changed_truth;

KEEP static void wait_board(struct actor *a)
{
	wait_begin(a, board_truth);
	pthread_mutex_lock(&board.lock);
	hold_begin(a, board_truth, false);
	wait_end(a);
}

KEEP static void leave_board(struct actor *a)
{
	hold_end(a, board_truth);
	pthread_mutex_unlock(&board.lock);
	hold_done(a);
}

/* Sleeps of getting the mutex again are among those of the condition variable. */
KEEP static void wait_for_news(struct actor *a)
{
	while (!board.news && !board.closed) {
		wait_begin(a, changed_truth);
		hold_end(a, board_truth);
		pthread_cond_wait(&board.changed, &board.lock);
		hold_begin(a, board_truth, false);
		wait_end(a);
	}
}

KEEP static void read_news(struct actor *a)
{
	spin_until(now_ns() + 100 * NSEC_PER_USEC + random_below(&a->seed, 900 * NSEC_PER_USEC));
}

static void *reader_main(void *arg)
{
	struct actor *a = arg;
	bool closed = false;
	char name[16];

	snprintf(name, sizeof(name), "reader-%zu", a->index % 1000);
	actor_begin(a, name);
	while (!closed) {
		wait_board(a);
		wait_for_news(a);
		board.news -= board.news > 0;
		closed = board.closed;
		read_news(a);
		leave_board(a);
	}
	actor_end(a);
	return NULL;
}

KEEP static void change_board(struct actor *a)
{
	hold_time(a);
	switch (random_below(&a->seed, 4)) {
	case 0:
		board.news++;
		pthread_cond_signal(&board.changed);
		break;
	case 1:
		board.news += 2;
		pthread_cond_broadcast(&board.changed);
		break;
	}
}

static void *writer_main(void *arg)
{
	struct actor *a = arg;
	char name[16];

	snprintf(name, sizeof(name), "writer-%zu", a->index % 1000);
	actor_begin(a, name);
	while (now_ns() < a->end_ns) {
		wait_board(a);
		change_board(a);
		leave_board(a);
		pause_time(a);
	}
	wait_board(a);
	board.closed = true;
	pthread_cond_broadcast(&board.changed);
	leave_board(a);
	actor_end(a);
	return NULL;
}

void case_condition(const struct args *a)
{
	size_t n = arg_count(a, "threads") + LOCKERS;
	struct actor *actors = actors_room(n);
	pthread_t *threads = calloc(n, sizeof(*threads));
	uint64_t end_ns = now_ns() + arg_seconds(a);

	if (!threads)
		die("no memory for %zu threads", n);
	board_truth = lock_add("board.lock", "mutex", &board.lock, sizeof(board.lock));
	changed_truth = lock_add("board.changed", "condvar", &board.changed, sizeof(board.changed));
	for (size_t i = 0; i < n; i++) {
		actors[i].end_ns = end_ns;
		thread_start(&threads[i], i < LOCKERS ? writer_main : reader_main, &actors[i]);
	}
	for (size_t i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	locklog_write(arg_str(a, "log"));
	free(threads);
}
