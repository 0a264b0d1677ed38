// SPDX-License-Identifier: MIT
/*
 * Events of perf that the bpf engine uses. Samples come from a cpu-clock event per CPU whose
 * overflow runs a program: no signals, no one-shot refresh, no perf buffer. The side-band is a
 * dummy event per CPU whose buffer carries mappings and execs.
 *
 * No event asks for build ids (attr.build_id). The kernel marks a record that has one, and forgets
 * to clear the mark before it writes the record for the next event: every perf on the machine would
 * read devices and inodes as build ids, and perf 6.1 crashes. The scout reads them.
 */
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "engine/bpf_private.h"

#define SIDEBAND_PAGES 128
#define CLOSE_TICKS 5

static int perf_open(struct perf_event_attr *attr, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

int bpf_open_clock(struct bpf_engine *b, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = b->freq_hz,
		.disabled = 1,
		.exclude_idle = 1,
	};
	int fd = perf_open(&attr, cpu);

	if (fd < 0 && errno == EINVAL)
		return err_set(-EINVAL,
			       "the kernel refuses to sample at %llu Hz; "
			       "kernel.perf_event_max_sample_rate is the limit: try -F 99",
			       (unsigned long long)b->freq_hz);
	if (fd < 0)
		return err_set(-errno, "opening the sampling clock of CPU %d: %s", cpu,
			       strerror(errno));
	vec_push(&b->clocks, fd);
	return 0;
}

int bpf_open_sideband(struct bpf_engine *b, int cpu, struct source **ret)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = SIDEBAND_SAMPLES,
		.disabled = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	int fd = perf_open(&attr, cpu);

	if (fd < 0)
		return err_set(-errno, "opening the side-band of CPU %d: %s", cpu, strerror(errno));
	vec_push(&b->sidebands, fd);
	return source_perf_open(fd,
				&(struct source_perf_opts){.pages = SIDEBAND_PAGES,
							   .pages_min = SIDEBAND_PAGES,
							   .sample_type = SIDEBAND_SAMPLES,
							   .cpu = (uint16_t)cpu},
				ret);
}

/*
 * Closing a ticking clock leaves its timer armed in freed memory, from eb3182ef0405 (6.17.8) until
 * ff5860f5088e (6.18.6). There thaw first stops the clock and gives it time to end.
 */
void bpf_stop_clocks(struct bpf_engine *b)
{
	uint64_t ns = b->freq_hz ? CLOSE_TICKS * NSEC_PER_SEC / b->freq_hz : 0;
	struct timespec t = {(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};

	for (size_t i = 0; i < b->ticking.n; i++)
		ioctl(b->ticking.v[i], PERF_EVENT_IOC_DISABLE, 0);
	if (b->ticking.n && b->slow_close)
		nanosleep(&t, NULL);
	b->ticking.n = 0;
}

/*
 * The kernel turns a software clock's frequency into a period at opening, so it expects a period
 * here. (It would refuse this number as a frequency: far above its limit.)
 */
bool bpf_slow_down(struct bpf_engine *b)
{
	uint64_t period = NSEC_PER_SEC / STEP_RATE_HZ;
	size_t slower = 0;

	for (size_t i = 0; i < b->ticking.n; i++)
		slower += !ioctl(b->ticking.v[i], PERF_EVENT_IOC_PERIOD, &period);
	return slower && slower == b->ticking.n;
}
