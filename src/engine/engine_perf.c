// SPDX-License-Identifier: MIT
/*
 * The perf engine: samples, switches and tasks from perf buffers, without a program in the kernel.
 *
 * There are two kinds of events. The clock (cpu-clock) samples, and also reports switches, mappings
 * and tasks. Where thaw may look at kernel mode, an event that counts context switches adds the
 * stacks of waits. Events come in sets: for the whole machine one per CPU, whoever runs there;
 * otherwise one per thread and CPU, inherited by what the thread starts. Only thread sets need no
 * privilege. All events of a CPU write to one buffer, so that many threads do not need many
 * buffers. The stacks of waits have a buffer of their own: where threads switch faster than stacks
 * can be read, stacks are lost, not time.
 *
 * Samples are never delivered by signals and events are never refreshed one by one
 * (PERF_EVENT_IOC_REFRESH freezes machines: 18dbcbfabfff).
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "engine/arrays.h"
#include "engine/cgroup.h"
#include "engine/perf_private.h"
#include "guard/guard.h"
#include "scout/procfs.h"
#include "wire/unseen.h"

#define DISCARD_EVERY 256
#define CLOSE_TICKS 4 /* a clock's last tick is over by then */

static struct perf_engine *perf(struct engine *e)
{
	return (struct perf_engine *)e;
}

/* ---- opening ---- */

static void count_one(void *ctx, uint32_t pid, uint32_t tid)
{
	++*(size_t *)ctx;
}

static void count_in_cgroup(void *ctx, uint32_t tid)
{
	++*(size_t *)ctx;
}

/* Counts the threads that exist now: later ones inherit their events. */
static size_t count_threads(const struct plan *plan)
{
	struct cgroup_ref ref;
	size_t n = 0;

	if (plan->scope == SCOPE_CGROUP && !cgroup_find(plan->cgroup, &ref))
		(void)cgroup_each_thread(&ref, count_in_cgroup, &n);
	for (size_t i = 0; i < plan->n_ids; i++)
		if (plan->scope == SCOPE_THREAD)
			n++;
		else
			(void)procfs_each_thread(plan->ids[i], count_one, &n);
	return n;
}

/* Chooses sets of CPUs for the whole machine, or if there are more threads than files. */
static int choose_sets(struct perf_engine *p, const struct plan *plan)
{
	size_t files = perf_limits_files(), threads = count_threads(plan);
	size_t need = (threads + 1) * p->online.n * (p->limits.kernel ? 2 : 1);

	p->setup.wide = plan->scope == SCOPE_SYSTEM;
	if (p->setup.wide || need <= files)
		return 0;
	if (!p->limits.cpus)
		return err_set(-EMFILE,
			       "%zu threads on %zu CPUs take %zu open files, and this user may "
			       "have %zu. Raise the limit (ulimit -n), choose fewer threads (-t), "
			       "or run it as root",
			       threads, p->online.n, need, files);
	p->setup.wide = p->setup.filter = true;
	return 0;
}

static int perf_check(const struct plan *plan)
{
	struct perf_limits l;
	int rc = perf_limits_find(&l);

	if (rc)
		return rc;
	if (plan->scope == SCOPE_SYSTEM && !l.cpus)
		return err_set(
			-EPERM,
			"looking at the whole machine takes CAP_PERFMON, or "
			"kernel.perf_event_paranoid of 0 or less (it is %d). Run it as root, "
			"or record a command or processes of your own (-p)",
			l.paranoid);
	return 0;
}

static void perf_close(struct engine *e)
{
	struct perf_engine *p = perf(e);

	for (size_t i = 0; i < p->events.n; i++)
		close(p->events.v[i].fd);
	for (size_t i = 0; i < e->n_sources; i++)
		source_close(e->sources[i]);
	arrays_close(&p->arrays);
	free(e->sources);
	free(p->outputs);
	free(p->open_lost);
	vec_done(&p->events);
	map_done(&p->sets);
	map_done(&p->setup.ids);
	map_done(&p->setup.members);
	cpu_list_done(&p->online);
	free(p);
}

static int open_all(struct perf_engine *p, const struct plan *plan)
{
	int rc = perf_limits_find(&p->limits);

	rc = rc ? rc : cpu_list_online(&p->online);
	if (rc)
		return rc;
	p->setup.sample_type = PERF_RECORD_SAMPLES;
	if (!p->limits.kernel)
		p->setup.sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
	p->base.perf_samples = p->setup.sample_type;
	perf_find_features(p);
	rc = choose_sets(p, plan);
	rc = rc ? rc : perf_open_buffers(p, plan);
	if (!rc && p->setup.wide) {
		rc = perf_open_set(p, -1);
		rc = rc ? perf_fail(p, rc, -1, p->online.v[0]) : 0;
	}
	return rc;
}

static int perf_open(const struct plan *plan, struct engine **ret)
{
	struct perf_engine *p = mem_zalloc(sizeof(*p));
	int rc;

	p->base.ops = &engine_perf;
	p->base.perf = &p->setup;
	p->setup.freq_hz = plan->freq_hz;
	p->setup.min_wait_ns = plan->min_wait_ns;
	p->setup.inherit = !plan->no_inherit;
	p->slow_close = !verdict_allows(&plan->guard->verdict, MECHANISM_CLOCK_CLOSE);
	rc = open_all(p, plan);
	if (rc) {
		perf_close(&p->base);
		return rc;
	}
	p->base.unseen = UNSEEN_WAKERS | UNSEEN_LOCKS | UNSEEN_STATES | UNSEEN_RUN_QUEUE;
	if (!p->limits.kernel)
		p->base.unseen |= UNSEEN_KERNEL_MODE | UNSEEN_WAIT_STACKS;
	(void)arrays_open(&p->arrays, plan->tables_bytes);
	*ret = &p->base;
	return 0;
}

