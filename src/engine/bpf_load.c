// SPDX-License-Identifier: MIT
/*
 * Loads the programs that the plan asks for and the guard allows on this kernel, and the memory
 * that they share with the collector.
 */
#include <bpf/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "arch/host.h"
#include "base/err.h"
#include "engine/arrays.h"
#include "engine/bpf_private.h"
#include "engine/cgroup.h"
#include "guard/guard.h"

#define RINGS_TOTAL (64ull << 20)
#define RING_MIN (256ull << 10)
#define RING_MAX (8ull << 20)

/* Keeps the first complaint of libbpf or the verifier: later ones are its consequences. */
static char complaint[400];

static int on_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	/* libbpf 1.1 retries a map without BTF; that is no failure. */
	if (level == LIBBPF_WARN && !complaint[0] && !strstr(fmt, "Retrying without BTF")) {
		vsnprintf(complaint, sizeof(complaint), fmt, ap);
		complaint[strcspn(complaint, "\n")] = '\0';
	}
	return 0;
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

/* Chooses by what the kernel has and the guard allows. */
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
	/* Since 6.17, where functions have stacks of their own (6.13): guessing needs those. */
	s->rodata->waits_at_exit_tp = guard_has(k, FEATURE_TP_SCHED_EXIT);
	if (!cast)
		bpf_program__set_autoload(s->progs.thaw_waking_old, true);
	else if (s->rodata->waits_at_exit_tp)
		bpf_program__set_autoload(s->progs.thaw_waking, true);
	else
		bpf_program__set_autoload(s->progs.thaw_waking_only, true);
	b->sample = s->rodata->waits_at_exit_tp ? s->progs.thaw_sample : s->progs.thaw_sample_only;
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
		bpf_program__set_autoload(b->sample, true);
	bpf_program__set_autoload(s->progs.thaw_asleep, guard_has(k, FEATURE_ITER_TASK));
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

/* Makes room for the mappings of recorded processes. Unwind tables get shelves when needed. */
static void size_tables(struct bpf_engine *b, const struct plan *plan)
{
	struct thaw_bpf *s = b->skel;
	bool tables = s->rodata->unwind_tables, all = plan->scope == SCOPE_SYSTEM;
	const struct big big[BIGS] = {
		[BIG_MAPPINGS] = {s->maps.unwind_mappings, sizeof(struct unwind_mapping),
				  all ? 1 << 18 : 1 << 16, NULL},
		[BIG_PROCS] = {s->maps.unwind_procs, sizeof(struct unwind_proc), pid_limit(), NULL},
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
	b->max_shelves = arrays_max_shelves(plan->tables_bytes);
	s->rodata->mappings_mask = b->big[BIG_MAPPINGS].n - 1;
	s->rodata->procs_mask = b->big[BIG_PROCS].n - 1;
}

/*
 * Children do not inherit the memory of maps: they have no business there, and one that hangs on a
 * file would keep it for ever.
 */
static void *map_alone(int fd, size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at != MAP_FAILED)
		(void)madvise(at, len, MADV_DONTFORK);
	return at;
}

/* The same for a map that libbpf has mapped. */
static void keep_alone(const struct bpf_map *map, void *at)
{
	size_t len = (bpf_map__value_size(map) + ARCH_PAGE - 1) & ~(size_t)(ARCH_PAGE - 1);

	(void)madvise(at, len, MADV_DONTFORK);
}

static size_t big_bytes(const struct big *g)
{
	return (g->entry * g->n + ARCH_PAGE - 1) & -(size_t)ARCH_PAGE;
}

static int map_tables(struct bpf_engine *b)
{
	for (int i = 0; i < BIGS && b->skel->rodata->unwind_tables; i++) {
		struct big *g = &b->big[i];

		g->at = map_alone(bpf_map__fd(g->map), big_bytes(g));
		if (g->at == MAP_FAILED) {
			g->at = NULL;
			return err_set(-errno, "mapping the unwind tables: %s", strerror(errno));
		}
	}
	return 0;
}

