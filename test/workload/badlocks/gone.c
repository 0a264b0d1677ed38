// SPDX-License-Identifier: MIT
/*
 * Locks that go away while somebody waits for them. unmapped: a word whose memory another thread
 * unmaps meanwhile; killed: a mutex of libc's in such memory, in children that die of it.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "badlocks/badlocks.h"
#include "lib/party.h"

#define PAGE 4096
#define TIMEOUT (3 * NSEC_PER_MSEC)

static void *page_map(void)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return p;
}

/* ---- unmapped ---- */

static struct {
	_Atomic(_Atomic uint32_t *) word;
	struct lock *truth;
	atomic_bool over;
} gone;

/* The kernel wakes nobody on memory that goes: the wait ends by its timeout. */
KEEP static void wait_unmapped(struct actor *a)
{
	_Atomic uint32_t *word = page_map();

	atomic_store(word, 2);
	atomic_store(&gone.word, word);
	wait_begin(a, gone.truth);
	futex_sleep(word, 2, TIMEOUT);
	wait_end(a);
	while (atomic_load(&gone.word))
		sleep_ns(100 * NSEC_PER_USEC);
}

static void *unmapped_main(void *arg)
{
	struct actor *a = arg;
	uint64_t rounds = 0;

	actor_begin(a, "waiter");
	for (; now_ns() < a->end_ns; rounds++)
		wait_unmapped(a);
	atomic_store(&gone.over, true);
	fact(&a->truth->facts, "rounds", (double)rounds);
	actor_end(a);
	return NULL;
}

static void *unmapper_main(void *arg)
{
	struct actor *a = arg;

	actor_begin(a, "unmapper");
	while (!atomic_load(&gone.over)) {
		_Atomic uint32_t *word = atomic_load(&gone.word);

		if (word) {
			sleep_ns(random_below(&a->seed, TIMEOUT / 2));
			munmap((void *)word, PAGE);
			atomic_store(&gone.word, NULL);
		}
		sleep_ns(100 * NSEC_PER_USEC);
	}
	actor_end(a);
	return NULL;
}

void case_unmapped(const struct args *a)
{
	struct actor *actors = actors_room(2);
	pthread_t threads[2];

	gone.truth = lock_add("", "futex", NULL, 0);
	actors[0].end_ns = now_ns() + arg_seconds(a);
	thread_start(&threads[0], unmapped_main, &actors[0]);
	thread_start(&threads[1], unmapper_main, &actors[1]);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	locklog_write(arg_str(a, "log"));
}

/* ---- killed ---- */

/* Woken, it looks at the mutex once more: that is the end of the process. */
KEEP static void *wait_killed(void *arg)
{
	pthread_mutex_lock(arg);
	return NULL;
}

static void child_main(void)
{
	struct rlimit none = {0, 0};
	pthread_mutex_t *m = page_map();
	pthread_t thread;

	setrlimit(RLIMIT_CORE, &none);
	pthread_mutex_init(m, NULL);
	pthread_mutex_lock(m);
	thread_start(&thread, wait_killed, m);
	sleep_ns(3 * NSEC_PER_MSEC);
	munmap(m, PAGE);
	futex_wake((_Atomic uint32_t *)m);
	pthread_join(thread, NULL);
	_exit(0);
}

void case_killed(const struct args *a)
{
	size_t n = arg_count(a, "children"), killed = 0;

	for (size_t i = 0; i < n; i++) {
		pid_t pid = fork_child();
		int status;

		if (!pid)
			child_main();
		if (waitpid(pid, &status, 0) != pid)
			die("waitpid: %s", strerror(errno));
		killed += WIFSIGNALED(status) &&
			  (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGABRT);
	}
	fact(&run.facts, "children", (double)n);
	fact(&run.facts, "killed", (double)killed);
}
