// SPDX-License-Identifier: MIT
/*
 * Calls that a signal ends early, even with SA_RESTART. They are short and many, with some CPU time
 * before each: if a timer can expire on the way into one of them, it does here.
 */
#include "manners/manners.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *manners_self;

void manners_started(const char *argv0)
{
	manners_self = argv0;
}

static long cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

void manners_burn(long us)
{
	static volatile unsigned long sum;
	long until = cpu_us() + us;

	do
		for (int i = 0; i < 1000; i++)
			sum += (unsigned long)i;
	while (cpu_us() < until);
}

static int early; /* how often a call ended early */

static void expect(const char *what, int ok)
{
	if (!ok) {
		early++;
		if (early < 10)
			printf("%s ended early: errno %d\n", what, errno);
	}
}

void manners_sleeps(void)
{
	struct timespec brief = {0, 1000}, deadline;
	struct timeval tv;
	int ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev;

	early = 0;
	prctl(PR_SET_TIMERSLACK, 1);
	for (int i = 0; i < 12000; i++) {
		brief.tv_nsec = 1 + i % 7 * 1000;
		expect("nanosleep", !nanosleep(&brief, NULL));
		expect("usleep", !usleep(1));
		expect("clock_nanosleep", !clock_nanosleep(CLOCK_MONOTONIC, 0, &brief, NULL));
		clock_gettime(CLOCK_MONOTONIC, &deadline);
		expect("absolute",
		       !clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL));
		expect("ppoll", ppoll(NULL, 0, &brief, NULL) == 0);
		tv = (struct timeval){0, 1};
		expect("select", select(0, NULL, NULL, NULL, &tv) == 0);
		expect("pselect", pselect(0, NULL, NULL, NULL, &brief, NULL) == 0);
		if (i % 50 == 0) {
			expect("poll", poll(NULL, 0, 1) == 0);
			expect("epoll_wait", epoll_wait(ep, &ev, 1, 1) == 0);
		}
	}
	close(ep);
	printf("early %d\n", early);
}

static int to[2], back[2];

static void *echo(void *arg)
{
	char byte;

	while (read(to[0], &byte, 1) == 1)
		if (write(back[1], &byte, 1) != 1)
			break;
	return arg;
}

/* Every read waits for the other thread. */
void manners_pipes(void)
{
	pthread_t t;
	char byte = 'x';

	early = 0;
	if (pipe(to) || pipe(back) || pthread_create(&t, NULL, echo, NULL))
		return;
	for (int i = 0; i < 60000; i++) {
		expect("write", write(to[1], &byte, 1) == 1);
		expect("read", read(back[0], &byte, 1) == 1);
	}
	close(to[1]);
	pthread_join(t, NULL);
	close(to[0]);
	close(back[0]);
	close(back[1]);
	printf("early %d\n", early);
}

/* Calls that never restart, waiting for a thing that happens. */
static sem_t ping, pong;

static void *answer(void *arg)
{
	for (int i = 0; i < 30000; i++) {
		expect("sem_wait", !sem_wait(&ping));
		sem_post(&pong);
	}
	return arg;
}

void manners_waits(void)
{
	struct timespec zero = {0, 0}, later;
	sigset_t usr1;
	siginfo_t info;
	pthread_t t;
	int n = 0;

	early = 0;
	sem_init(&ping, 0, 0);
	sem_init(&pong, 0, 0);
	if (pthread_create(&t, NULL, answer, NULL))
		return;
	clock_gettime(CLOCK_REALTIME, &later);
	later.tv_sec += 600;
	for (int i = 0; i < 30000; i++) {
		sem_post(&ping);
		expect("sem_timedwait", !sem_timedwait(&pong, &later));
	}
	pthread_join(t, NULL);
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &usr1, NULL);
	for (int i = 0; i < 20000; i++) {
		struct timespec brief = {0, 1000};

		raise(SIGUSR1);
		n += sigtimedwait(&usr1, &info, &zero) == SIGUSR1;
		expect("sigtimedwait", sigtimedwait(&usr1, &info, &brief) < 0 && errno == EAGAIN);
	}
	pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
	printf("early %d, signals %d\n", early, n);
}
