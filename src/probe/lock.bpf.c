// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Contended locks of the kernel: which thread wanted which, and how long it took to get it. The
 * tracepoints (5.19, 16edd9b511a1 "locking: Add lock contention tracepoints") fire on the slow
 * paths only; a lock that is free costs nothing.
 *
 * A mutex may begin several times before it ends once (it spins, sleeps, spins): the first begin
 * counts, and the flags of all. A thread sleeps for one lock at a time, so what it wants is kept by
 * thread; spinning happens with preemption off and nests (an interrupt spins on top of a thread),
 * so it is kept by CPU. One record is made at the end, and one before each sleep (sched.bpf.c);
 * short attempts in a row, at a lock that threads could sleep for, are added up: see pr_klocks.
 *
 * These run in any context, with the lock held at the end and interrupts off, perhaps: nothing here
 * may fault, wait, or take a lock of its own.
 */
#include "probe/lib/compat.bpf.h"
#include "probe/lib/klock.bpf.h"
#include "probe/lib/stack.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * Each CPU takes the stack of one short attempt in this much time, to show at least where they come
 * from. By time, not by number: the lock is held meanwhile, and busy locks would pay most.
 */
#define STACK_EVERY_NS 4000000ull

static __always_inline void spin_begin(struct ring_head *r, __u64 lock, __u32 flags, __u32 tid)
{
	__u64 i = r->spinning;

	/* No CPU nests so deep: the ends of these attempts were missed. */
	if (i >= RING_SPINS) {
		r->no_klock += RING_SPINS;
		i = 0;
	}
	/* Taken before it is filled: an interrupt in between uses the next one. */
	*(volatile __u64 *)&r->spinning = i + 1;
	r->spins[i].tid = tid;
	r->spins[i].flags = flags;
	r->spins[i].ts = bpf_ktime_get_ns();
	r->spins[i].addr = lock;
}

/* Adds up the attempt before this one. Does this one continue the row? */
static __always_inline bool again(struct ring_head *r, struct klock_hint *k, __u64 lock,
				  __u32 flags, __u64 ts)
{
	struct klocks_row *row = klocks_row_of(k->tid);

	if (row->tid != k->tid)
		return false;
	klocks_add(row, k);
	if (row->since && ts - row->since > KLOCKS_SPAN_NS)
		klocks_tell(r, row, ts);
	if (row->addr != lock || row->flags != flags || ts - row->last >= KLOCKS_PAUSE_NS ||
	    ts - r->klock_stack > STACK_EVERY_NS)
		return false;
	k->what = row->what;
	k->of = row->of;
	return true;
}

static __always_inline void sleep_begin(struct ring_head *r, struct task_struct *me, __u64 lock,
					__u32 flags)
{
	__u32 tid = me->pid;
	struct klock_hint *k = klock_of(tid);
	__u64 of = 0, ts;

	if (k->addr == lock && k->tid == tid) {
		k->flags |= flags;
		return;
	}
	if (k->tid != tid) {
		if (k->addr || k->got)
			r->no_klock++;
		k->tid = tid;
		k->got = 0;
	}
	k->addr = 0;
	ts = bpf_ktime_get_ns();
	k->owner = 0;
	k->again = again(r, k, lock, flags, ts);
	if (!k->again) {
		k->what = klock_what(lock, flags, &of);
		k->of = of;
		k->owner = klock_owner(lock, flags);
	}
	k->flags = flags;
	k->ts = ts;
	k->addr = lock;
	hint_of(tid)->klock = 1;
	fuse_end(r, ts);
}

SEC("?tp_btf/contention_begin")
int BPF_PROG(thaw_contention_begin, void *lock, unsigned int flags)
{
	struct task_struct *me;
	struct ring_head *r;

	if (!armed)
		return 0;
	me = bpf_get_current_task_btf();
	if (!in_scope(me->pid))
		return 0;
	r = ring_mine();
	if (!r)
		return 0;
	if (klock_spins(flags)) {
		__u32 how = wake_context(r, false);

		if (how != WAKE_TASK && how != WAKE_UNKNOWN) {
			/* No thread's attempt: only a recording of the whole machine wants it. */
			if (!scope_all)
				return 0;
			flags |= KLOCK_IN_INTERRUPT;
		}
		spin_begin(r, (__u64)lock, flags, me->pid);
	} else {
		sleep_begin(r, me, (__u64)lock, flags);
	}
	return 0;
}

