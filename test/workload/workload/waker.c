// SPDX-License-Identifier: MIT
/*
 * waker: the waiter arms itself and waits; the waker gives it its turn after the delay, and never
 * before it is armed: each wake ends exactly one wait.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>
#include <sys/eventfd.h>
#include "lib/base.h"
#include "lib/party.h"
#include "workload/workload.h"

struct waking {
	struct truth *waiter, *waker;
	size_t wakes;
	uint64_t delay_ns;
	bool cond;
	pthread_mutex_t lock;
	pthread_cond_t turn;
	size_t given; /* under the lock */
	atomic_size_t armed;
	int event;
};

KEEP static void wait_turn(struct waking *w, size_t i)
{
	uint64_t n;

	if (!w->cond) {
		atomic_store(&w->armed, i + 1);
		while (read(w->event, &n, sizeof(n)) != sizeof(n)) {
			if (errno != EINTR)
				die("reading the eventfd: %s", strerror(errno));
		}
		return;
	}
	pthread_mutex_lock(&w->lock);
	atomic_store(&w->armed, i + 1);
	while (w->given <= i)
		pthread_cond_wait(&w->turn, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

KEEP static void give_turn(struct waking *w)
{
	uint64_t one = 1;

	if (!w->cond) {
		if (write(w->event, &one, sizeof(one)) != sizeof(one))
			die("writing the eventfd: %s", strerror(errno));
		return;
	}
	pthread_mutex_lock(&w->lock);
	w->given++;
	pthread_mutex_unlock(&w->lock);
	pthread_cond_signal(&w->turn);
}

static void *waiter_main(void *arg)
{
	struct waking *w = arg;
	uint64_t waited = 0, longest = 0;

	truth_begin(w->waiter, "waiter");
	for (size_t i = 0; i < w->wakes; i++) {
		uint64_t t0 = now_ns(), ns;

		wait_turn(w, i);
		ns = now_ns() - t0;
		waited += ns;
		longest = ns > longest ? ns : longest;
	}
	fact(&w->waiter->facts, "waits", (double)w->wakes);
	fact(&w->waiter->facts, "waited_ns", (double)waited);
	fact(&w->waiter->facts, "waited_max_ns", (double)longest);
	truth_end(w->waiter);
	return NULL;
}

static void *waker_main(void *arg)
{
	struct waking *w = arg;

	truth_begin(w->waker, "waker");
	for (size_t i = 0; i < w->wakes; i++) {
		sleep_ns(w->delay_ns);
		while (atomic_load(&w->armed) <= i)
			sleep_ns(100 * NSEC_PER_USEC);
		give_turn(w);
	}
	fact(&w->waker->facts, "wakes", (double)w->wakes);
	fact(&w->waker->facts, "delay_ns", (double)w->delay_ns);
	truth_end(w->waker);
	return NULL;
}

void case_waker(const struct args *a)
{
	struct truth *truths = truth_room(2);
	const char *how = arg_str(a, "how");
	struct waking w = {
		.waiter = &truths[0],
		.waker = &truths[1],
		.wakes = arg_count(a, "wakes"),
		.delay_ns = (uint64_t)(arg_num(a, "delay-us") * 1e3),
		.cond = !strcmp(how, "cond"),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.turn = PTHREAD_COND_INITIALIZER,
	};
	pthread_t threads[2];

	if (!w.cond && strcmp(how, "eventfd"))
		die("how: cond or eventfd, not '%s'", how);
	w.event = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	if (w.event < 0)
		die("cannot make an eventfd: %s", strerror(errno));
	thread_start(&threads[0], waiter_main, &w);
	thread_start(&threads[1], waker_main, &w);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	close(w.event);
}
