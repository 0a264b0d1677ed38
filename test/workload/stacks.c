// SPDX-License-Identifier: MIT
/*
 * Stacks with a known truth: `stacks CASE [seconds]` goes down the chain link_12 ... link_1, all
 * compiled without frame pointers, and spends its time below it in one known way. Every stack that
 * is taken from the chain's thread between begin_ns and end_ns (CLOCK_MONOTONIC) has to show the
 * whole chain, and below it main or the thread's entry.
 *
 * A link does something with what the next one returns, so that no call becomes a jump.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* A function that must be found in stacks under exactly its own name. */
#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noipa))
#endif

#define NSEC_PER_SEC 1000000000ull
#define USEC 1000ull
#define BIG_BYTES (8u << 20)

struct job {
	uint64_t (*leaf)(struct job *j);
	uint64_t until;
	uint64_t begin, end, begin_unix, end_unix, rounds;
	long tid;
	int depth;
};

static volatile uint64_t sink;

static void die(const char *what)
{
	fprintf(stderr, "stacks: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static struct timespec time_of(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};
}

/* Some ten microseconds of pure computation. */
KEEP static void burn(void)
{
	uint64_t x = sink | 1;

	for (int i = 0; i < 5003; i++)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	sink = x;
}

static bool go_on(struct job *j)
{
	j->rounds++;
	return now_ns() < j->until;
}

/* ---- the chain ---- */

KEEP static uint64_t link_1(struct job *j)
{
	uint64_t got;

	j->begin_unix = clock_ns(CLOCK_REALTIME);
	j->begin = now_ns();
	got = j->leaf(j);
	j->end = now_ns();
	j->end_unix = clock_ns(CLOCK_REALTIME);
	sink += got;
	return got + 1;
}

#define LINK(n, next)                                                                              \
	KEEP static uint64_t link_##n(struct job *j)                                               \
	{                                                                                          \
		uint64_t got = link_##next(j);                                                     \
                                                                                                   \
		sink += got;                                                                       \
		return got + (n);                                                                  \
	}
LINK(2, 1)
LINK(3, 2)
LINK(4, 3)
LINK(5, 4)
LINK(6, 5)
LINK(7, 6)
LINK(8, 7)
LINK(9, 8)
LINK(10, 9)
LINK(11, 10)
LINK(12, 11)

/* ---- what is below it ---- */

KEEP static uint64_t leaf_cpu(struct job *j)
{
	while (go_on(j))
		burn();
	return sink;
}

KEEP static uint64_t leaf_sleep(struct job *j)
{
	while (go_on(j)) {
		struct timespec t = time_of(500 * USEC);

		nanosleep(&t, NULL);
	}
	return sink;
}

KEEP static uint64_t leaf_poll(struct job *j)
{
	int fds[2];
	struct pollfd p;

	if (pipe(fds))
		die("pipe");
	p = (struct pollfd){.fd = fds[0], .events = POLLIN};
	while (go_on(j))
		if (poll(&p, 1, 1) < 0)
			die("poll");
	close(fds[0]);
	close(fds[1]);
	return sink;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static atomic_bool over;
static uint64_t turns;

static void *mutex_helper(void *arg)
{
	prctl(PR_SET_NAME, "helper");
	while (!over) {
		struct timespec held = time_of(700 * USEC), pause = time_of(100 * USEC);

		pthread_mutex_lock(&mutex);
		nanosleep(&held, NULL);
		pthread_mutex_unlock(&mutex);
		nanosleep(&pause, NULL);
	}
	return arg;
}

KEEP static uint64_t leaf_mutex(struct job *j)
{
	while (go_on(j)) {
		pthread_mutex_lock(&mutex);
		burn();
		pthread_mutex_unlock(&mutex);
		burn();
	}
	return sink;
}

static void *cond_helper(void *arg)
{
	prctl(PR_SET_NAME, "helper");
	while (!over) {
		struct timespec t = time_of(500 * USEC);

		nanosleep(&t, NULL);
		pthread_mutex_lock(&mutex);
		turns++;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	}
	return arg;
}

/* In turns with a time limit, which is not reached, and without. */
KEEP static uint64_t leaf_cond(struct job *j)
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

KEEP static uint64_t leaf_memcpy(struct job *j)
{
	char *from = malloc(BIG_BYTES), *to = malloc(BIG_BYTES);

	if (!from || !to)
		die("malloc");
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

KEEP static uint64_t leaf_qsort(struct job *j)
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

KEEP static uint64_t leaf_malloc(struct job *j)
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

KEEP static uint64_t leaf_printf(struct job *j)
{
	FILE *f = fopen("/dev/null", "w");

	if (!f)
		die("/dev/null");
	while (go_on(j))
		for (int i = 0; i < 101; i++)
			fprintf(f, "%d of %s: %.3f\n", i, "many", (double)i / 7);
	fclose(f);
	return sink;
}

/* ---- signals ---- */

KEEP static void signal_1(void)
{
	for (int i = 0; i < 100; i++)
		burn();
	sink++;
}

KEEP static void signal_2(void)
{
	signal_1();
	sink++;
}

KEEP static void signal_3(int sig)
{
	signal_2();
	sink += (uint64_t)sig;
}

static void on_timer(bool own_stack)
{
	struct sigaction sa = {.sa_handler = signal_3,
			       .sa_flags = SA_RESTART | (own_stack ? SA_ONSTACK : 0)};
	struct itimerval t = {{0, 1000}, {0, 1000}};
	stack_t ss = {.ss_size = 1 << 16};

	if (own_stack) {
		ss.ss_sp = malloc(ss.ss_size);
		if (!ss.ss_sp || sigaltstack(&ss, NULL))
			die("sigaltstack");
	}
	if (sigaction(SIGPROF, &sa, NULL) || setitimer(ITIMER_PROF, &t, NULL))
		die("timer");
}

static void timer_off(void)
{
	struct itimerval t = {0};

	setitimer(ITIMER_PROF, &t, NULL);
}

KEEP static uint64_t leaf_signal(struct job *j)
{
	on_timer(false);
	while (go_on(j))
		burn();
	timer_off();
	return sink;
}

KEEP static uint64_t leaf_altstack(struct job *j)
{
	on_timer(true);
	while (go_on(j))
		burn();
	timer_off();
	return sink;
}

/* ---- what else can be at the end of a stack ---- */

KEEP static uint64_t leaf_plt(struct job *j)
{
	volatile double x = 0.5;

	while (go_on(j))
		for (int i = 0; i < 211; i++)
			x = cos(x) + sin(x) / 3;
	sink += (uint64_t)(x * 1000);
	return sink;
}

KEEP static uint64_t leaf_vdso(struct job *j)
{
	while (go_on(j)) {
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC, &t);
		sink += (uint64_t)t.tv_nsec;
	}
	return sink;
}

KEEP static uint64_t leaf_pagefault(struct job *j)
{
	FILE *f = tmpfile();
	int fd = f ? fileno(f) : -1;

	if (fd < 0 || ftruncate(fd, BIG_BYTES))
		die("tmpfile");
	while (go_on(j)) {
		volatile char *p =
			mmap(NULL, BIG_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

		if (p == MAP_FAILED)
			die("mmap");
		for (size_t i = 0; i < BIG_BYTES; i += 4096)
			p[i]++;
		munmap((void *)p, BIG_BYTES);
	}
	fclose(f);
	return sink;
}

typedef unsigned long crc32_fn(unsigned long crc, const unsigned char *buf, unsigned int len);

KEEP static uint64_t leaf_dlopen(struct job *j)
{
	static unsigned char bytes[1 << 20];

	while (go_on(j)) {
		void *lib = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
		crc32_fn *crc = lib ? (crc32_fn *)dlsym(lib, "crc32") : NULL;

		if (!crc) {
			fprintf(stderr, "stacks: %s\n", dlerror());
			_exit(1);
		}
		for (int i = 0; i < 50; i++)
			sink += crc(0, bytes, sizeof(bytes));
		dlclose(lib);
	}
	return sink;
}

KEEP static uint64_t deeper(struct job *j, int left)
{
	uint64_t got = left > 1 ? deeper(j, left - 1) : leaf_cpu(j);

	sink += got;
	return got + 1;
}

KEEP static uint64_t leaf_deep(struct job *j)
{
	return deeper(j, j->depth) + 1;
}

static jmp_buf jump;

KEEP static void jump_1(struct job *j)
{
	burn();
	if (j->until)
		longjmp(jump, 1);
	sink++;
}

KEEP static void jump_2(struct job *j)
{
	jump_1(j);
	sink++;
}

KEEP static uint64_t leaf_longjmp(struct job *j)
{
	while (go_on(j)) {
		if (!setjmp(jump))
			jump_2(j);
		burn();
	}
	return sink;
}

/* ---- the cases ---- */

static const struct {
	const char *name;
	uint64_t (*leaf)(struct job *j);
	void *(*helper)(void *arg);
	bool in_thread;
	int depth;
} cases[] = {
	{"cpu", leaf_cpu, NULL, false, 0},	     {"sleep", leaf_sleep, NULL, false, 0},
	{"poll", leaf_poll, NULL, false, 0},	     {"mutex", leaf_mutex, mutex_helper, false, 0},
	{"memcpy", leaf_memcpy, NULL, false, 0},     {"qsort", leaf_qsort, NULL, false, 0},
	{"malloc", leaf_malloc, NULL, false, 0},     {"printf", leaf_printf, NULL, false, 0},
	{"cond", leaf_cond, cond_helper, false, 0},  {"signal", leaf_signal, NULL, false, 0},
	{"altstack", leaf_altstack, NULL, false, 0}, {"plt", leaf_plt, NULL, false, 0},
	{"vdso", leaf_vdso, NULL, false, 0},	     {"pagefault", leaf_pagefault, NULL, false, 0},
	{"dlopen", leaf_dlopen, NULL, false, 0},     {"deep100", leaf_deep, NULL, false, 100},
	{"deep300", leaf_deep, NULL, false, 300},    {"thread", leaf_cpu, NULL, true, 0},
	{"longjmp", leaf_longjmp, NULL, false, 0},
};
#define N_CASES (sizeof(cases) / sizeof(cases[0]))

KEEP static void *thread_main(void *arg)
{
	struct job *j = arg;

	prctl(PR_SET_NAME, "chain");
	j->tid = syscall(SYS_gettid);
	sink += link_12(j);
	return NULL;
}

KEEP static void run(struct job *j, void *(*helper)(void *arg), bool in_thread)
{
	pthread_t thread;

	if ((helper || in_thread) && pthread_create(&thread, NULL, helper ? helper : thread_main,
						    in_thread ? (void *)j : NULL))
		die("pthread_create");
	if (!in_thread) {
		j->tid = syscall(SYS_gettid);
		sink += link_12(j);
		over = true;
	}
	if (helper || in_thread)
		pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	double seconds = argc > 2 ? atof(argv[2]) : 1;
	struct job j = {0};

	for (size_t i = 0; i < N_CASES; i++) {
		if (argc < 2 || strcmp(argv[1], cases[i].name))
			continue;
		j.leaf = cases[i].leaf;
		j.depth = cases[i].depth;
		j.until = now_ns() + (uint64_t)(seconds * 1e9);
		run(&j, cases[i].helper, cases[i].in_thread);
		printf("{\"case\":\"%s\",\"pid\":%d,\"tid\":%ld,\"begin_ns\":%llu,\"end_ns\":%llu,"
		       "\"begin_unix_ns\":%llu,\"end_unix_ns\":%llu,\"links\":12,\"depth\":%d,"
		       "\"rounds\":%llu}\n",
		       cases[i].name, (int)getpid(), j.tid, (unsigned long long)j.begin,
		       (unsigned long long)j.end, (unsigned long long)j.begin_unix,
		       (unsigned long long)j.end_unix, j.depth, (unsigned long long)j.rounds);
		return 0;
	}
	fprintf(stderr, "usage: stacks CASE [seconds]\ncases:");
	for (size_t i = 0; i < N_CASES; i++)
		fprintf(stderr, " %s", cases[i].name);
	fputc('\n', stderr);
	return 2;
}