/* ---- running ---- */

static void perf_watch(struct engine *e, uint32_t tid, bool on)
{
	struct perf_engine *p = perf(e);
	int rc;

	if (p->setup.wide) {
		if (on)
			map_put(&p->setup.members, tid, NULL);
		else
			map_del(&p->setup.members, tid);
		return;
	}
	if (!on || p->rc)
		return;
	rc = perf_open_set(p, (pid_t)tid);
	if (!rc)
		map_put(&p->sets, tid, NULL);
	else if (rc != -ESRCH) {
		p->rc = perf_fail(p, rc, (pid_t)tid, -1);
		snprintf(p->why, sizeof(p->why), "%s", err_msg());
	}
}

static bool perf_watched(struct engine *e, uint32_t tid)
{
	struct perf_engine *p = perf(e);

	return map_get(p->setup.wide ? &p->setup.members : &p->sets, tid);
}

/* Enabling many events takes a while, in which nobody reads: drop what they have recorded. */
static void discard(struct perf_engine *p)
{
	record_vec old = {0};

	for (size_t i = 0; i < p->base.n_sources; i++) {
		source_pull(p->base.sources[i], &old);
		source_release(p->base.sources[i], SOURCE_ALL);
	}
	vec_done(&old);
}

static int perf_attach(struct engine *e)
{
	struct perf_engine *p = perf(e);

	if (p->rc)
		return err_set(p->rc, "%s", p->why);
	for (size_t i = 0; i < p->events.n; i++) {
		ioctl(p->events.v[i].fd, PERF_EVENT_IOC_ENABLE, 0);
		if (i % DISCARD_EVERY == 0)
			discard(p);
	}
	discard(p);
	return 0;
}

/* The events run since perf_attach(); perf_stream_begin() drops earlier records. */
static void perf_arm(struct engine *e)
{
}

/* Events of threads have inherited children, whose rate cannot be changed. */
static bool slow_down(struct perf_engine *p, uint64_t hz)
{
	uint64_t period = NSEC_PER_SEC / hz;
	bool slower = p->setup.wide && p->setup.freq_hz;

	for (size_t i = 0; i < p->events.n && slower; i++)
		if (p->events.v[i].source < p->online.n)
			slower = !ioctl(p->events.v[i].fd, PERF_EVENT_IOC_PERIOD, &period);
	return slower;
}

static bool perf_ease(struct engine *e, enum step step)
{
	struct perf_engine *p = perf(e);

	switch (step) {
	case STEP_RATE:
		return slow_down(p, STEP_RATE_HZ);
	case STEP_WAIT_STACKS:
		for (size_t i = 0; i < p->events.n; i++)
			if (p->events.v[i].source >= p->online.n)
				ioctl(p->events.v[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		return p->limits.kernel;
	case STEP_SAMPLES:
		/* The clock also reports switches, so it must stay. */
		p->setup.no_samples = slow_down(p, 1);
		return p->setup.no_samples;
	default:
		return false;
	}
}

/* The kernel reports a loss only with the next record, which may never come. */
static void find_open_losses(struct perf_engine *p)
{
	for (size_t i = 0; i < p->events.n && !p->no_lost; i++) {
		uint64_t val[2]; /* the count, and the lost records */

		if (read(p->events.v[i].fd, val, sizeof(val)) == sizeof(val))
			p->open_lost[p->events.v[i].source] += val[1];
	}
}

static void perf_disarm(struct engine *e)
{
	struct perf_engine *p = perf(e);

	for (size_t i = 0; i < p->events.n; i++)
		ioctl(p->events.v[i].fd, PERF_EVENT_IOC_DISABLE, 0);
	if (p->slow_close && p->setup.freq_hz) {
		uint64_t ns = CLOSE_TICKS * NSEC_PER_SEC / p->setup.freq_hz;
		struct timespec t = {(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};

		nanosleep(&t, NULL);
	}
	find_open_losses(p);
}

static bool perf_unwind_arrays(struct engine *e, struct unwind_arrays *ret)
{
	*ret = perf(e)->arrays;
	return ret->objects;
}

static bool perf_hurry(struct engine *e)
{
	for (size_t i = 0; i < perf(e)->online.n; i++)
		if (source_perf_fill(e->sources[i]) > source_perf_size(e->sources[i]) / 4)
			return true;
	return false;
}

static void perf_losses(struct engine *e, struct engine_losses *ret)
{
	struct perf_engine *p = perf(e);

	*ret = (struct engine_losses){0};
	for (size_t i = 0; i < e->n_sources; i++) {
		uint64_t told = source_perf_lost(e->sources[i]);

		*(i < p->online.n ? &ret->records : &ret->no_wait_stack) +=
			told > p->open_lost[i] ? told : p->open_lost[i];
	}
}

static uint64_t perf_open_loss(struct engine *e, size_t source)
{
	const struct source *s = e->sources[source];

	if (source >= perf(e)->online.n)
		return 0;
	return perf(e)->open_lost[source] > source_perf_lost(s) ? source_perf_last(s) : 0;
}

const struct engine_ops engine_perf = {
	.name = "perf",
	.check = perf_check,
	.open = perf_open,
	.attach = perf_attach,
	.arm = perf_arm,
	.disarm = perf_disarm,
	.close = perf_close,
	.watch = perf_watch,
	.watched = perf_watched,
	.unwind_arrays = perf_unwind_arrays,
	.hurry = perf_hurry,
	.ease = perf_ease,
	.losses = perf_losses,
	.open_loss = perf_open_loss,
};
