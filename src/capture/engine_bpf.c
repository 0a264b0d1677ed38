// SPDX-License-Identifier: MIT
/*
 * The bpf engine: loads the probes, maps their rings, opens the sampling clocks and the side-band.
 *
 * Which programs are loaded follows from the plan and from what the kernel's BTF has. Samples come
 * from a cpu-clock event per CPU whose overflow runs a program: no signals, no one-shot refresh, no
 * perf buffer. The side-band is a dummy event per CPU whose buffer carries mappings and execs.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "capture/cgroup.h"
#include "capture/cpus.h"
#include "capture/engine.h"
#include "capture/sentinel.h"
#include "guard/guard.h"
#include "wire/probe.h"
#include "wire/ring.h"
#include "thaw.skel.h" /* generated; its types are in wire/probe.h */

#define BEAT_NS (100 * NSEC_PER_MSEC)
#define SIDEBAND_PAGES 128
#define SIDEBAND_SAMPLES (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define RINGS_TOTAL (64ull << 20)
#define RING_MIN (256ull << 10)
#define RING_MAX (8ull << 20)
#define CLOSE_TICKS 5

/* The arrays of unwind tables: how many entries of what. */
struct big {
	struct bpf_map *map;
	size_t entry;
	uint32_t n;
	void *at;
};
enum { BIG_ROWS, BIG_BLOCKS, BIG_MAPPINGS, BIG_PROCS, BIG_RULES, BIG_SPACES, BIG_OBJECTS, BIGS };

typedef VEC(struct bpf_link *) link_vec;

struct bpf_engine {
	struct engine base;
	struct big big[BIGS];
	struct thaw_bpf *skel;
	link_vec links; /* of the clocks; the sentinel has the others */
	struct sentinel sentinel;
	bool no_samples;  /* given up */
	VEC(int) clocks;  /* cpu-clock events; their programs are in links */
	VEC(int) ticking; /* the same, while they are the links' */
	VEC(int) sidebands;
	struct cpu_list online;
	uint8_t *rings;
	size_t rings_len;
	size_t n_rings;
	uint64_t ring_size, value_size;
	uint32_t salt;
	uint64_t freq_hz;
	bool slow_close;      /* see stop_clocks() */
	uint64_t rq_lock_off; /* of the lock in a runqueue */
};

/* The first complaint of libbpf or the verifier: what follows it are consequences. */
static char complaint[400];

static int on_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	/* libbpf 1.1 retries a map without its types, which is no failure. */
	if (level == LIBBPF_WARN && !complaint[0] && !strstr(fmt, "Retrying without BTF")) {
		vsnprintf(complaint, sizeof(complaint), fmt, ap);
		complaint[strcspn(complaint, "\n")] = '\0';
	}
	return 0;
}

static struct bpf_engine *bpf(struct engine *e)
{
	return (struct bpf_engine *)e;
}

static struct ring_head *ring(struct bpf_engine *b, size_t cpu)
{
	return (struct ring_head *)(b->rings + cpu * b->value_size);
}

static uint64_t ring_size_for(const struct plan *plan, size_t cpus)
{
	uint64_t size = RING_MAX;

	if (plan->ring_bytes)
		return plan->ring_bytes;
	while (size > RING_MIN && size * cpus > RINGS_TOTAL)
		size /= 2;
	return size;
}