static __always_inline void fill(struct pr_klock *rec, const struct klock_hint *k, __u32 pid,
				 __u64 took, int ret, __u64 kstack)
{
	rec->tid = k->tid;
	rec->pid = pid;
	rec->addr = k->addr;
	rec->flags = k->flags;
	rec->owner = k->owner;
	rec->what = k->what;
	rec->of = k->of;
	rec->failed = ret < 0;
	rec->took_ns = took;
	rec->kstack = kstack;
}

static __noinline int emit_klocked(void *ctx, struct ring_head *r, const struct klock_hint *k,
				   int ret, __u64 ts)
{
	struct task_struct *me = bpf_get_current_task_btf();
	__u64 took = ts - k->ts, kstack = 0;
	struct pr_klock *rec;
	struct emit e;

	if (!no_wait_stacks && (took >= min_wait_ns || ts - r->klock_stack > STACK_EVERY_NS)) {
		__u32 area = 0;
		struct scratch *s = scratch_get(r, &area);

		r->klock_stack = ts;
		if (s)
			kstack = stack_kernel(ctx, r, s, area, ts);
		scratch_put(r);
	}
	rec = emit_begin(&e, r, PR_KLOCKED, sizeof(*rec), ts);
	if (rec) {
		fill(rec, k, me->tgid, took, ret, kstack);
		emit_end(&e);
	}
	return 0;
}

/* From now on, the attempts of k's thread at this lock may be added up. */
static __noinline int klocks_begin(struct ring_head *r, const struct klock_hint *k, __u64 ts)
{
	struct task_struct *me = bpf_get_current_task_btf();
	__u32 tid = k->tid, was;
	struct klocks_row *row = klocks_row_of(tid);

	was = __sync_val_compare_and_swap(&row->tid, 0, tid);
	if (was && was != tid)
		return 0;
	if (row->since)
		klocks_tell(r, row, ts);
	row->pid = me->tgid;
	row->flags = k->flags;
	row->what = k->what;
	row->of = k->of;
	row->last = ts;
	row->addr = k->addr;
	return 0;
}

/* The innermost attempt that matches; those above it began on another CPU or never ended. */
static __always_inline bool spin_end(struct ring_head *r, __u64 lock, struct klock_hint *ret)
{
	for (int i = RING_SPINS - 1; i >= 0; i--) {
		struct ring_spin *s = &r->spins[i];

		if (r->spinning <= (__u64)i || s->addr != lock)
			continue;
		ret->addr = lock;
		ret->ts = s->ts;
		ret->flags = s->flags;
		ret->tid = s->tid;
		ret->owner = 0;
		r->spinning = i;
		return true;
	}
	return false;
}

SEC("?tp_btf/contention_end")
int BPF_PROG(thaw_contention_end, void *lock, int ret)
{
	struct task_struct *me;
	struct klock_hint *k, spun = {};
	struct ring_head *r;
	__u64 ts, of = 0;
	__u32 tid;

	if (!armed)
		return 0;
	me = bpf_get_current_task_btf();
	tid = me->pid;
	k = klock_of(tid);
	if (k->addr == (__u64)lock && k->tid == tid) {
		ts = bpf_ktime_get_ns();
		if (k->again && !ret && ts - k->ts < KLOCKS_BELOW_NS) {
			k->addr = 0;
			k->got = ts;
			return 0;
		}
		r = ring_mine();
		if (r) {
			klocks_begin(r, k, ts);
			emit_klocked(ctx, r, k, ret, ts);
			fuse_end(r, ts);
		}
		k->addr = 0;
		return 0;
	}
	r = ring_mine();
	if (!r || !r->spinning || !spin_end(r, (__u64)lock, &spun))
		return 0;
	ts = bpf_ktime_get_ns();
	spun.what = klock_what((__u64)lock, spun.flags, &of);
	spun.of = of;
	emit_klocked(ctx, r, &spun, ret, ts);
	fuse_end(r, ts);
	return 0;
}
