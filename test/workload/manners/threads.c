// SPDX-License-Identifier: MIT
/* Stacks that are small, strange or many, and threads that end in every way there is. */
#include "manners/manners.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>
#include <ucontext.h>
#include <unistd.h>

static ucontext_t scheduler, fiber[2];
static int turns;

static void run_fiber(int which)
{
	for (int i = 0; i < 400; i++) {
		manners_burn(300);
		turns++;
		swapcontext(&fiber[which], &scheduler);
	}
}

/* Fibers whose stacks end at a page that cannot be read. */
void manners_fibers(void)
{
	enum { SIZE = 16384, PAGE = 4096 };

	for (int i = 0; i < 2; i++) {
		char *at =
			mmap(NULL, SIZE + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		mprotect(at + PAGE, SIZE, PROT_READ | PROT_WRITE);
		getcontext(&fiber[i]);
		fiber[i].uc_stack.ss_sp = at + PAGE;
		fiber[i].uc_stack.ss_size = SIZE;
		fiber[i].uc_link = &scheduler;
		makecontext(&fiber[i], (void (*)(void))run_fiber, 1, i);
	}
	for (int i = 0; i < 800; i++)
		swapcontext(&scheduler, &fiber[i % 2]);
	printf("turns %d\n", turns);
}

static void *small(void *arg)
{
	volatile char room[1024];

	for (int i = 0; i < 20; i++) {
		memset((char *)room, i, sizeof(room));
		manners_burn(1000);
	}
	return arg;
}

static void *own_stack(void *arg)
{
	pthread_attr_t attr;
	size_t size = 0;
	void *at;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &at, &size);
	pthread_attr_destroy(&attr);
	manners_burn(30000);
	return (void *)(size == *(size_t *)arg ? 0 : size);
}

/* The smallest stacks that the system allows, and ones that the program has made itself. */
void manners_small(void)
{
	pthread_attr_t attr;
	pthread_t t[8];
	size_t want = 256 << 10;
	void *mem = mmap(NULL, want, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *got = NULL;

	pthread_attr_init(&attr);
	printf("set %d\n", pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN)));
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], &attr, small, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	pthread_attr_setstack(&attr, mem, want);
	pthread_create(&t[0], &attr, own_stack, &want);
	pthread_join(t[0], &got);
	printf("its own stack: %s\n", got ? "changed" : "as it was");
	pthread_attr_destroy(&attr);
	munmap(mem, want);
}

static void *brief(void *arg)
{
	manners_burn(100);
	return arg;
}

static int c11(void *arg)
{
	manners_burn(5000);
	return (int)(long)arg;
}

void manners_crowd(void)
{
	enum { N = 2000 };
	static pthread_t t[N];
	pthread_attr_t attr;
	int made = 0, result = 0;
	thrd_t other;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	for (int i = 0; i < N; i++)
		made += !pthread_create(&t[i], &attr, brief, NULL);
	for (int i = 0; i < made; i++)
		pthread_join(t[i], NULL);
	pthread_attr_destroy(&attr);
	thrd_create(&other, c11, (void *)7);
	thrd_join(other, &result);
	printf("made %d, and one that says %d\n", made, result);
}

static int cleaned, begun;

static void clean(void *arg)
{
	cleaned += (int)(long)arg;
}

static void *until_cancelled(void *arg)
{
	int type;

	pthread_cleanup_push(clean, (void *)1);
	pthread_setcanceltype(arg ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED, &type);
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	for (;;) {
		manners_burn(1000);
		if (!arg)
			pthread_testcancel();
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void *exits(void *arg)
{
	pthread_cleanup_push(clean, (void *)1);
	manners_burn(1000);
	pthread_exit((void *)5);
	pthread_cleanup_pop(0);
	return arg;
}

void manners_cancel(void)
{
	int ends = 0;

	for (long i = 0; i < 60; i++) {
		pthread_t t;
		void *got = NULL;

		pthread_create(&t, NULL, i % 3 == 2 ? exits : until_cancelled,
			       (void *)(i % 3 ? 0L : 1L));
		while (i % 3 != 2 && !__atomic_exchange_n(&begun, 0, __ATOMIC_ACQ_REL))
			usleep(100);
		if (i % 3 != 2)
			pthread_cancel(t);
		pthread_join(t, &got);
		ends += got == (i % 3 == 2 ? (void *)5 : PTHREAD_CANCELED);
	}
	printf("ends %d, cleaned %d\n", ends, cleaned);
}

static int destroyed;

static void destroy(void *value)
{
	manners_burn(10);
	destroyed += (int)(long)value;
}

static pthread_key_t keys[PTHREAD_KEYS_MAX];

static void *use_keys(void *arg)
{
	for (long i = 0; i < (long)arg; i++)
		pthread_setspecific(keys[i], (void *)1);
	return NULL;
}

/* All keys that there are, for itself. */
void manners_keys(void)
{
	pthread_t t;
	long n = 0;

	while (n < PTHREAD_KEYS_MAX && !pthread_key_create(&keys[n], destroy))
		n++;
	pthread_create(&t, NULL, use_keys, (void *)n);
	pthread_join(t, NULL);
	printf("keys %ld, destroyed %d\n", n, destroyed);
	for (long i = 0; i < n; i++)
		pthread_key_delete(keys[i]);
}
