// SPDX-License-Identifier: MIT
/* Programs that go through all signals, wait for any, or have timers and stacks of their own. */
#include "manners/manners.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int caught[65];

static void count(int sig)
{
	caught[sig]++;
}

/* As daemons do: every signal to its default, then everything blocked, then nothing. */
void manners_handlers(void)
{
	int changed = 0, odd = 0;
	sigset_t all, none, was;

	sigfillset(&all);
	sigemptyset(&none);
	for (int sig = 1; sig < 65; sig++) {
		struct sigaction act = {.sa_handler = SIG_DFL}, old;

		if (sig == SIGKILL || sig == SIGSTOP || sig == 32 || sig == 33)
			continue;
		changed += !sigaction(sig, &act, &old);
		odd += old.sa_handler != SIG_DFL;
		odd += signal(sig, SIG_DFL) != SIG_DFL;
	}
	manners_burn(100000);
	printf("default: %d, %d were not\n", changed, odd);
	sigprocmask(SIG_SETMASK, &all, &was);
	manners_burn(100000);
	sigprocmask(SIG_SETMASK, &none, NULL);
	manners_burn(30000);
	for (int sig = 1; sig < 65; sig++) {
		if (sig == SIGKILL || sig == SIGSTOP || sig == 32 || sig == 33 || sig == SIGCHLD)
			continue;
		signal(sig, count);
	}
	manners_burn(100000);
	for (int sig = 34; sig < 65; sig++)
		raise(sig); /* the program's own use of any of them */
	for (int sig = 1; sig < 65; sig++) {
		if (caught[sig])
			printf(" %d:%d", sig, caught[sig]);
		if (sig != SIGKILL && sig != SIGSTOP && sig != 32 && sig != 33)
			signal(sig, SIG_DFL);
	}
	printf("\n");
	sigprocmask(SIG_SETMASK, &was, NULL);
}

static volatile int ready;

static void *sender(void *arg)
{
	pid_t pid = getpid();

	for (int i = 0; i < 200; i++) {
		while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
			usleep(10);
		__atomic_store_n(&ready, 0, __ATOMIC_RELEASE);
		kill(pid, i % 2 ? SIGUSR1 : SIGUSR2);
	}
	return arg;
}

/* The thread that takes care of all signals, by waiting and by a descriptor; it works in between.
 */
void manners_sigwait(void)
{
	int got[65] = {0}, sig, fd;
	sigset_t all, was;
	pthread_t t;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	fd = signalfd(-1, &all, SFD_CLOEXEC);
	if (fd < 0 || pthread_create(&t, NULL, sender, NULL))
		return;
	for (int i = 0; i < 200; i++) {
		struct signalfd_siginfo info = {0};
		siginfo_t si;

		manners_burn(1500);
		__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
		if (i % 3 == 0)
			got[sigwait(&all, &sig) ? 0 : sig]++;
		else if (i % 3 == 1)
			got[read(fd, &info, sizeof(info)) > 0 ? info.ssi_signo : 0]++;
		else
			got[(sig = sigwaitinfo(&all, &si)) > 0 ? sig : 0]++;
	}
	pthread_join(t, NULL);
	close(fd);
	for (int i = 0; i < 65; i++)
		if (got[i])
			printf(" %d:%d", i, got[i]);
	printf("\n");
	pthread_sigmask(SIG_SETMASK, &was, NULL);
}

/* A profiler of its own. */
void manners_itimer(void)
{
	struct itimerval every = {{0, 8000}, {0, 8000}}, off = {{0, 0}, {0, 0}};

	caught[SIGPROF] = caught[SIGVTALRM] = 0;
	signal(SIGPROF, count);
	setitimer(ITIMER_PROF, &every, NULL);
	manners_burn(300000);
	setitimer(ITIMER_PROF, &off, NULL);
	signal(SIGPROF, SIG_DFL);
	printf("SIGPROF came %s\n", caught[SIGPROF] > 10 ? "often" : "too seldom");
}

static sigjmp_buf out;
static volatile int depth;

static void overflowed(int sig)
{
	(void)sig;
	manners_burn(20000);
	siglongjmp(out, 1);
}

static int deeper(int n)
{
	volatile char room[4096];

	memset((char *)room, n, sizeof(room));
	depth = n;
	return n < 0 ? n : deeper(n + 1) + room[n % 4096];
}

/* Catches the overflow of its stack on another one, and works there. */
void manners_altstack(void)
{
	static char other[65536];
	stack_t ss = {.ss_sp = other, .ss_size = sizeof(other)}, old;
	struct sigaction act = {.sa_handler = overflowed, .sa_flags = SA_ONSTACK}, was;

	sigaltstack(NULL, &old);
	printf("no stack for signals: %d\n", (old.ss_flags & SS_DISABLE) != 0);
	sigaltstack(&ss, NULL);
	sigaction(SIGSEGV, &act, &was);
	for (int i = 0; i < 5; i++) {
		if (!sigsetjmp(out, 1))
			(void)deeper(0);
		if (depth < 1000)
			printf("only %d frames\n", depth);
	}
	manners_burn(50000);
	ss.ss_flags = SS_DISABLE;
	sigaltstack(&ss, NULL);
	sigaction(SIGSEGV, &was, NULL);
	printf("five overflows\n");
}

/* Somebody sends this process a signal whose default is to end it: it ends. */
void manners_own_signal(void)
{
	for (int sig = 34; sig < 65; sig++) {
		pid_t pid = fork();
		int status = 0;

		if (!pid) {
			manners_burn(1000);
			raise(sig);
			_exit(0);
		}
		waitpid(pid, &status, 0);
		if (!WIFSIGNALED(status) || WTERMSIG(status) != sig)
			printf("signal %d: status %x\n", sig, status);
	}
	printf("each signal ends\n");
}
