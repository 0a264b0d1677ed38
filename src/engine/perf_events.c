// SPDX-License-Identifier: MIT
/* The events and buffers of the perf engine: what is asked of the kernel, and what it refuses. */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "arch/host.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "engine/perf_private.h"

/*
 * How much of the stack is copied, and how large that makes a sample. For python3, git, perl and
 * gcc, 16 KiB are enough for 97 to 100% of the samples, 8 KiB for 95%, 4 KiB for 2% (git) to 91%.
 * Waits are less deep, and there are more of them.
 */
#define STACK_BYTES (16u << 10)
#define WAIT_STACK_BYTES (8u << 10)
#define SAMPLE_BYTES (STACK_BYTES + 512)
/* Limits of the buffers per CPU. WAITS_MAX also bounds the time spent on stacks of waits. */
#define BUFFERS_TOTAL (128u << 20)
#define BUFFER_MAX (8u << 20)
#define BUFFER_MIN (64u << 10)
#define WAITS_MAX (4u << 20)
#define POLL_MIN_NS (4 * NSEC_PER_MSEC)
#define POLL_MAX_NS (20 * NSEC_PER_MSEC)

/* ---- events ---- */

static struct perf_event_attr attr_of(const struct perf_engine *p)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.sample_type = p->setup.sample_type,
		.sample_regs_user = ARCH_PERF_REGS,
		.sample_stack_user = STACK_BYTES,
		.read_format = p->no_lost ? 0 : PERF_FORMAT_LOST,
		.disabled = 1,
		.inherit = !p->setup.wide && p->setup.inherit,
		.exclude_kernel = !p->limits.kernel,
		.exclude_hv = !p->limits.kernel,
		.exclude_idle = 1,
		.exclude_callchain_user = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

static struct perf_event_attr clock_attr(const struct perf_engine *p)
{
	struct perf_event_attr attr = attr_of(p);

	attr.config = p->setup.freq_hz ? PERF_COUNT_SW_CPU_CLOCK : PERF_COUNT_SW_DUMMY;
	attr.freq = p->setup.freq_hz > 0;
	attr.sample_freq = p->setup.freq_hz;
	attr.mmap = attr.mmap2 = 1;
	attr.comm = attr.comm_exec = 1;
	attr.task = 1;
	attr.context_switch = 1;
	return attr;
}

static struct perf_event_attr wait_attr(const struct perf_engine *p)
{
	struct perf_event_attr attr = attr_of(p);

	attr.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	attr.sample_period = 1;
	attr.sample_stack_user = WAIT_STACK_BYTES;
	return attr;
}

void perf_find_features(struct perf_engine *p)
{
	struct perf_event_attr attr = clock_attr(p);
	int fd = perf_event(&attr, 0, -1);

	p->no_lost = fd < 0 && errno == EINVAL;
	if (fd >= 0)
		close(fd);
}

int perf_fail(const struct perf_engine *p, int rc, pid_t pid, int cpu)
{
	if (rc == -EMFILE || rc == -ENFILE)
		return err_set(rc,
			       "no more files can be opened: each thread takes %zu (one set of "
			       "perf events). Raise the limit (ulimit -n), or record with -a",
			       p->online.n * (p->limits.kernel ? 2 : 1));
	if (rc == -EACCES || rc == -EPERM)
		return err_set(
			rc,
			"this user may not look at thread %d (%s): it is somebody else's, or "
			"runs with privileges of its own. Run it as root",
			pid, strerror(-rc));
	if (rc == -EINVAL && p->setup.freq_hz)
		return err_set(rc,
			       "the kernel refuses to sample at %llu Hz; "
			       "kernel.perf_event_max_sample_rate is the limit: try -F 99",
			       (unsigned long long)p->setup.freq_hz);
	return err_set(rc, "opening a perf event of %s %d on CPU %d: %s",
		       pid < 0 ? "the machine," : "thread", pid < 0 ? 0 : pid, cpu, strerror(-rc));
}

