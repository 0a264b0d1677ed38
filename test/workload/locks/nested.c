// SPDX-License-Identifier: MIT
/*
 * nested: a chain of locks. The clients wait for front_lock, which the broker holds while it waits
 * for store_lock, which the keeper holds while it writes to the disk in flush_store(): what the
 * clients really wait for is the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/party.h"
#include "locks/locks.h"

#define STORE_CHUNK (256 * 1024)
#define FLUSH_AT_LEAST (5 * NSEC_PER_MSEC)

extern pthread_mutex_t front_lock, store_lock;
pthread_mutex_t front_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
	struct lock *front, *store, *disk;
	int fd;
	char *bytes;
} nested;

KEEP static void wait_front(struct actor *a)
{
	wait_begin(a, nested.front);
	pthread_mutex_lock(&front_lock);
	wait_end(a);
	hold_begin(a, nested.front, false);
}

static void let_front(struct actor *a)
{
	hold_end(a, nested.front);
	pthread_mutex_unlock(&front_lock);
}

KEEP static void wait_store(struct actor *a)
{
	wait_begin(a, nested.store);
	pthread_mutex_lock(&store_lock);
	wait_end(a);
	hold_begin(a, nested.store, false);
}

static void let_store(struct actor *a)
{
	hold_end(a, nested.store);
	pthread_mutex_unlock(&store_lock);
}

KEEP static void ask_store(struct actor *a)
{
	wait_front(a);
	wait_store(a);
	burn();
	let_store(a);
	let_front(a);
}

KEEP static void ask_front(struct actor *a)
{
	wait_front(a);
	burn();
	let_front(a);
}

/* Until some milliseconds are over, however fast the disk. */
KEEP static void flush_store(struct actor *a)
{
	uint64_t t0 = now_ns();

	do {
		if (pwrite(nested.fd, nested.bytes, STORE_CHUNK, 0) != STORE_CHUNK)
			die("writing the store: %s", strerror(errno));
		wait_begin(a, nested.disk);
		if (fdatasync(nested.fd))
			die("fdatasync: %s", strerror(errno));
		wait_end(a);
	} while (now_ns() - t0 < FLUSH_AT_LEAST);
}

static void *client_main(void *arg)
{
	struct actor *a = arg;
	char name[16];

	snprintf(name, sizeof(name), "client-%zu", a->index % 1000);
	actor_begin(a, name);
	while (now_ns() < a->end_ns) {
		ask_front(a);
		pause_time(a);
	}
	actor_end(a);
	return NULL;
}

static void *broker_main(void *arg)
{
	struct actor *a = arg;

	actor_begin(a, "broker");
	while (now_ns() < a->end_ns) {
		ask_store(a);
		pause_time(a);
	}
	actor_end(a);
	return NULL;
}

static void *keeper_main(void *arg)
{
	struct actor *a = arg;

	actor_begin(a, "keeper");
	while (now_ns() < a->end_ns) {
		wait_store(a);
		flush_store(a);
		let_store(a);
		sleep_ns(2 * NSEC_PER_MSEC);
	}
	actor_end(a);
	return NULL;
}

static void store_open(void)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];

	snprintf(path, sizeof(path), "%s/locks.XXXXXX", dir && *dir ? dir : ".");
	nested.fd = mkostemp(path, O_CLOEXEC);
	if (nested.fd < 0)
		die("cannot make %s: %s", path, strerror(errno));
	unlink(path);
	nested.bytes = calloc(1, STORE_CHUNK);
	if (!nested.bytes)
		die("no memory for the store");
}

void case_nested(const struct args *a)
{
	size_t n = arg_count(a, "threads");
	struct actor *actors = actors_room(n + 2);
	pthread_t *threads = calloc(n + 2, sizeof(*threads));
	uint64_t end_ns;

	if (!threads)
		die("no memory for %zu threads", n);
	store_open();
	nested.front = lock_add("front_lock", "mutex", &front_lock, sizeof(front_lock));
	nested.store = lock_add("store_lock", "mutex", &store_lock, sizeof(store_lock));
	nested.disk = lock_add("fdatasync", "disk", NULL, 0);
	end_ns = now_ns() + arg_seconds(a);
	for (size_t i = 0; i < n + 2; i++) {
		actors[i].end_ns = end_ns;
		thread_start(&threads[i],
			     i == 0   ? keeper_main
			     : i == 1 ? broker_main
				      : client_main,
			     &actors[i]);
	}
	for (size_t i = 0; i < n + 2; i++)
		pthread_join(threads[i], NULL);
	locklog_write(arg_str(a, "log"));
	close(nested.fd);
	free(nested.bytes);
	free(threads);
}