/*
 * libbpf would fill its own map for variables with seven megabytes of zeros, which a new map has
 * anyway. If this fails, libbpf makes the map and reports why.
 */
static void make_variables(struct thaw_bpf *s)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "thaw_bpf.bss", sizeof(uint32_t),
				bpf_map__value_size(s->maps.bss), 1, &opts);

	if (fd < 0)
		return;
	(void)bpf_map__reuse_fd(s->maps.bss, fd);
	close(fd);
}

int bpf_load(struct bpf_engine *b, const struct plan *plan)
{
	int cpus = libbpf_num_possible_cpus(), rc;
	struct thaw_bpf *s;

	libbpf_set_print(on_libbpf);
	s = b->skel = thaw_bpf__open();
	if (!s)
		return err_set(-errno, "opening the probes: %s", strerror(errno));
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
	bpf_map__set_max_entries(s->maps.memos, (__u32)cpus * MEMO_SLOTS);
	make_variables(s);
	complaint[0] = '\0';
	rc = thaw_bpf__load(s);
	if (rc)
		return err_set(rc, "the kernel did not take the probes: %s (%s)", strerror(-rc),
			       complaint);
	keep_alone(s->maps.bss, s->bss);
	keep_alone(s->maps.rodata, s->rodata);
	b->rings_len = b->n_rings * b->value_size;
	b->rings = map_alone(bpf_map__fd(s->maps.rings), b->rings_len);
	if (b->rings == MAP_FAILED) {
		b->rings = NULL;
		return err_set(-errno, "mapping the rings (%zu MiB): %s", b->rings_len >> 20,
			       strerror(errno));
	}
	return map_tables(b);
}

#define SHELF_BYTES (SHELF_WORDS * 4ull)

/*
 * Takes tens of milliseconds: the kernel waits for all programs that might have seen the place
 * empty. The probes' array and our mapping keep the map alive.
 */
static uint32_t *bpf_shelf(void *ctx, uint32_t i)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct bpf_engine *b = ctx;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_shelf", sizeof(uint32_t), SHELF_BYTES,
				1, &opts);
	void *at = MAP_FAILED;

	if (fd < 0)
		return NULL;
	if (!bpf_map_update_elem(bpf_map__fd(b->skel->maps.unwind_shelves), &i, &fd, BPF_ANY))
		at = map_alone(fd, SHELF_BYTES);
	close(fd);
	b->shelves[i] = at == MAP_FAILED ? NULL : at;
	return b->shelves[i];
}

void bpf_unload(struct bpf_engine *b)
{
	if (b->rings)
		munmap(b->rings, b->rings_len);
	for (int i = 0; i < BIGS; i++)
		if (b->big[i].at)
			munmap(b->big[i].at, big_bytes(&b->big[i]));
	for (uint32_t i = 0; i < SHELVES_MAX && b->shelves[i]; i++)
		munmap(b->shelves[i], SHELF_BYTES);
	thaw_bpf__destroy(b->skel);
}

bool bpf_unwind_arrays(struct engine *e, struct unwind_arrays *ret)
{
	struct bpf_engine *b = bpf(e);
	const struct big *g = b->big;

	if (!g[BIG_OBJECTS].at)
		return false;
	*ret = (struct unwind_arrays){.mappings = g[BIG_MAPPINGS].at,
				      .procs = g[BIG_PROCS].at,
				      .spaces = g[BIG_SPACES].at,
				      .objects = g[BIG_OBJECTS].at,
				      .now = &b->skel->bss->unwind_now,
				      .n_mappings = g[BIG_MAPPINGS].n,
				      .n_procs = g[BIG_PROCS].n,
				      .shelf = bpf_shelf,
				      .ctx = b,
				      .max_shelves = b->max_shelves};
	return true;
}