/* Which programs, by what the kernel has and the guard allows. */
static void choose_programs(struct bpf_engine *b, const struct plan *plan)
{
	const struct guard_features *k = &plan->guard->features;
	const struct guard_verdict *v = &plan->guard->verdict;
	bool cast = guard_has(k, FEATURE_BPF_CAST);
	struct thaw_bpf *s = b->skel;

	s->rodata->runqueues_off = k->runqueues_off;
	s->rodata->preempt_count_off = k->preempt_count_off;
	if (!guard_has(k, FEATURE_TP_SWITCH_STATE))
		bpf_program__set_autoload(s->progs.thaw_switch_3, true);
	else if (cast)
		bpf_program__set_autoload(s->progs.thaw_switch, true);
	else
		bpf_program__set_autoload(s->progs.thaw_switch_4, true);
	bpf_program__set_autoload(cast ? s->progs.thaw_waking : s->progs.thaw_waking_old, true);
	s->rodata->waits_at_exit_tp = guard_has(k, FEATURE_TP_SCHED_EXIT);
	if (s->rodata->waits_at_exit_tp)
		bpf_program__set_autoload(s->progs.thaw_sched_exit, true);
	else
		bpf_program__set_autoload(s->progs.thaw_sys_exit, true);
	bpf_program__set_autoload(s->progs.thaw_fork, true);
	bpf_program__set_autoload(s->progs.thaw_exec, true);
	bpf_program__set_autoload(s->progs.thaw_exit, true);
	bpf_program__set_autoload(s->progs.thaw_rename, true);
	if (guard_has(k, FEATURE_TP_CONTENTION) && verdict_allows(v, MECHANISM_KERNEL_LOCKS)) {
		bpf_program__set_autoload(s->progs.thaw_contention_begin, true);
		bpf_program__set_autoload(s->progs.thaw_contention_end, true);
		b->base.kernel_locks = true;
		b->rq_lock_off = k->rq_lock_off;
	}
	s->rodata->user_reads = verdict_allows(v, MECHANISM_USER_READ);
	s->rodata->user_stacks = verdict_stacks(v) != STACKS_NONE;
	s->rodata->unwind_tables = verdict_stacks(v) == STACKS_TABLES;
	if (s->rodata->cgroup_id)
		bpf_program__set_autoload(s->progs.thaw_cgroup_attach, true);
	if (plan->freq_hz)
		bpf_program__set_autoload(s->progs.thaw_sample, true);
}

static uint32_t pid_limit(void)
{
	FILE *f = fopen("/proc/sys/kernel/pid_max", "re");
	unsigned max = 0, limit = 32768;

	if (f && fscanf(f, "%u", &max) == 1)
		while (limit < max && limit < TID_LIMIT)
			limit *= 2;
	if (f)
		fclose(f);
	return limit;
}

/* Room for the tables of what is looked at: 16 MiB of rows for a program, more for the machine. */
static void size_tables(struct bpf_engine *b, const struct plan *plan)
{
	struct thaw_bpf *s = b->skel;
	bool tables = s->rodata->unwind_tables, all = plan->scope == SCOPE_SYSTEM;
	const struct big big[BIGS] = {
		[BIG_ROWS] = {s->maps.unwind_rows, sizeof(struct unwind_row),
			      all ? 8 << 20 : 4 << 20, NULL},
		[BIG_BLOCKS] = {s->maps.unwind_blocks, sizeof(uint32_t), 1 << 20, NULL},
		[BIG_MAPPINGS] = {s->maps.unwind_mappings, sizeof(struct unwind_mapping),
				  all ? 1 << 18 : 1 << 16, NULL},
		[BIG_PROCS] = {s->maps.unwind_procs, sizeof(struct unwind_proc), pid_limit(), NULL},
		[BIG_RULES] = {s->maps.unwind_rules, sizeof(struct unwind_rule), UNWIND_RULES,
			       NULL},
		[BIG_SPACES] = {s->maps.unwind_spaces, sizeof(struct unwind_space), UNWIND_SPACES,
				NULL},
		[BIG_OBJECTS] = {s->maps.unwind_objects, sizeof(struct unwind_object),
				 UNWIND_OBJECTS, NULL},
	};

	for (int i = 0; i < BIGS; i++) {
		b->big[i] = big[i];
		if (!tables)
			b->big[i].n = 64;
		bpf_map__set_value_size(b->big[i].map, (__u32)(b->big[i].entry * b->big[i].n));
	}
	s->rodata->rows_mask = b->big[BIG_ROWS].n - 1;
	s->rodata->blocks_mask = b->big[BIG_BLOCKS].n - 1;
	s->rodata->mappings_mask = b->big[BIG_MAPPINGS].n - 1;
	s->rodata->procs_mask = b->big[BIG_PROCS].n - 1;
}

static size_t big_bytes(const struct big *g)
{
	return (g->entry * g->n + 4095) & ~4095ull;
}

static int map_tables(struct bpf_engine *b)
{
	for (int i = 0; i < BIGS && b->skel->rodata->unwind_tables; i++) {
		struct big *g = &b->big[i];

		g->at = mmap(NULL, big_bytes(g), PROT_READ | PROT_WRITE, MAP_SHARED,
			     bpf_map__fd(g->map), 0);
		if (g->at == MAP_FAILED) {
			g->at = NULL;
			return err_set(-errno, "mapping the unwind tables: %s", strerror(errno));
		}
	}
	return 0;
}

