// SPDX-License-Identifier: MIT
/* signal: sigwait and sigsuspend; stopped: a process that its parent stops again and again. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "lib/party.h"
#include "waits/waits.h"

static void on_signal(int sig)
{
}

static void signal_feed(struct pair *p)
{
	if (syscall(SYS_tgkill, getpid(), atomic_load(&p->waiter_tid), SIGUSR1))
		die("tgkill: %s", strerror(errno));
}

/* Blocked from before any thread is made: nobody but the one who waits takes it. */
static void signal_open(struct pair *p)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	signal(SIGUSR1, on_signal);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

KEEP static bool wait_sigwait(struct pair *p)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	wait_begin(p->waiter, p->reason);
	if (sigwait(&set, &sig))
		die("sigwait");
	wait_end(p->waiter);
	return !atomic_load(&p->over);
}

KEEP static bool wait_sigsuspend(struct pair *p)
{
	sigset_t set;

	sigfillset(&set);
	sigdelset(&set, SIGUSR1);
	wait_begin(p->waiter, p->reason);
	sigsuspend(&set);
	wait_end(p->waiter);
	return !atomic_load(&p->over);
}

void case_signal(const struct args *a)
{
	const struct pair_case cases[] = {
		{"sigwait", "signal", signal_open, wait_sigwait, signal_feed, signal_feed},
		{"sigsuspend", "signal", signal_open, wait_sigsuspend, signal_feed, signal_feed},
	};

	pairs_run(a, cases, ARRAY_LEN(cases));
}

/* ---- stopped ---- */

/*
 * How long it was stopped, at least (from when the kernel said so until just before the SIGCONT)
 * and at most (from just before the SIGSTOP until the kernel said that it goes on).
 */
struct stops {
	uint64_t count, min_ns, max_ns;
};

static void stop_once(pid_t pid, uint64_t length_ns, struct stops *s)
{
	uint64_t before = now_ns(), stopped, go_on;
	int status;

	if (kill(pid, SIGSTOP) || waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
		die("cannot stop process %d: %s", pid, strerror(errno));
	stopped = now_ns();
	sleep_ns(length_ns);
	go_on = now_ns();
	if (kill(pid, SIGCONT) || waitpid(pid, &status, WCONTINUED) != pid)
		die("cannot let process %d go on: %s", pid, strerror(errno));
	s->max_ns += now_ns() - before;
	s->min_ns += go_on - stopped;
	s->count++;
}

void case_stopped(const struct args *a)
{
	struct truth *truth = truth_room(1);
	uint64_t end_ns = now_ns() + arg_seconds(a), seed = 1;
	struct stops s = {0};
	pid_t pid = fork_child();

	if (!pid) {
		truth_begin(truth, "stopped");
		spin_until(end_ns);
		truth_end(truth);
		_exit(0);
	}
	while (now_ns() + 100 * NSEC_PER_MSEC < end_ns) {
		sleep_ns(NSEC_PER_MSEC + random_below(&seed, 10 * NSEC_PER_MSEC));
		stop_once(pid, NSEC_PER_MSEC + random_below(&seed, 20 * NSEC_PER_MSEC), &s);
	}
	wait_child(pid);
	fact(&truth->facts, "stops", (double)s.count);
	fact(&truth->facts, "stopped_min_ns", (double)s.min_ns);
	fact(&truth->facts, "stopped_max_ns", (double)s.max_ns);
}
