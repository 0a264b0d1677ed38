// SPDX-License-Identifier: MIT
/*
 * Locks of the kernel with a known holder. Two threads on one CPU: one does work that keeps the
 * lock for milliseconds, the other wants it for a moment, again and again. Nobody else wants it, so
 * whenever the other one sleeps for it, the first one has it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/party.h"
#include "lib/truth.h"
#include "sleeps/sleeps.h"

#define BIG (64u << 20)

struct duel {
	const char *name;
	void (*open)(struct duel *d);
	void (*hold)(struct duel *d); /* one long turn */
	void (*want)(struct duel *d); /* one short turn */
	int fd;
	char *mem;
	unsigned long long of;
	uint64_t end_ns, turns, wanted_ns;
	int holder, waiter;
};

static void open_file(struct duel *d)
{
	char path[] = "/tmp/sleeps.XXXXXX";
	struct stat st;

	d->fd = mkstemp(path);
	d->mem = calloc(1, BIG);
	if (d->fd < 0 || !d->mem || fstat(d->fd, &st))
		die("%s: %m", path);
	unlink(path);
	d->of = st.st_ino;
}

static void write_much(struct duel *d)
{
	if (pwrite(d->fd, d->mem, BIG, 4096) < 0)
		die("writing: %m");
}

static void write_little(struct duel *d)
{
	if (pwrite(d->fd, "x", 1, 0) != 1)
		die("writing: %m");
}

static void open_memory(struct duel *d)
{
	d->mem = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (d->mem == MAP_FAILED)
		die("memory: %m");
	/* Small pages: many of them to go through. */
	madvise(d->mem, BIG, MADV_NOHUGEPAGE);
	memset(d->mem, 1, BIG);
	d->of = (unsigned long long)getpid();
}

static void protect_much(struct duel *d)
{
	if (mprotect(d->mem, BIG, PROT_READ) || mprotect(d->mem, BIG, PROT_READ | PROT_WRITE))
		die("mprotect: %m");
}

static void map_little(struct duel *d)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED || munmap(page, 4096))
		die("mapping a page: %m");
}

static void *holder_main(void *arg)
{
	struct duel *d = arg;

	pin(0);
	pthread_setname_np(pthread_self(), "holder");
	d->holder = gettid();
	while (now_ns() < d->end_ns)
		d->hold(d);
	return NULL;
}

static void *waiter_main(void *arg)
{
	struct duel *d = arg;

	pin(0);
	pthread_setname_np(pthread_self(), "waiter");
	d->waiter = gettid();
	while (now_ns() < d->end_ns) {
		uint64_t t0 = now_ns();

		d->want(d);
		d->wanted_ns += now_ns() - t0;
		d->turns++;
		/* Lets the holder begin its next turn: with both awake, the CPU is shared in
		 * slices. */
		sleep_ns(200 * NSEC_PER_USEC);
	}
	return NULL;
}

static struct duel duels[] = {
	{.name = "inode", .open = open_file, .hold = write_much, .want = write_little},
	{.name = "mmap_lock", .open = open_memory, .hold = protect_much, .want = map_little},
};

static void print_duels(void)
{
	printf(",\"duels\":[");
	for (size_t i = 0; i < ARRAY_LEN(duels); i++)
		printf("%s{\"name\":\"%s\",\"holder\":%d,\"waiter\":%d,\"of\":%llu,"
		       "\"turns\":%llu,\"wanted_ns\":%llu}",
		       i ? "," : "", duels[i].name, duels[i].holder, duels[i].waiter, duels[i].of,
		       (unsigned long long)duels[i].turns, (unsigned long long)duels[i].wanted_ns);
	printf("]");
}

void case_kernel(const struct args *a)
{
	run.more = print_duels;
	for (size_t i = 0; i < ARRAY_LEN(duels); i++) {
		struct duel *d = &duels[i];
		pthread_t threads[2];

		d->open(d);
		d->end_ns = now_ns() + arg_seconds(a);
		thread_start(&threads[0], holder_main, d);
		thread_start(&threads[1], waiter_main, d);
		pthread_join(threads[0], NULL);
		pthread_join(threads[1], NULL);
	}
}
