// SPDX-License-Identifier: MIT
/* Threads and processes that must start, and must end well. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "lib/base.h"
#include "lib/party.h"

void thread_start(pthread_t *ret, void *(*fn)(void *), void *arg)
{
	pthread_attr_t attr;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	rc = pthread_create(ret, &attr, fn, arg);
	if (rc)
		die("cannot make a thread: %s", strerror(rc));
	pthread_attr_destroy(&attr);
}

void wait_child(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			die("waiting for process %d: %s", pid, strerror(errno));
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		die("process %d ended badly: status 0x%x", pid, status);
}

pid_t fork_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("cannot fork: %s", strerror(errno));
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

void party_start(struct party *p, bool process, void *(*fn)(void *), void *arg)
{
	p->process = process;
	if (!process) {
		thread_start(&p->thread, fn, arg);
		return;
	}
	p->pid = fork_child();
	if (!p->pid) {
		fn(arg);
		_exit(0);
	}
}

void party_join(struct party *p)
{
	if (p->process)
		wait_child(p->pid);
	else
		pthread_join(p->thread, NULL);
}

void pin(size_t cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("cannot pin to CPU %zu: %s", cpu, strerror(errno));
}

size_t cpus_allowed(size_t *cpus, size_t room)
{
	cpu_set_t set;
	size_t n = 0;

	if (sched_getaffinity(0, sizeof(set), &set))
		die("cannot read the CPU affinity: %s", strerror(errno));
	for (size_t i = 0; i < CPU_SETSIZE && n < room; i++) {
		if (CPU_ISSET(i, &set))
			cpus[n++] = i;
	}
	return n;
}
