// SPDX-License-Identifier: MIT
/*
 * How much gets done behind one lock:
 * contend CASE [--threads N] [--seconds S] [--work NS] [--every MS]
 *
 *   mutex   threads take turns on a mutex, work for NS nanoseconds with it, let others run into
 *           it, and work as long without it
 *   pipe    threads write to and read from one pipe: its mutex, inside the kernel
 *   rename  threads rename files of their own in one directory: its rwsem, inside the kernel (in
 *           memory: no disk has a part in it)
 *
 * Prints one line of JSON: operations, the time that they took by CLOCK_MONOTONIC, and how often
 * its threads went to sleep; with --every, also the operations so far at each of so many
 * milliseconds ("slices", pairs of time and count). Work is a count of loop turns, measured before
 * the threads start, so that a recorder that slows the program down cannot make its critical
 * sections shorter. Threads are bound to the CPUs in turn: left alone they now and then gather on
 * one, where nobody is in anybody's way and twice as much gets done.
 */
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 64, BYTES = 512 };

struct job {
	pthread_t thread;
	unsigned index;
	_Atomic uint64_t ops;
};

struct slice {
	uint64_t ts, ops;
};

static pthread_mutex_t contended_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool stop;
static uint64_t turns; /* of the loop: the work in a critical section */
static int ends[2];
static char folder[64];

static void bind(pthread_t thread, unsigned index)
{
	cpu_set_t all, one;
	int nth;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all))
		err(1, "sched_getaffinity");
	nth = (int)index % CPU_COUNT(&all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && !nth--)
			CPU_SET(cpu, &one);
	if (pthread_setaffinity_np(thread, sizeof(one), &one))
		errx(1, "cannot bind thread %u", index);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void work(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		__asm__ volatile("" ::: "memory");
}

/* The fastest of many tries: what others do on the machine meanwhile only adds. */
static uint64_t turns_of(uint64_t ns)
{
	const uint64_t n = 100000;
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 50; i++) {
		uint64_t begin = now_ns(), took;

		work(n);
		took = now_ns() - begin;
		if (took < best)
			best = took;
	}
	return ns * n / (best ? best : 1);
}

static void *take_turns(void *arg)
{
	struct job *j = arg;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		pthread_mutex_lock(&contended_lock);
		work(turns);
		sched_yield();
		pthread_mutex_unlock(&contended_lock);
		work(turns);
		atomic_fetch_add_explicit(&j->ops, 1, memory_order_relaxed);
	}
	return NULL;
}

static void *use_pipe(void *arg)
{
	struct job *j = arg;
	char bytes[BYTES] = {0};

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		/* Each write has its read: the pipe never fills and never runs dry for long. */
		if (write(ends[1], bytes, BYTES) != BYTES || read(ends[0], bytes, BYTES) != BYTES)
			err(1, "pipe");
		atomic_fetch_add_explicit(&j->ops, 1, memory_order_relaxed);
	}
	return NULL;
}

static void *rename_own(void *arg)
{
	struct job *j = arg;
	char a[96], b[96];
	int fd;

	snprintf(a, sizeof(a), "%s/a%u", folder, j->index);
	snprintf(b, sizeof(b), "%s/b%u", folder, j->index);
	fd = open(a, O_CREAT | O_WRONLY, 0600);
	if (fd < 0)
		err(1, "%s", a);
	close(fd);
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		if (rename(a, b) || rename(b, a))
			err(1, "rename %s", a);
		atomic_fetch_add_explicit(&j->ops, 2, memory_order_relaxed);
	}
	unlink(a);
	return NULL;
}

static const struct {
	const char *name;
	void *(*run)(void *);
} cases[] = {{"mutex", take_turns}, {"pipe", use_pipe}, {"rename", rename_own}};

static void *(*case_named(const char *name))(void *)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (!strcmp(cases[i].name, name))
			return cases[i].run;
	errx(2, "there is no case '%s'; choose mutex, pipe or rename", name);
}

static struct job jobs[THREADS_MAX];

static uint64_t all_ops(unsigned threads)
{
	uint64_t ops = 0;

	for (unsigned i = 0; i < threads; i++)
		ops += atomic_load_explicit(&jobs[i].ops, memory_order_relaxed);
	return ops;
}

static volatile sig_atomic_t interrupted;

static void interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

/* Sleeps until the end, or Ctrl-C, and looks up every so often. */
static struct slice *watch(unsigned threads, uint64_t end, uint64_t every, size_t *ret_n)
{
	size_t room = every ? (size_t)((end - now_ns()) / every) + 2 : 0;
	struct slice *v = calloc(room + 1, sizeof(*v));
	uint64_t next = now_ns();

	*ret_n = 0;
	if (!v)
		err(1, "slices");
	for (;;) {
		struct timespec t;

		next = every && next + every < end ? next + every : end;
		t = (struct timespec){(time_t)(next / 1000000000u), (long)(next % 1000000000u)};
		while (!interrupted && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
			;
		if (*ret_n < room)
			v[(*ret_n)++] = (struct slice){now_ns(), all_ops(threads)};
		if (next >= end || interrupted)
			return v;
	}
}

int main(int argc, char **argv)
{
	void *(*run)(void *) = case_named(argc > 1 ? argv[1] : "");
	unsigned threads = 4;
	double seconds = 1;
	struct rusage used;
	uint64_t begin, took, hold = 20000, every = 0;
	struct slice *slices;
	size_t n;

	for (int i = 2; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--threads"))
			threads = (unsigned)atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--seconds"))
			seconds = atof(argv[i + 1]);
		else if (!strcmp(argv[i], "--work"))
			hold = (uint64_t)atoll(argv[i + 1]);
		else if (!strcmp(argv[i], "--every"))
			every = (uint64_t)atoll(argv[i + 1]) * 1000000u;
		else
			errx(2, "there is no option '%s'", argv[i]);
	}
	if (threads < 1 || threads > THREADS_MAX)
		errx(2, "--threads: 1 to %d", THREADS_MAX);
	signal(SIGINT, interrupt);
	turns = turns_of(hold);
	strcpy(folder, "/dev/shm/contend.XXXXXX");
	if (pipe(ends) || !mkdtemp(folder))
		err(1, "setting up");
	begin = now_ns();
	for (unsigned i = 0; i < threads; i++) {
		jobs[i].index = i;
		if (pthread_create(&jobs[i].thread, NULL, run, &jobs[i]))
			errx(1, "cannot start thread %u", i);
		bind(jobs[i].thread, i);
	}
	slices = watch(threads, begin + (uint64_t)(seconds * 1e9), every, &n);
	atomic_store(&stop, true);
	for (unsigned i = 0; i < threads; i++)
		pthread_join(jobs[i].thread, NULL);
	took = now_ns() - begin;
	rmdir(folder);
	getrusage(RUSAGE_SELF, &used);
	printf("{\"case\":\"%s\",\"ops\":%" PRIu64 ",\"ns\":%" PRIu64
	       ",\"sleeps\":%ld,\"slices\":[",
	       argv[1], all_ops(threads), took, used.ru_nvcsw);
	for (size_t i = 0; i < n; i++)
		printf("%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "", slices[i].ts, slices[i].ops);
	printf("]}\n");
	free(slices);
	return 0;
}
