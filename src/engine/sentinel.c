// SPDX-License-Identifier: MIT
#include "engine/sentinel.h"

#include <linux/close_range.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/host.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/units.h"

#define LOOK_NS (200 * NSEC_PER_MSEC)

static int by_number(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* The sentinel must not keep files of the recording, its command or the terminal open. */
static void close_others(const int *sorted, size_t n)
{
	unsigned from = 0;

	for (size_t i = 0; i < n; i++) {
		if ((unsigned)sorted[i] > from)
			syscall(SYS_close_range, from, (unsigned)sorted[i] - 1, 0);
		from = (unsigned)sorted[i] + 1;
	}
	syscall(SYS_close_range, from, ~0u, 0);
}

/* The page of the fuse, for reading alone, at the address that it has in the recorder. */
static bool map_fuse(const struct sentinel_opts *o)
{
	uintptr_t from = (uintptr_t)o->fuse & -(uintptr_t)ARCH_PAGE;
	uintptr_t to = (uintptr_t)(o->fuse + 1);

	return !o->map || mmap((void *)from, to - from, PROT_READ, MAP_SHARED | MAP_FIXED, o->map,
			       (off_t)(from - (uintptr_t)o->mapped)) != MAP_FAILED;
}

/*
 * The child of a process with threads may only do what is safe in a signal handler. Before arming,
 * alive_until is 0.
 */
static void stand_guard(const struct sentinel_opts *o, pid_t collector)
{
	const struct sched_param param = {.sched_priority = 1};
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	uint64_t until;

	/* The sentinel matters most on a busy machine. */
	(void)sched_setscheduler(0, SCHED_RR, &param);
	do {
		nanosleep(&pause, NULL);
		until = __atomic_load_n(&o->fuse->alive_until, __ATOMIC_RELAXED);
	} while (getppid() == collector && (!until || clock_mono_ns() <= until));
	for (size_t i = 0; i < o->n_clocks; i++)
		ioctl(o->clocks[i], PERF_EVENT_IOC_DISABLE, 0);
}

int sentinel_start(struct sentinel *s, const struct sentinel_opts *o)
{
	size_t n = o->n_keep + o->n_clocks;
	int *fds = mem_alloc((n + 1) * sizeof(*fds));
	pid_t collector = getpid(), pid;
	sigset_t all, before;

	memcpy(fds, o->keep, o->n_keep * sizeof(*fds));
	memcpy(fds + o->n_keep, o->clocks, o->n_clocks * sizeof(*fds));
	sort_by(fds, n, sizeof(*fds), by_number);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "thaw-sentinel");
		setsid();
		if (!map_fuse(o))
			_exit(1);
		close_others(fds, n);
		stand_guard(o, collector);
		_exit(0);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	free(fds);
	if (pid < 0)
		return err_set(-errno, "starting the sentinel: %s", strerror(errno));
	s->pid = pid;
	return 0;
}

bool sentinel_gone(struct sentinel *s)
{
	pid_t got = s->pid ? waitpid(s->pid, NULL, WNOHANG) : 0;

	/* If SIGCHLD is ignored, waitpid() knows nothing of a dead child. */
	if (got == s->pid || (got < 0 && errno == ECHILD))
		s->pid = 0;
	return !s->pid;
}

void sentinel_stop(struct sentinel *s)
{
	if (!s->pid)
		return;
	kill(s->pid, SIGKILL);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
}
