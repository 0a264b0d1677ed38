// SPDX-License-Identifier: MIT
/*
 * The bpf engine: programs in the kernel, which write to rings of ours. bpf_load.c loads them,
 * bpf_events.c has the clocks and the side-band; here they are attached, armed, eased and released.
 * Only the sentinel holds the descriptors of what is attached, except for the clocks.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "engine/bpf_private.h"
#include "engine/files_limit.h"
#include "guard/guard.h"

/* A side-band, a clock and its link; programs, maps, links, and files to be read. */
enum { FILES_A_CPU = 3, FILES_FIXED = 192 };

#define BEAT_NS (100 * NSEC_PER_MSEC)

static void links_drop(link_vec *links)
{
	for (size_t i = 0; i < links->n; i++)
		bpf_link__destroy(links->v[i]);
	vec_done(links);
}

static int open_sources(struct bpf_engine *b)
{
	struct engine *e = &b->base;

	e->sources = mem_zalloc((b->n_rings + b->online.n) * sizeof(*e->sources));
	for (size_t i = 0; i < b->n_rings; i++)
		e->sources[e->n_sources++] =
			source_bpf_new(ring(b, i), b->ring_size, b->salt, (uint16_t)i);
	for (size_t i = 0; i < b->online.n; i++) {
		int rc = bpf_open_sideband(b, b->online.v[i], &e->sources[e->n_sources]);

		if (rc)
			return rc;
		e->n_sources++;
		rc = b->freq_hz ? bpf_open_clock(b, b->online.v[i]) : 0;
		if (rc)
			return rc;
	}
	return 0;
}

