// SPDX-License-Identifier: MIT
/* The truth about locks: its log, and the totals of it that go into the truth of the run. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include "lib/base.h"
#include "lib/locklog.h"

#define RECORDS_MAX (1u << 16)
#define LOCKS_MAX 32

/* In shared memory, except for the counts, which main fills in before any other thread exists. */
static struct {
	struct actor *actors;
	size_t n_actors;
	struct lock *locks;
	size_t n_locks;
} all;

static void *shared_room(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		die("no memory for the log: %s", strerror(errno));
	return p;
}

static void locks_print(void);

struct actor *actors_room(size_t n)
{
	struct truth *truths = truth_room(n);

	all.actors = shared_room(n * sizeof(*all.actors));
	all.n_actors = n;
	for (size_t i = 0; i < n; i++) {
		all.actors[i] = (struct actor){
			.truth = &truths[i],
			.waits = shared_room(RECORDS_MAX * sizeof(struct wait_record)),
			.holds = shared_room(RECORDS_MAX * sizeof(struct hold_record)),
			.index = i,
			.seed = 7919 * i + 1,
		};
	}
	run.more = locks_print;
	return all.actors;
}

struct lock *lock_add(const char *name, const char *kind, const void *address, size_t size)
{
	struct lock *l;

	if (!all.locks)
		all.locks = shared_room(LOCKS_MAX * sizeof(*all.locks));
	if (all.n_locks == LOCKS_MAX)
		die("too many locks: %s", name);
	l = &all.locks[all.n_locks++];
	*l = (struct lock){.kind = kind, .address = (uintptr_t)address, .size = size};
	snprintf(l->name, sizeof(l->name), "%s", name);
	return l;
}

/* ---- what an actor does ---- */

static uint64_t runq_ns(const struct actor *a)
{
	char text[96];
	ssize_t n = pread(a->schedstat, text, sizeof(text) - 1, 0);
	unsigned long long runq = 0;

	text[n > 0 ? n : 0] = 0;
	if (sscanf(text, "%*u %llu", &runq) != 1)
		die("cannot read the time in the run queue: %s", strerror(errno));
	return runq;
}

static uint64_t sleeps(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return (uint64_t)u.ru_nvcsw;
}

void actor_begin(struct actor *a, const char *name)
{
	a->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	if (a->schedstat < 0)
		die("cannot open /proc/thread-self/schedstat: %s", strerror(errno));
	truth_begin(a->truth, name);
}

void actor_end(struct actor *a)
{
	truth_end(a->truth);
	close(a->schedstat);
}

void wait_begin(struct actor *a, struct lock *l)
{
	a->now = (struct wait_record){.lock = l, .pid = a->truth->pid, .tid = a->truth->tid};
	a->runq = runq_ns(a);
	a->cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	a->vol = sleeps();
	a->now.holder = atomic_load(&l->holder);
	a->now.began_ns = now_ns();
}

bool wait_end_shared(struct actor *a, bool shared)
{
	struct wait_record *w = &a->now;

	w->got_ns = now_ns();
	w->sleeps = (uint32_t)(sleeps() - a->vol);
	w->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - a->cpu;
	w->runq_ns = runq_ns(a) - a->runq;
	w->shared = shared;
	if (!w->sleeps)
		return false;
	if (a->n_waits == RECORDS_MAX)
		die("too many waits to log");
	a->waits[a->n_waits++] = *w;
	return true;
}

void wait_end(struct actor *a)
{
	wait_end_shared(a, false);
}

void hold_begin(struct actor *a, struct lock *l, bool shared)
{
	if (a->n_holds == RECORDS_MAX || a->n_open == HOLDS_DEEP)
		die("too many holds to log");
	a->open[a->n_open++] = a->n_holds;
	a->holds[a->n_holds++] = (struct hold_record){
		.lock = l, .tid = a->truth->tid, .got_ns = now_ns(), .shared = shared};
	if (!shared)
		atomic_store(&l->holder, a->truth->tid);
}

/* Locks are let go in the reverse order. */
void hold_end(struct actor *a, struct lock *l)
{
	struct hold_record *h = a->n_open ? &a->holds[a->open[--a->n_open]] : NULL;

	if (!h || h->lock != l)
		die("%s is let go out of turn", l->name);
	if (!h->shared)
		atomic_store(&l->holder, 0);
	h->let_ns = h->done_ns = now_ns();
	a->last = h;
}

void hold_done(struct actor *a)
{
	if (a->last)
		a->last->done_ns = now_ns();
}

/* ---- the log ---- */

static uint64_t asleep_ns(const struct wait_record *w)
{
	uint64_t wall = w->got_ns - w->began_ns, awake = w->cpu_ns + w->runq_ns;

	return wall > awake ? wall - awake : 0;
}

