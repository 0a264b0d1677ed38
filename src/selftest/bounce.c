// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "selftest/selftest.h"

struct side {
	int in, out;
	int cpu;
	const bool *running;
};

struct bounce {
	pthread_t threads[2];
	struct side sides[2];
	bool running;
};

static void *play(void *arg)
{
	const struct side *s = arg;
	char byte = 0;
	cpu_set_t set;

	if (s->cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET(s->cpu, &set);
		(void)sched_setaffinity(0, sizeof(set), &set);
	}
	while (__atomic_load_n(s->running, __ATOMIC_RELAXED))
		if (read(s->in, &byte, 1) != 1 || write(s->out, &byte, 1) != 1)
			break;
	(void)!write(s->out, &byte, 1);
	return NULL;
}

int bounce_start(int cpu, struct bounce **ret)
{
	struct bounce *b = mem_zalloc(sizeof(*b));
	int there[2], back[2];

	if (pipe(there)) {
		free(b);
		return err_set(-errno, "making a pipe: %s", strerror(errno));
	}
	if (pipe(back)) {
		int rc = -errno;

		close(there[0]);
		close(there[1]);
		free(b);
		return err_set(rc, "making a pipe: %s", strerror(-rc));
	}
	b->running = true;
	b->sides[0] = (struct side){there[0], back[1], cpu, &b->running};
	b->sides[1] = (struct side){back[0], there[1], cpu, &b->running};
	for (int i = 0; i < 2; i++)
		pthread_create(&b->threads[i], NULL, play, &b->sides[i]);
	(void)!write(there[1], "x", 1);
	*ret = b;
	return 0;
}

void bounce_stop(struct bounce *b)
{
	if (!b)
		return;
	__atomic_store_n(&b->running, false, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(b->threads[i], NULL);
	for (int i = 0; i < 2; i++) {
		close(b->sides[i].in);
		close(b->sides[i].out);
	}
	free(b);
}

int selftest_breakpoint(uint64_t addr, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(attr),
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = addr,
		.bp_len = HW_BREAKPOINT_LEN_8,
		.sample_period = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return err_set(errno == EPERM || errno == EACCES ? -EPERM : -EOPNOTSUPP,
			       "no hardware breakpoint is available: %s", strerror(errno));
	return fd;
}