static void bpf_close(struct engine *e)
{
	struct bpf_engine *b = bpf(e);

	sentinel_stop(&b->sentinel);
	links_drop(&b->links);
	for (size_t i = 0; i < b->clocks.n; i++)
		if (b->clocks.v[i] >= 0)
			close(b->clocks.v[i]);
	for (size_t i = 0; i < e->n_sources; i++)
		source_close(e->sources[i]);
	free(e->sources);
	bpf_unload(b);
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
	rc = cpu_list_online(&b->online);
	rc = rc ? rc : files_limit_raise(FILES_FIXED + FILES_A_CPU * b->online.n);
	rc = rc ? rc : bpf_load(b, plan);
	rc = rc ? rc : open_sources(b);
	if (rc) {
		bpf_close(&b->base);
		return rc;
	}
	*ret = &b->base;
	return 0;
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

/* The clocks stay ours, so that they need attaching only the first time. */
static int attach_clocks(struct bpf_engine *b)
{
	for (size_t i = 0; i < b->clocks.n; i++) {
		int rc = attach_one(b->sample, b->clocks.v[i], &b->links);

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
	struct sentinel_opts o = {.fuse = &b->skel->bss->fuse,
				  .map = bpf_map__fd(b->skel->maps.bss),
				  .mapped = b->skel->bss,
				  .clocks = b->ticking.v,
				  .n_clocks = b->ticking.n};
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

/* Called at first, and again when the sentinel has let go: see bpf_blown(). */
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
		if (!rc && bpf_program__autoload(prog) && prog != b->sample &&
		    prog != b->skel->progs.thaw_asleep)
			rc = attach_one(prog, -1, &links);
	}
	rc = rc ? rc : hand_over(b, &links);
	/* The sentinel has its own copies now. */
	links_drop(&links);
	return rc;
}

/*
 * Seldom writes: every CPU reads this cache line at every switch. Ignores a beat that is too late:
 * the sentinel may have let go of the probes, and bpf_blown() needs the last valid beat to say
 * since when.
 */
static void bpf_beat(struct engine *e, uint64_t now)
{
	struct thaw_bpf__bss *bss = bpf(e)->skel->bss;
	__u64 *until = &bss->fuse.alive_until;

	if (__atomic_load_n(&bss->armed, __ATOMIC_RELAXED) && now > *until)
		return;
	if (now + FUSE_STALE_NS - *until >= BEAT_NS)
		__atomic_store_n(until, now + FUSE_STALE_NS, __ATOMIC_SEQ_CST);
}

/*
 * True if somebody else has disarmed the probes, or if our beat is overdue, noticed or not. If no
 * probe says when the fuse blew, none has run since alive_until, and nothing before is missing.
 */
static bool bpf_blown(struct engine *e, struct fuse *ret)
{
	const struct thaw_bpf__bss *bss = bpf(e)->skel->bss;

	if (__atomic_load_n(&bss->armed, __ATOMIC_SEQ_CST) && !sentinel_gone(&bpf(e)->sentinel) &&
	    clock_mono_ns() <= bss->fuse.alive_until)
		return false;
	__atomic_store_n(&bpf(e)->skel->bss->armed, 0, __ATOMIC_SEQ_CST);
	sentinel_stop(&bpf(e)->sentinel);
	*ret = *(const volatile struct fuse *)&bss->fuse;
	bpf_beat(e, clock_mono_ns()); /* or the next sentinel would let go at once */
	if (!ret->ts)
		ret->ts = ret->alive_until;
	if (ret->cause == FUSE_WHOLE)
		ret->cause = FUSE_STALE;
	return true;
}

static void bpf_arm(struct engine *e)
{
	struct thaw_bpf__bss *bss = bpf(e)->skel->bss;

	__atomic_store_n(&bss->fuse.cause, FUSE_WHOLE, __ATOMIC_SEQ_CST);
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

/* Stops recording at once, then the clocks, then detaches everything. */
static void bpf_disarm(struct engine *e)
{
	struct bpf_engine *b = bpf(e);

	__atomic_store_n(&b->skel->bss->armed, 0, __ATOMIC_SEQ_CST);
	bpf_stop_clocks(b);
	for (size_t i = 0; i < b->sidebands.n; i++)
		ioctl(b->sidebands.v[i], PERF_EVENT_IOC_DISABLE, 0);
	links_drop(&b->links);
	sentinel_stop(&b->sentinel);
}

static bool bpf_ease(struct engine *e, enum step step)
{
	struct bpf_engine *b = bpf(e);

	switch (step) {
	case STEP_RATE:
		return bpf_slow_down(b);
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

/* A CPU's probes publish the address of its preempt count, at a known distance: compat.bpf.h. */
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

/* Sums of threads that ran, or waited for a CPU, at the end. */
static void bpf_untold(struct engine *e, engine_untold_fn fn, void *arg)
{
	struct bpf_engine *b = bpf(e);

	for (unsigned i = 0; i < KLOCKS_SLOTS; i++) {
		struct klocks_row *row = &b->skel->bss->klocks_rows[i];
		struct klock_hint *k = &b->skel->bss->klocks[THREAD_SLOT(row->tid, HINT_SLOTS)];
		struct pr_klocks r = {.tid = row->tid,
				      .pid = row->pid,
				      .addr = row->addr,
				      .of = row->of,
				      .flags = row->flags,
				      .what = row->what};

		if (!row->tid)
			continue;
		if (k->tid == row->tid)
			klocks_add(row, k);
		r.sum = row->sum;
		if (row->since)
			fn(arg, &r);
	}
}

static uint64_t bpf_open_loss(struct engine *e, size_t source)
{
	struct bpf_engine *b = bpf(e);

	return source < b->n_rings ? __atomic_load_n(&ring(b, source)->lost_from, __ATOMIC_RELAXED)
				   : 0;
}

/* The guard has checked everything. */
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
	.untold = bpf_untold,
	.asleep = bpf_asleep,
	.ease = bpf_ease,
	.beat = bpf_beat,
	.blown = bpf_blown,
	.own_code = bpf_own_code,
	.own_ns = bpf_own_ns,
	.open_loss = bpf_open_loss,
};
