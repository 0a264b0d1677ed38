// SPDX-License-Identifier: MIT
/*
 * What a signal-driven profiler does: a cpu-clock event that fires once, signals, and is armed
 * again by the handler (PERF_EVENT_IOC_REFRESH). Kernels with 18dbcbfabfff and without eb3182ef0405
 * stop the event's timer from within that timer, which waits for itself, for ever.
 *
 * This is here to show what thaw does not do. It freezes such kernels: only for guests of the lab.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 10000000
#define SECONDS 3

static volatile sig_atomic_t signals;
static int event = -1;

static void on_signal(int sig)
{
	signals++;
	ioctl(event, PERF_EVENT_IOC_REFRESH, 1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

int main(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = PERIOD_NS,
		.sample_type = PERF_SAMPLE_IP,
		.disabled = 1,
		.wakeup_events = 1,
	};
	struct f_owner_ex owner = {F_OWNER_TID, getpid()};
	struct sigaction act = {.sa_handler = on_signal};
	uint64_t until = now_ns() + SECONDS * 1000000000ull;

	event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0 || sigaction(SIGPROF, &act, NULL) || fcntl(event, F_SETFL, O_ASYNC) ||
	    fcntl(event, F_SETSIG, SIGPROF) || fcntl(event, F_SETOWN_EX, &owner)) {
		perror("FAIL naive oneshot");
		return 1;
	}
	ioctl(event, PERF_EVENT_IOC_REFRESH, 1);
	while (now_ns() < until)
		;
	printf("naive oneshot: survived, %d signals\n", (int)signals);
	return 0;
}
