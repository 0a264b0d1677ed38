// SPDX-License-Identifier: MIT
#include "symbol/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/task.h"
#include "base/units.h"
#include "symbol/sandbox.h"

/* How long a killed child may take to end; and one that waits for a CPU to do so. */
#define END_NS (100 * NSEC_PER_MSEC)
#define END_MAX_NS (2 * NSEC_PER_SEC)
#define STILL_NS (100 * NSEC_PER_MSEC)
#define LOOKS_NS (200 * NSEC_PER_MSEC) /* between two looks, at most, if the parent has a CPU */

uint64_t child_cpu_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (!pid || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * NSEC_PER_SEC + (uint64_t)t.tv_nsec;
}

/*
 * The parent may itself have had no CPU for seconds, while the child's answer waits. So no more
 * than LOOKS_NS counts between two looks.
 */
uint64_t child_still_ns(struct child_pulse *p, uint64_t now)
{
	uint64_t cpu = child_cpu_ns(p->pid), passed = p->looked ? now - p->looked : 0;

	p->looked = now;
	p->still_ns += passed < LOOKS_NS ? passed : LOOKS_NS;
	if (cpu != p->cpu_ns) {
		p->cpu_ns = cpu;
		p->still_ns = 0;
	}
	return p->still_ns >= STILL_NS && task_sleeps(p->pid) ? p->still_ns : 0;
}

bool child_end(pid_t pid, int *ret_status)
{
	uint64_t began = clock_mono_ns(), took = 0;
	pid_t got;

	/* One of low priority would wait for a CPU to end on. */
	(void)setpriority(PRIO_PROCESS, (id_t)pid, HASTE_NICE);
	kill(pid, SIGKILL);
	while (!(got = waitpid(pid, ret_status, WNOHANG)) || (got < 0 && errno == EINTR)) {
		if (took > END_MAX_NS || (took > END_NS && task_sleeps(pid)))
			return false;
		usleep(200);
		took = clock_mono_ns() - began;
	}
	return got == pid;
}

bool child_end_or_leave(pid_t pid, int *ret_status, struct left *l)
{
	bool ended = child_end(pid, ret_status);

	if (!ended && l)
		vec_push(&l->pids, pid);
	return ended;
}

size_t left_count(struct left *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->pids.n; i++)
		if (!waitpid(l->pids.v[i], NULL, WNOHANG))
			l->pids.v[n++] = l->pids.v[i];
	l->pids.n = n;
	return n;
}

void left_done(struct left *l)
{
	(void)left_count(l);
	vec_done(&l->pids);
}

void child_keep_only(int fd)
{
	sandbox_quiet();
	if (fd > 3)
		(void)syscall(SYS_close_range, 3, (unsigned)fd - 1, 0);
	(void)syscall(SYS_close_range, (unsigned)fd + 1, ~0u, 0);
}

void child_make_haste(struct haste *h, pid_t pid)
{
	if (h->made || !__atomic_load_n(&h->asked, __ATOMIC_RELAXED))
		return;
	(void)setpriority(PRIO_PROCESS, (id_t)pid, HASTE_NICE);
	h->made = true;
}

void child_make_modest(pid_t pid)
{
	if (getpriority(PRIO_PROCESS, (id_t)pid) < 0)
		(void)setpriority(PRIO_PROCESS, (id_t)pid, 0);
}
