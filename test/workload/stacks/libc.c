// SPDX-License-Identifier: MIT
/* In libc: asleep, behind a lock, or at work. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include "lib/base.h"
#include "stacks/stacks.h"

#define BIG_BYTES (8u << 20)

static struct timespec time_of(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};
}

KEEP uint64_t leaf_sleep(struct job *j)
{
	while (go_on(j)) {
		struct timespec t = time_of(500 * NSEC_PER_USEC);

		nanosleep(&t, NULL);
	}
	return sink;
}

KEEP uint64_t leaf_poll(struct job *j)
{
	int fds[2];
	struct pollfd p;

	if (pipe(fds))
		die("pipe: %s", strerror(errno));
	p = (struct pollfd){.fd = fds[0], .events = POLLIN};
	while (go_on(j))
		if (poll(&p, 1, 1) < 0)
			die("poll: %s", strerror(errno));
	close(fds[0]);
	close(fds[1]);
	return sink;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static uint64_t turns;

void *mutex_helper(void *arg)
{
	prctl(PR_SET_NAME, "helper");
	while (!over) {
		struct timespec held = time_of(700 * NSEC_PER_USEC),
				pause = time_of(100 * NSEC_PER_USEC);

		pthread_mutex_lock(&mutex);
		nanosleep(&held, NULL);
		pthread_mutex_unlock(&mutex);
		nanosleep(&pause, NULL);
	}
	return arg;
}

KEEP uint64_t leaf_mutex(struct job *j)
{
	while (go_on(j)) {
		pthread_mutex_lock(&mutex);
		burn();
		pthread_mutex_unlock(&mutex);
		burn();
	}
	return sink;
}

void *cond_helper(void *arg)
{
	prctl(PR_SET_NAME, "helper");
	while (!over) {
		struct timespec t = time_of(500 * NSEC_PER_USEC);

		nanosleep(&t, NULL);
		pthread_mutex_lock(&mutex);
		turns++;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

/* In turns with a time limit, which is not reached, and without. */
KEEP uint64_t leaf_cond(struct job *j)
{
	pthread_mutex_lock(&mutex);
	while (go_on(j)) {
		uint64_t seen = turns;
		struct timespec t;

		clock_gettime(CLOCK_REALTIME, &t);
		t.tv_sec += 10;
		while (seen == turns)
			if (j->rounds % 2)
				pthread_cond_wait(&cond, &mutex);
			else
				pthread_cond_timedwait(&cond, &mutex, &t);
	}
	pthread_mutex_unlock(&mutex);
	return sink;
}

KEEP uint64_t leaf_memcpy(struct job *j)
{
	char *from = malloc(BIG_BYTES), *to = malloc(BIG_BYTES);

	if (!from || !to)
		die("malloc: %s", strerror(errno));
	memset(from, 1, BIG_BYTES);
	while (go_on(j)) {
		memcpy(to, from, BIG_BYTES);
		sink += (uint64_t)to[j->rounds % BIG_BYTES];
	}
	free(from);
	free(to);
	return sink;
}

KEEP static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

KEEP uint64_t leaf_qsort(struct job *j)
{
	static uint32_t v[20011];
	uint64_t seed = 1;

	while (go_on(j)) {
		for (size_t i = 0; i < 20011; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			v[i] = (uint32_t)(seed >> 33);
		}
		qsort(v, 20011, sizeof(v[0]), compare);
		sink += v[7];
	}
	return sink;
}

KEEP uint64_t leaf_malloc(struct job *j)
{
	static void *held[509];
	uint64_t seed = 1;

	while (go_on(j))
		for (int i = 0; i < 503; i++) {
			size_t at;

			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			at = (size_t)(seed >> 33) % 509;
			free(held[at]);
			held[at] = malloc((size_t)(seed >> 50));
		}
	for (size_t i = 0; i < 509; i++)
		free(held[i]);
	return sink;
}

KEEP uint64_t leaf_printf(struct job *j)
{
	FILE *f = fopen("/dev/null", "w");

	if (!f)
		die("/dev/null: %s", strerror(errno));
	while (go_on(j))
		for (int i = 0; i < 101; i++)
			fprintf(f, "%d of %s: %.3f\n", i, "many", (double)i / 7);
	fclose(f);
	return sink;
}