static int open_event(struct perf_engine *p, struct perf_event_attr *attr, pid_t pid, size_t at,
		      uint64_t what)
{
	int fd = perf_event(attr, pid, p->online.v[at % p->online.n]), rc;
	uint64_t id;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, p->outputs[at]) ||
	    ioctl(fd, PERF_EVENT_IOC_ID, &id)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	*map_put(&p->setup.ids, id, NULL) = what;
	vec_push(&p->events, (struct event_fd){fd, (uint32_t)at});
	return 0;
}

int perf_open_set(struct perf_engine *p, pid_t pid)
{
	uint32_t set = pid < 0 ? 0 : (uint32_t)pid;

	for (size_t i = 0; i < p->online.n; i++) {
		struct perf_event_attr attr = clock_attr(p);
		int rc = open_event(p, &attr, pid, i, PERF_OF_SET(set));

		if (!rc && p->limits.kernel) {
			attr = wait_attr(p);
			rc = open_event(p, &attr, pid, p->online.n + i,
					PERF_OF_SET(set) | PERF_AT_SWITCH);
		}
		if (rc)
			return rc;
	}
	return 0;
}

/* ---- buffers ---- */

static size_t halved_to(size_t bytes, size_t limit)
{
	while (bytes > BUFFER_MIN && bytes > limit)
		bytes /= 2;
	return bytes;
}

/* An event that never counts owns a CPU's buffer, because those that write to it come and go. */
static int open_buffer(struct perf_engine *p, size_t at, size_t bytes)
{
	struct perf_event_attr attr = attr_of(p);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int cpu = p->online.v[at % p->online.n], rc, fd;
	struct source_perf_opts o = {.pages = bytes / page,
				     .pages_min = BUFFER_MIN / page,
				     .sample_type = p->setup.sample_type,
				     .cpu = (uint16_t)cpu,
				     .quiet = at >= p->online.n};

	attr.config = PERF_COUNT_SW_DUMMY;
	attr.inherit = 0;
	attr.read_format = 0;
	fd = perf_event(&attr, p->setup.wide ? -1 : 0, cpu);
	if (fd < 0)
		return perf_fail(p, -errno, -1, cpu);
	rc = source_perf_open(fd, &o, &p->base.sources[at]);
	if (rc)
		return err_add(rc, "the buffers take more memory than this user may lock "
				   "(kernel.perf_event_mlock_kb, ulimit -l)");
	p->outputs[at] = fd;
	p->base.n_sources++;
	return 0;
}

int perf_open_buffers(struct perf_engine *p, const struct plan *plan)
{
	size_t n = p->online.n * (p->limits.kernel ? 2 : 1);
	size_t most = perf_limits_memory(&p->limits, p->online.n);
	size_t bytes = halved_to(BUFFER_MAX, BUFFERS_TOTAL / p->online.n), waits;
	uint64_t per_s = p->setup.freq_hz * SAMPLE_BYTES;

	if (plan->ring_bytes)
		bytes = plan->ring_bytes > BUFFER_MIN ? plan->ring_bytes : BUFFER_MIN;
	bytes = halved_to(bytes, most / 2);
	waits = halved_to(WAITS_MAX, bytes / 2);
	p->base.sources = mem_zalloc(n * sizeof(*p->base.sources));
	p->outputs = mem_zalloc(n * sizeof(*p->outputs));
	p->open_lost = mem_zalloc(n * sizeof(*p->open_lost));
	for (size_t i = 0; i < n; i++) {
		int rc = open_buffer(p, i, i < p->online.n ? bytes : waits);

		if (rc)
			return rc;
	}
	/* A quarter of a buffer must not fill between two looks. */
	p->base.poll_ns = per_s ? bytes / 4 * NSEC_PER_SEC / per_s : POLL_MAX_NS;
	if (p->base.poll_ns > POLL_MAX_NS)
		p->base.poll_ns = POLL_MAX_NS;
	if (p->base.poll_ns < POLL_MIN_NS)
		p->base.poll_ns = POLL_MIN_NS;
	return 0;
}