/* How much of a wait an actor's holds of the same lock cover. */
static uint64_t blamed_ns(const struct actor *holder, const struct wait_record *w)
{
	uint64_t total = 0;

	for (size_t i = 0; i < holder->n_holds; i++) {
		const struct hold_record *h = &holder->holds[i];
		uint64_t from = h->got_ns > w->began_ns ? h->got_ns : w->began_ns;
		uint64_t to = h->let_ns < w->got_ns ? h->let_ns : w->got_ns;

		if (h->lock == w->lock && to > from)
			total += to - from;
	}
	return total;
}

static void waiter_print(const struct actor *a, const struct lock *l, const char **sep)
{
	uint64_t ns = 0, count = 0;

	for (size_t i = 0; i < a->n_waits; i++) {
		if (a->waits[i].lock == l) {
			ns += asleep_ns(&a->waits[i]);
			count += a->waits[i].sleeps;
		}
	}
	if (!count)
		return;
	printf("%s{\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"waits\":%llu,\"wait_ns\":%llu}", *sep,
	       a->truth->pid, a->truth->tid, a->truth->name, (unsigned long long)count,
	       (unsigned long long)ns);
	*sep = ",";
}

static void holder_print(const struct actor *holder, const struct lock *l, const char **sep)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < all.n_actors; i++) {
		const struct actor *a = &all.actors[i];

		for (size_t j = 0; j < a->n_waits && a != holder; j++) {
			if (a->waits[j].lock == l)
				ns += blamed_ns(holder, &a->waits[j]);
		}
	}
	if (!ns)
		return;
	printf("%s{\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"blamed_ns\":%llu}", *sep,
	       holder->truth->pid, holder->truth->tid, holder->truth->name, (unsigned long long)ns);
	*sep = ",";
}

static void lock_print(const struct lock *l)
{
	uint64_t calls = 0, count = 0, ns = 0, wall = 0;
	const char *sep = "";

	for (size_t i = 0; i < all.n_actors; i++) {
		for (size_t j = 0; j < all.actors[i].n_waits; j++) {
			const struct wait_record *w = &all.actors[i].waits[j];

			if (w->lock == l) {
				calls++;
				count += w->sleeps;
				ns += asleep_ns(w);
				wall += w->got_ns - w->began_ns;
			}
		}
	}
	printf("{\"name\":\"%s\",\"kind\":\"%s\",\"address\":%llu,\"size\":%zu,\"calls\":%llu",
	       l->name, l->kind, (unsigned long long)l->address, l->size,
	       (unsigned long long)calls);
	printf(",\"waits\":%llu,\"wait_ns\":%llu,\"wall_ns\":%llu,\"waiters\":[",
	       (unsigned long long)count, (unsigned long long)ns, (unsigned long long)wall);
	for (size_t i = 0; i < all.n_actors; i++)
		waiter_print(&all.actors[i], l, &sep);
	sep = "";
	printf("],\"holders\":[");
	for (size_t i = 0; i < all.n_actors; i++)
		holder_print(&all.actors[i], l, &sep);
	printf("]}");
}

static void locks_print(void)
{
	printf(",\"locks\":[");
	for (size_t i = 0; i < all.n_locks; i++) {
		if (i)
			putchar(',');
		lock_print(&all.locks[i]);
	}
	putchar(']');
}

static void wait_write(FILE *f, const struct wait_record *w)
{
	fprintf(f, "{\"wait\":\"%s\",\"pid\":%d,\"tid\":%d,\"holder\":%d,\"shared\":%d",
		w->lock->name, w->pid, w->tid, w->holder, w->shared);
	fprintf(f, ",\"began_ns\":%llu,\"got_ns\":%llu,\"sleeps\":%u",
		(unsigned long long)w->began_ns, (unsigned long long)w->got_ns, w->sleeps);
	fprintf(f, ",\"cpu_ns\":%llu,\"runq_ns\":%llu,\"sleep_ns\":%llu}\n",
		(unsigned long long)w->cpu_ns, (unsigned long long)w->runq_ns,
		(unsigned long long)asleep_ns(w));
}

static void hold_write(FILE *f, const struct hold_record *h)
{
	fprintf(f, "{\"hold\":\"%s\",\"tid\":%d,\"shared\":%d", h->lock->name, h->tid, h->shared);
	fprintf(f, ",\"got_ns\":%llu,\"let_ns\":%llu,\"done_ns\":%llu}\n",
		(unsigned long long)h->got_ns, (unsigned long long)h->let_ns,
		(unsigned long long)h->done_ns);
}

void locklog_write(const char *path)
{
	FILE *f = *path ? fopen(path, "we") : NULL;

	if (!*path)
		return;
	for (size_t i = 0; i < all.n_actors && f; i++) {
		for (size_t j = 0; j < all.actors[i].n_waits; j++)
			wait_write(f, &all.actors[i].waits[j]);
		for (size_t j = 0; j < all.actors[i].n_holds; j++)
			hold_write(f, &all.actors[i].holds[j]);
	}
	if (!f || fclose(f))
		die("cannot write %s: %s", path, strerror(errno));
}