static int load(struct bpf_engine *b, const struct plan *plan)
{
	int cpus = libbpf_num_possible_cpus(), rc;
	struct thaw_bpf *s = b->skel;

	b->n_rings = (size_t)cpus;
	b->ring_size = ring_size_for(plan, b->n_rings);
	b->value_size = RING_HEAD + b->ring_size + RING_SLACK;
	if (getrandom(&b->salt, sizeof(b->salt), 0) != sizeof(b->salt))
		b->salt = (uint32_t)time(NULL);
	s->rodata->ring_size = b->ring_size;
	s->rodata->ring_salt = b->salt;
	s->rodata->min_wait_ns = plan->min_wait_ns;
	s->rodata->scope_all = plan->scope == SCOPE_SYSTEM;
	s->rodata->scope_inherit = !plan->no_inherit;
	if (plan->scope == SCOPE_CGROUP) {
		struct cgroup_ref ref;

		rc = cgroup_find(plan->cgroup, &ref);
		if (rc)
			return rc;
		s->rodata->cgroup_id = ref.v2 ? ref.id : 0;
		s->rodata->cgroup_level = ref.level;
	}
	choose_programs(b, plan);
	size_tables(b, plan);
	bpf_map__set_max_entries(s->maps.rings, (__u32)cpus);
	bpf_map__set_value_size(s->maps.rings, (__u32)b->value_size);
	bpf_map__set_max_entries(s->maps.sent, (__u32)cpus * SENT_SLOTS);
	complaint[0] = '\0';
	rc = thaw_bpf__load(s);
	if (rc)
		return err_set(rc, "the kernel did not take the probes: %s (%s)", strerror(-rc),
			       complaint);
	b->rings_len = b->n_rings * b->value_size;
	b->rings = mmap(NULL, b->rings_len, PROT_READ | PROT_WRITE, MAP_SHARED,
			bpf_map__fd(s->maps.rings), 0);
	if (b->rings == MAP_FAILED) {
		b->rings = NULL;
		return err_set(-errno, "mapping the rings (%zu MiB): %s", b->rings_len >> 20,
			       strerror(errno));
	}
	return map_tables(b);
}

