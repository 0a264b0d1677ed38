// SPDX-License-Identifier: MIT
/*
 * sleep: nanosleep and an absolute clock_nanosleep; child: waitpid and waitid; throttled: a spinner
 * in a cgroup that may only have so much of the CPU.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include "lib/party.h"
#include "waits/waits.h"

static uint64_t some_time(struct actor *a)
{
	return 500 * NSEC_PER_USEC + random_below(&a->seed, 2500 * NSEC_PER_USEC);
}

KEEP static void wait_nanosleep(struct lone *l)
{
	struct actor *a = l->actor;

	while (now_ns() < a->end_ns) {
		struct timespec t = {.tv_nsec = (long)some_time(a)};

		wait_begin(a, l->reason);
		nanosleep(&t, NULL);
		wait_end(a);
	}
}

KEEP static void wait_until(struct lone *l)
{
	struct actor *a = l->actor;

	while (now_ns() < a->end_ns) {
		uint64_t at = now_ns() + some_time(a);

		wait_begin(a, l->reason);
		sleep_until(at);
		wait_end(a);
	}
}

void case_sleep(const struct args *a)
{
	const struct lone_case cases[] = {
		{"nanosleep", "sleep", wait_nanosleep, NULL},
		{"sleep-until", "sleep", wait_until, NULL},
	};

	lone_run(a, cases, ARRAY_LEN(cases));
}

static pid_t child_make(struct actor *a)
{
	uint64_t ns = some_time(a);
	pid_t pid = fork_child();

	if (!pid) {
		sleep_ns(ns);
		_exit(0);
	}
	return pid;
}

KEEP static void wait_waitpid(struct lone *l, pid_t pid)
{
	pid_t got;

	wait_begin(l->actor, l->reason);
	got = waitpid(pid, NULL, 0);
	wait_end(l->actor);
	if (got != pid)
		die("waitpid: %s", strerror(errno));
}

static void waitpid_work(struct lone *l)
{
	while (now_ns() < l->actor->end_ns)
		wait_waitpid(l, child_make(l->actor));
}

KEEP static void wait_waitid(struct lone *l, pid_t pid)
{
	siginfo_t info;
	int rc;

	wait_begin(l->actor, l->reason);
	rc = waitid(P_PID, (id_t)pid, &info, WEXITED);
	wait_end(l->actor);
	if (rc)
		die("waitid: %s", strerror(errno));
}

static void waitid_work(struct lone *l)
{
	while (now_ns() < l->actor->end_ns)
		wait_waitid(l, child_make(l->actor));
}

void case_child(const struct args *a)
{
	const struct lone_case cases[] = {
		{"waitpid", "child", waitpid_work, NULL},
		{"waitid", "child", waitid_work, NULL},
	};

	lone_run(a, cases, ARRAY_LEN(cases));
}

/* ---- throttled ---- */

/* Longer than any spell of another thread on the CPU, shorter than a quota's. */
#define GAP_NS (15 * NSEC_PER_MSEC)

struct throttled {
	struct truth *truth;
	uint64_t end_ns;
};

/* What its own clock skipped, it did not run. */
static void *throttled_main(void *arg)
{
	struct throttled *t = arg;
	uint64_t last, gaps = 0, gaps_ns = 0;

	truth_begin(t->truth, "throttled");
	last = now_ns();
	while (last < t->end_ns) {
		uint64_t now;

		burn();
		now = now_ns();
		if (now - last > GAP_NS) {
			gaps++;
			gaps_ns += now - last;
		}
		last = now;
	}
	fact(&t->truth->facts, "gaps", (double)gaps);
	fact(&t->truth->facts, "gaps_ns", (double)gaps_ns);
	truth_end(t->truth);
	return NULL;
}

/* Moves this process: the cgroup has to be there, with its limit. */
static void cgroup_join(const char *cgroup)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1)
		die("cannot move to the cgroup %s: %s", cgroup, strerror(errno));
	close(fd);
}

void case_throttled(const struct args *a)
{
	struct throttled t = {.truth = truth_room(1)};
	pthread_t thread;

	cgroup_join(arg_str(a, "cgroup"));
	t.end_ns = now_ns() + arg_seconds(a);
	thread_start(&thread, throttled_main, &t);
	pthread_join(thread, NULL);
}
