// SPDX-License-Identifier: MIT
/*
 * Stacks with a known truth: `stacks CASE [seconds [seconds on a CPU]]` goes down the chain link_12
 * ... link_1, all compiled without frame pointers, and spends its time below it in one known way.
 * Every stack that is taken from the chain's thread between begin_ns and end_ns (CLOCK_MONOTONIC)
 * has to show the whole chain, and below it main or the thread's entry.
 *
 * A link does something with what the next one returns, so that no call becomes a jump.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "lib/base.h"
#include "stacks/stacks.h"

atomic_bool over;

#define LATER_NS 20000000000ull

bool go_on(struct job *j)
{
	uint64_t now = now_ns();

	j->rounds++;
	/* Others may have had the CPUs for most of the time. */
	return now < j->until ||
	       (now < j->until + LATER_NS && clock_ns(CLOCK_THREAD_CPUTIME_ID) < j->cpu_ns);
}

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
	{"longjmp", leaf_longjmp, NULL, false, 0},   {"made", leaf_made, NULL, false, 0},
	{"traps", leaf_traps, NULL, false, 0},
};

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
		die("pthread_create: %s", strerror(errno));
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

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (argc < 2 || strcmp(argv[1], cases[i].name))
			continue;
		j.leaf = cases[i].leaf;
		j.depth = cases[i].depth;
		j.until = now_ns() + (uint64_t)(seconds * 1e9);
		j.cpu_ns = argc > 3 ? (uint64_t)(atof(argv[3]) * 1e9) : 0;
		run(&j, cases[i].helper, cases[i].in_thread);
		printf("{\"case\":\"%s\",\"pid\":%d,\"tid\":%ld,\"begin_ns\":%llu,\"end_ns\":%llu,"
		       "\"begin_unix_ns\":%llu,\"end_unix_ns\":%llu,\"links\":12,\"depth\":%d,"
		       "\"rounds\":%llu,\"made_by_rsp\":%llu,\"made_by_rbp\":%llu,"
		       "\"made_keep\":%llu}\n",
		       cases[i].name, (int)getpid(), j.tid, (unsigned long long)j.begin,
		       (unsigned long long)j.end, (unsigned long long)j.begin_unix,
		       (unsigned long long)j.end_unix, j.depth, (unsigned long long)j.rounds,
		       (unsigned long long)j.made[0], (unsigned long long)j.made[1],
		       (unsigned long long)j.made_keep);
		return 0;
	}
	fprintf(stderr, "usage: stacks CASE [seconds [seconds on a CPU]]\ncases:");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		fprintf(stderr, " %s", cases[i].name);
	fputc('\n', stderr);
	return 2;
}