static int perf_open(struct perf_event_attr *attr, int cpu)
{
	return (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

static int open_clock(struct bpf_engine *b, int cpu)
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

static int open_sideband(struct bpf_engine *b, int cpu, struct source **ret)
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
		.build_id = 1,
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

static int open_sources(struct bpf_engine *b)
{
	struct engine *e = &b->base;

	e->sources = mem_zalloc((b->n_rings + b->online.n) * sizeof(*e->sources));
	for (size_t i = 0; i < b->n_rings; i++)
		e->sources[e->n_sources++] =
			source_bpf_new(ring(b, i), b->ring_size, b->salt, (uint16_t)i);
	for (size_t i = 0; i < b->online.n; i++) {
		int rc = open_sideband(b, b->online.v[i], &e->sources[e->n_sources]);

		if (rc)
			return rc;
		e->n_sources++;
		rc = b->freq_hz ? open_clock(b, b->online.v[i]) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

static void bpf_close(struct engine *e)
{
	struct bpf_engine *b = bpf(e);

	sentinel_stop(&b->sentinel);
	for (size_t i = 0; i < b->links.n; i++)
		bpf_link__destroy(b->links.v[i]);
	for (size_t i = 0; i < b->clocks.n; i++)
		if (b->clocks.v[i] >= 0)
			close(b->clocks.v[i]);
	for (size_t i = 0; i < e->n_sources; i++)
		source_close(e->sources[i]);
	free(e->sources);
	if (b->rings)
		munmap(b->rings, b->rings_len);
	for (int i = 0; i < BIGS; i++)
		if (b->big[i].at)
			munmap(b->big[i].at, big_bytes(&b->big[i]));
	thaw_bpf__destroy(b->skel);
	vec_done(&b->links);
	vec_done(&b->clocks);
	vec_done(&b->ticking);
	vec_done(&b->sidebands);
	cpu_list_done(&b->online);
	free(b);
}

static int bpf_open(const struct plan *plan, struct engine **ret)
{
	struct bpf_engine *b = mem_zalloc(sizeof(*b));
	int rc;

	b->base.ops = &engine_bpf;
	b->base.perf_samples = SIDEBAND_SAMPLES;
	b->freq_hz = plan->freq_hz;
	b->slow_close = !verdict_allows(&plan->guard->verdict, MECHANISM_CLOCK_CLOSE);
	libbpf_set_print(on_libbpf);
	b->skel = thaw_bpf__open();
	rc = b->skel ? 0 : err_set(-errno, "opening the probes: %s", strerror(errno));
	rc = rc ? rc : cpu_list_online(&b->online);
	rc = rc ? rc : load(b, plan);
	rc = rc ? rc : open_sources(b);
	if (rc) {
		bpf_close(&b->base);
		return rc;
	}
	*ret = &b->base;
	return 0;
}

static void links_drop(link_vec *links)
{
	for (size_t i = 0; i < links->n; i++)
		bpf_link__destroy(links->v[i]);
	vec_done(links);
}

static int attach_one(struct bpf_program *prog, int clock_fd, link_vec *into)
{
	struct bpf_link *link = clock_fd < 0 ? bpf_program__attach(prog)
					     : bpf_program__attach_perf_event(prog, clock_fd);

	if (!link)
		return err_set(-errno, "attaching %s: %s", bpf_program__name(prog),
			       strerror(errno));
	vec_push(into, link);
	return 0;
}

/* The clocks stay ours; only the first time are there any to attach to. */
static int attach_clocks(struct bpf_engine *b)
{
	for (size_t i = 0; i < b->clocks.n; i++) {
		int rc = attach_one(b->skel->progs.thaw_sample, b->clocks.v[i], &b->links);

		if (rc)
			return rc;
		/* The link has the descriptor now, and closes it. */
		vec_push(&b->ticking, b->clocks.v[i]);
		b->clocks.v[i] = -1;
	}
	b->clocks.n = 0;
	return 0;
}

static int hand_over(struct bpf_engine *b, const link_vec *links)
{
	struct sentinel_opts o = {
		.fuse = &b->skel->bss->fuse, .clocks = b->ticking.v, .n_clocks = b->ticking.n};
	VEC(int) fds = {0};
	int rc;

	for (size_t i = 0; i < links->n; i++)
		vec_push(&fds, bpf_link__fd(links->v[i]));
	o.keep = fds.v;
	o.n_keep = fds.n;
	rc = sentinel_start(&b->sentinel, &o);
	vec_done(&fds);
	return rc;
}

/* The first time, and again when the sentinel has let go: see blown(). */
static int bpf_attach(struct engine *e)
{
	struct bpf_engine *b = bpf(e);
	struct bpf_program *prog;
	link_vec links = {0};
	int rc = attach_clocks(b);

	for (size_t i = 0; i < b->sidebands.n; i++)
		ioctl(b->sidebands.v[i], PERF_EVENT_IOC_ENABLE, 0);
	for (size_t i = 0; i < b->ticking.n && !b->no_samples; i++)
		ioctl(b->ticking.v[i], PERF_EVENT_IOC_ENABLE, 0);
	bpf_object__for_each_program(prog, b->skel->obj)
	{
		if (!rc && bpf_program__autoload(prog) && prog != b->skel->progs.thaw_sample)
			rc = attach_one(prog, -1, &links);
	}
	rc = rc ? rc : hand_over(b, &links);
	/* From here on they are the sentinel's. */
	links_drop(&links);
	return rc;
}

/* Not at every call: the CPUs read the line in which it lies at every switch. */
static void bpf_beat(struct engine *e, uint64_t now)
{
	__u64 *until = &bpf(e)->skel->bss->fuse.alive_until;

	if (now + FUSE_STALE_NS - *until >= BEAT_NS)
		__atomic_store_n(until, now + FUSE_STALE_NS, __ATOMIC_SEQ_CST);
}

/*
 * Disarmed, and not by us. A probe that found the fuse blown already says nothing more; should its
 * word reach us only after it was armed again, what is known is that somebody thought us dead.
 */
static bool bpf_blown(struct engine *e, struct fuse *ret)
{
	const struct thaw_bpf__bss *bss = bpf(e)->skel->bss;

	if (__atomic_load_n(&bss->armed, __ATOMIC_SEQ_CST) && !sentinel_gone(&bpf(e)->sentinel))
		return false;
	__atomic_store_n(&bpf(e)->skel->bss->armed, 0, __ATOMIC_SEQ_CST);
	sentinel_stop(&bpf(e)->sentinel);
	*ret = *(const volatile struct fuse *)&bss->fuse;
	if (!ret->ts)
		ret->ts = ret->alive_until - FUSE_STALE_NS;
	if (ret->reason == FUSE_WHOLE)
		ret->reason = FUSE_STALE;
	return true;
}

static void bpf_arm(struct engine *e)
{
	struct thaw_bpf__bss *bss = bpf(e)->skel->bss;

	__atomic_store_n(&bss->fuse.reason, FUSE_WHOLE, __ATOMIC_SEQ_CST);
	__atomic_store_n(&bss->fuse.ts, 0, __ATOMIC_SEQ_CST);
	bpf_beat(e, clock_mono_ns());
	__atomic_store_n(&bss->armed, 1, __ATOMIC_SEQ_CST);
}

static uint64_t bpf_own_ns(struct engine *e)
{
	struct bpf_engine *b = bpf(e);
	uint64_t ns = 0;

	for (size_t i = 0; i < b->n_rings; i++)
		ns += __atomic_load_n(&ring(b, i)->own_ns, __ATOMIC_RELAXED);
	return ns;
}

/*
 * A clock that is closed while it ticks leaves its timer armed in memory that is given back: from
 * eb3182ef0405 (6.17.8) until ff5860f5088e (6.18.6). There it is stopped, and has time to end.
 */
static void stop_clocks(struct bpf_engine *b)
{
	uint64_t ns = b->freq_hz ? CLOSE_TICKS * NSEC_PER_SEC / b->freq_hz : 0;
	struct timespec t = {(time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC)};

	for (size_t i = 0; i < b->ticking.n; i++)
		ioctl(b->ticking.v[i], PERF_EVENT_IOC_DISABLE, 0);
	if (b->ticking.n && b->slow_close)
		nanosleep(&t, NULL);
	b->ticking.n = 0;
}

/* Programs stop recording at once; then the clocks stop, then everything is detached. */
static void bpf_disarm(struct engine *e)
{
	struct bpf_engine *b = bpf(e);

	__atomic_store_n(&b->skel->bss->armed, 0, __ATOMIC_SEQ_CST);
	stop_clocks(b);
	for (size_t i = 0; i < b->sidebands.n; i++)
		ioctl(b->sidebands.v[i], PERF_EVENT_IOC_DISABLE, 0);
	for (size_t i = 0; i < b->links.n; i++)
		bpf_link__destroy(b->links.v[i]);
	b->links.n = 0;
	b->ticking.n = 0;
}

/*
 * A software clock that is opened with a frequency keeps it as a period: that is what the kernel
 * takes here (and as a frequency this number would be far above its limit, and refused).
 */
static bool slow_down(struct bpf_engine *b)
{
	uint64_t period = NSEC_PER_SEC / STEP_RATE_HZ;
	size_t slower = 0;

	for (size_t i = 0; i < b->ticking.n; i++)
		slower += !ioctl(b->ticking.v[i], PERF_EVENT_IOC_PERIOD, &period);
	return slower && slower == b->ticking.n;
}

static bool bpf_ease(struct engine *e, enum step step)
{
	struct bpf_engine *b = bpf(e);

	switch (step) {
	case STEP_RATE:
		return slow_down(b);
	case STEP_WAIT_STACKS:
		__atomic_store_n(&b->skel->bss->no_wait_stacks, 1, __ATOMIC_SEQ_CST);
		return true;
	case STEP_SAMPLES:
		b->no_samples = true;
		for (size_t i = 0; i < b->ticking.n; i++)
			ioctl(b->ticking.v[i], PERF_EVENT_IOC_DISABLE, 0);
		return b->ticking.n > 0;
	default:
		return false;
	}
}

static void bpf_watch(struct engine *e, uint32_t tid, bool on)
{
	__u64 *word = &bpf(e)->skel->bss->tid_bits[tid / 64 % TID_WORDS];
	__u64 bit = 1ull << (tid % 64);

	if (on)
		__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_and(word, ~bit, __ATOMIC_SEQ_CST);
}

static bool bpf_watched(struct engine *e, uint32_t tid)
{
	return bpf(e)->skel->bss->tid_bits[tid / 64 % TID_WORDS] >> (tid % 64) & 1;
}

static bool bpf_unwind_arrays(struct engine *e, struct unwind_arrays *ret)
{
	const struct big *g = bpf(e)->big;

	if (!g[BIG_ROWS].at)
		return false;
	*ret = (struct unwind_arrays){.rows = g[BIG_ROWS].at,
				      .blocks = g[BIG_BLOCKS].at,
				      .mappings = g[BIG_MAPPINGS].at,
				      .procs = g[BIG_PROCS].at,
				      .rules = g[BIG_RULES].at,
				      .spaces = g[BIG_SPACES].at,
				      .objects = g[BIG_OBJECTS].at,
				      .n_rows = g[BIG_ROWS].n,
				      .n_blocks = g[BIG_BLOCKS].n,
				      .n_mappings = g[BIG_MAPPINGS].n,
				      .n_procs = g[BIG_PROCS].n};
	return true;
}

/* A CPU's probes have found its runqueue, and from there the preempt count: see compat.bpf.h. */
static int bpf_runqueue(struct engine *e, uint64_t lock)
{
	struct bpf_engine *b = bpf(e);
	uint64_t from_rq = b->skel->rodata->preempt_count_off - b->skel->rodata->runqueues_off;
	uint64_t rq = lock - b->rq_lock_off;

	for (size_t i = 0; i < b->n_rings; i++) {
		uint64_t at = __atomic_load_n(&ring(b, i)->preempt_addr, __ATOMIC_RELAXED);

		if (at && rq == at - from_rq)
			return (int)i;
	}
	return -1;
}

static void bpf_forget_stacks(struct engine *e)
{
	__atomic_fetch_add(&bpf(e)->skel->bss->epoch, 1, __ATOMIC_SEQ_CST);
}

static bool bpf_hurry(struct engine *e)
{
	struct bpf_engine *b = bpf(e);

	for (size_t i = 0; i < b->n_rings; i++)
		if (source_bpf_fill(e->sources[i]) > b->ring_size / 4)
			return true;
	return false;
}

static void bpf_losses(struct engine *e, struct engine_losses *ret)
{
	struct bpf_engine *b = bpf(e);
	struct bpf_program *prog;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < b->n_rings; i++) {
		const struct ring_head *r = ring(b, i);

		for (int k = 0; k < RING_KINDS; k++)
			ret->by_kind[k] += __atomic_load_n(&r->lost[k], __ATOMIC_RELAXED);
		ret->no_hint += __atomic_load_n(&r->no_hint, __ATOMIC_RELAXED);
		ret->no_klock += __atomic_load_n(&r->no_klock, __ATOMIC_RELAXED);
		ret->no_stack += __atomic_load_n(&r->no_stack, __ATOMIC_RELAXED);
	}
	for (size_t i = b->n_rings; i < e->n_sources; i++)
		ret->sideband += source_perf_lost(e->sources[i]);
	bpf_object__for_each_program(prog, b->skel->obj)
	{
		struct bpf_prog_info info = {0};
		__u32 len = sizeof(info);

		if (bpf_program__autoload(prog) &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len))
			ret->recursion += info.recursion_misses;
	}
}

static uint64_t bpf_open_loss(struct engine *e, size_t source)
{
	struct bpf_engine *b = bpf(e);

	return source < b->n_rings ? __atomic_load_n(&ring(b, source)->lost_from, __ATOMIC_RELAXED)
				   : 0;
}

/* The guard has said all that there is to say. */
static int bpf_check(const struct plan *plan)
{
	return 0;
}

const struct engine_ops engine_bpf = {
	.name = "bpf",
	.check = bpf_check,
	.open = bpf_open,
	.attach = bpf_attach,
	.arm = bpf_arm,
	.disarm = bpf_disarm,
	.close = bpf_close,
	.watch = bpf_watch,
	.watched = bpf_watched,
	.unwind_arrays = bpf_unwind_arrays,
	.runqueue = bpf_runqueue,
	.forget_stacks = bpf_forget_stacks,
	.hurry = bpf_hurry,
	.losses = bpf_losses,
	.ease = bpf_ease,
	.beat = bpf_beat,
	.blown = bpf_blown,
	.own_ns = bpf_own_ns,
	.open_loss = bpf_open_loss,
};
