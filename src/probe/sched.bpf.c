// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Every switch and every waking, and the stacks of waits that lasted.
 *
 * A switch records who left the CPU, in which state, and who came: no stack, no lookup that could
 * fail. When a thread comes back from a wait of at least min_wait_ns, its stack is taken then: it
 * cannot have changed since it went to sleep. Where the kernel has sched_exit_tp (6.17), that
 * moment is the end of __schedule(), in the thread's own context and outside of the runqueue lock,
 * where both its kernel and its user stack can be read; elsewhere the kernel stack is taken at the
 * switch, and the user stack at the next return from a system call.
 *
 * sched_switch runs under the runqueue lock with interrupts off, sched_waking under the wakee's
 * pi_lock: nothing here may wait, print, wake anybody or allocate.
 *
 * What is not needed at every switch is in functions of its own: the way that is always taken stays
 * short, and its frame small. (Since 6.13 a frame of 64 bytes or more lies in other memory than the
 * stack.)
 */
#include "probe/lib/futex.bpf.h"
#include "probe/lib/klock.bpf.h"
#include "probe/lib/stack.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The current thread's kernel stack, in a call on a futex or elsewhere (way 0). */
static __always_inline __u64 stack_of_way(void *ctx, struct ring_head *r, struct scratch *s,
					  __u32 way, __u64 ts)
{
	__u64 *known = way_kstack(r, way), id;

	if (known && *known) {
		__u64 *slot = sent_slot(*known);

		/* With a full ring it may have got an id, and not been sent. */
		if (slot && *slot == *known)
			return *known;
	}
	id = stack_kernel(ctx, r, s, ts);
	if (known)
		*known = id;
	return id;
}

/* The waits' stacks, where sched_exit_tp is missing. */
static __noinline int wait_kernel_stack(struct ring_head *r, struct task_struct *next, __u32 tid,
					__u64 ts)
{
	__u32 area = 0;
	struct emit e;
	struct pr_sample *rec;
	struct scratch *s;

	if (no_wait_stacks)
		return 0;
	s = scratch_get(r, &area);
	if (s) {
		__u64 id = stack_send(
			r, s, stack_taken(r, bpf_get_task_stack(next, s->ip, STACK_BYTES, 0)), 0,
			ts);

		rec = emit_begin(&e, r, PR_WAIT, sizeof(*rec), ts);
		if (rec) {
			rec->tid = tid;
			rec->pid = next->tgid;
			rec->kstack = id;
			rec->ustack = 0;
			emit_end(&e);
		}
	}
	scratch_put(r);
	return 0;
}

static __always_inline bool runnable(__u32 state)
{
	return !(state & STATE_MASK) || (state & STATE_PREEMPTED);
}

static __always_inline bool waits(__u32 state)
{
	return (state & STATE_MASK) && !(state & (STATE_PREEMPTED | STATE_GONE));
}

/* The thread sleeps or ends: its slot is free for others. */
static __noinline int klocks_end(struct ring_head *r, __u32 tid, __u64 ts)
{
	struct klocks_row *row = klocks_row_of(tid);
	struct klock_hint *k = klock_of(tid);

	if (row->tid != tid)
		return 0;
	if (k->tid == tid) {
		klocks_add(row, k);
		/* What it wants now is no longer one of the row, however soon it gets it. */
		k->again = 0;
	}
	if (row->since)
		klocks_tell(r, row, ts);
	row->addr = 0;
	*(volatile __u32 *)&row->tid = 0;
	return 0;
}

static __always_inline void switched_out(struct ring_head *r, __u32 tid, __u32 state, __u64 ts)
{
	struct hint *h = hint_of(tid);

	if (state & STATE_GONE) {
		klocks_end(r, tid, ts);
		scope_del(tid);
		if (h->tid == tid)
			h->tid = 0;
		return;
	}
	h->tid = tid;
	h->off_ts = waits(state) ? ts : 0;
}

/* The current thread goes to sleep, perhaps while it wants a lock. */
static __noinline int emit_klock(struct task_struct *t, struct ring_head *r, __u64 ts)
{
	struct klock_hint *k = klock_of(t->pid);
	struct pr_klock *rec;
	struct emit e;

	klocks_end(r, t->pid, ts);
	if (!k->addr || k->tid != (__u32)t->pid) {
		hint_of(t->pid)->klock = 0;
		return 0;
	}
	rec = emit_begin(&e, r, PR_KLOCK, PR_KLOCK_SHORT, ts);
	if (!rec)
		return 0;
	rec->tid = t->pid;
	rec->pid = t->tgid;
	rec->addr = k->addr;
	rec->flags = k->flags;
	/* Now, not when it first tried: the lock may have changed hands since. */
	rec->owner = klock_owner(k->addr, k->flags);
	rec->what = k->what;
	rec->of = k->of;
	rec->failed = 0;
	emit_end(&e);
	return 0;
}

/* What the thread that goes to sleep does: SWITCH.call, and a record before that of the switch. */
static __always_inline __u32 asleep(struct task_struct *prev, struct ring_head *r, __u32 state,
				    __u64 ts, const bool cast)
{
	struct hint *h = hint_of(prev->pid);
	struct pt_regs *regs;
	__u32 call = call_of(prev, &regs, cast);

	h->futex = 0;
	h->way = FUTEX_WAY_NONE;
	if (h->klock)
		emit_klock(prev, r, ts);
	/* Within such a call, page faults sleep in other states. */
	if (regs && (state & STATE_INTERRUPTIBLE) && is_futex_wait(call))
		emit_futex(prev, r, h, (call & CALL_NR) - 1, ts);
	return call;
}

static __noinline __u32 falls_asleep(struct task_struct *prev, struct ring_head *r, __u32 state,
				     __u64 ts)
{
	return asleep(prev, r, state, ts, true);
}

static __noinline __u32 falls_asleep_old(struct task_struct *prev, struct ring_head *r, __u32 state,
					 __u64 ts)
{
	return asleep(prev, r, state, ts, false);
}

static __always_inline void switched_in(struct ring_head *r, struct task_struct *next, __u32 tid,
					__u64 ts)
{
	struct hint *h = hint_of(tid);
	__u64 off;

	if (h->tid != tid) {
		if (h->tid)
			r->no_hint++;
		return;
	}
	off = h->off_ts;
	h->off_ts = 0;
	if (!off || ts - off < min_wait_ns)
		return;
	if (waits_at_exit_tp) {
		r->want_wait = tid;
	} else {
		wait_kernel_stack(r, next, tid, ts);
		h->want_user = 1;
	}
}

static __always_inline int on_switch(bool preempt, struct task_struct *prev,
				     struct task_struct *next, __u32 raw_state, const bool cast)
{
	struct emit e;
	__u32 ptid, ntid, state, call = 0;
	struct pr_switch *rec;
	struct ring_head *r;
	__u64 ts;

	if (!armed)
		return 0;
	ptid = prev->pid;
	ntid = next->pid;
	state = raw_state & STATE_MASK;
	if (!in_scope(ptid))
		state |= STATE_PREV_OUT;
	if (!in_scope(ntid))
		state |= STATE_NEXT_OUT;
	if ((state & (STATE_PREV_OUT | STATE_NEXT_OUT)) == (STATE_PREV_OUT | STATE_NEXT_OUT))
		return 0;
	r = ring_mine();
	if (!r)
		return 0;
	if (preempt)
		state |= STATE_PREEMPTED;
	else if ((state & STATE_MASK) && BPF_CORE_READ_BITFIELD(prev, in_iowait))
		state |= STATE_IOWAIT;
	if (!(state & STATE_PREV_OUT) && ptid && runnable(state) && is_throttled(prev))
		state |= STATE_THROTTLED;
	ts = bpf_ktime_get_ns();
	if (!(state & STATE_PREV_OUT) && waits(state))
		call = cast ? falls_asleep(prev, r, state, ts)
			    : falls_asleep_old(prev, r, state, ts);
	rec = emit_begin(&e, r, PR_SWITCH, sizeof(*rec), ts);
	if (rec) {
		rec->prev = ptid;
		rec->next = ntid;
		rec->state = state;
		rec->call = call;
		emit_end(&e);
	}
	if (!(state & STATE_PREV_OUT) && ptid)
		switched_out(r, ptid, state, ts);
	if (!(state & STATE_NEXT_OUT) && ntid)
		switched_in(r, next, ntid, ts);
	fuse_end(r, ts);
	return 0;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(thaw_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return on_switch(preempt, prev, next, prev_state, true);
}

/* Before 6.2: see KERNEL_READ(). */
SEC("?tp_btf/sched_switch")
int BPF_PROG(thaw_switch_4, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return on_switch(preempt, prev, next, prev_state, false);
}

/* Before 5.18 (9c2136be0878) the tracepoint did not carry the state. */
SEC("?tp_btf/sched_switch")
int BPF_PROG(thaw_switch_3, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return on_switch(preempt, prev, next, prev->__state, false);
}

static __always_inline void fill_waking(struct pr_waking *rec, __u32 wakee, __u64 waker, __u32 ctx)
{
	rec->wakee = wakee;
	rec->waker = (__u32)waker;
	rec->ctx = ctx;
	rec->waker_pid = waker >> 32;
}

/* The end of a wait that lasted: with the waker's stacks. `who`: wakee, and above it the context.
 */
static __noinline int waking_long(void *ctx, struct ring_head *r, __u64 who, __u64 waker, __u64 ts)
{
	__u32 area = 0, how = who >> 32;
	__u64 kstack = 0, ustack = 0;
	struct scratch *s = scratch_get(r, &area);
	struct pr_waking *rec;
	struct emit e;

	if (s && !no_wait_stacks) {
		kstack = stack_of_way(ctx, r, s, how & WAKE_RELEASE ? way_of_waker() : 0, ts);
		/* The interrupted thread's own code has nothing to do with it. */
		if ((how & WAKE_CTX) == WAKE_TASK)
			ustack = stack_user(ctx, r, s, area, ts);
	}
	scratch_put(r);
	rec = emit_begin(&e, r, PR_WAKING_LONG, sizeof(*rec), ts);
	if (rec) {
		fill_waking(rec, (__u32)who, waker, how);
		rec->kstack = kstack;
		rec->ustack = ustack;
		emit_end(&e);
	}
	return 0;
}

static __always_inline int on_waking(void *ctx, struct task_struct *p, const bool cast)
{
	struct emit e;
	__u64 ts, waker, off_ts;
	struct pr_waking *rec;
	struct ring_head *r;
	struct hint *h;
	__u32 wakee, how;

	if (!armed)
		return 0;
	wakee = p->pid;
	if (!in_scope(wakee))
		return 0;
	r = ring_mine();
	if (!r)
		return 0;
	/* All that may be far away is asked for before the clock is, which waits for it. */
	h = hint_of(wakee);
	off_ts = h->tid == wakee ? h->off_ts : 0;
	waker = bpf_get_current_pid_tgid();
	how = wake_context(r, cast);
	if (off_ts && h->futex && how == WAKE_TASK && releases_futex(p, h))
		how |= WAKE_RELEASE;
	if (wakes_throttled(p))
		how |= WAKE_THROTTLED;
	ts = bpf_ktime_get_ns();
	if (off_ts && ts - off_ts >= min_wait_ns) {
		waking_long(ctx, r, (__u64)how << 32 | wakee, waker, ts);
	} else {
		rec = emit_begin(&e, r, PR_WAKING, PR_WAKING_SHORT, ts);
		if (rec) {
			fill_waking(rec, wakee, waker, how);
			emit_end(&e);
		}
	}
	fuse_end(r, ts);
	return 0;
}

SEC("?tp_btf/sched_waking")
int BPF_PROG(thaw_waking, struct task_struct *p)
{
	return on_waking(ctx, p, true);
}

/* Before 6.2. */
SEC("?tp_btf/sched_waking")
int BPF_PROG(thaw_waking_old, struct task_struct *p)
{
	return on_waking(ctx, p, false);
}

static __noinline int emit_wait(void *ctx, struct ring_head *r, __u64 id, bool kernel)
{
	__u32 area = 0;
	struct emit e;
	__u64 ts, kstack = 0, ustack = 0;
	struct pr_sample *rec;
	struct scratch *s;

	if (no_wait_stacks)
		return 0;
	ts = bpf_ktime_get_ns();
	s = scratch_get(r, &area);
	if (s) {
		if (kernel)
			kstack = stack_of_way(ctx, r, s, hint_of((__u32)id)->way, ts);
		ustack = stack_user(ctx, r, s, area, ts);
	}
	scratch_put(r);
	rec = emit_begin(&e, r, PR_WAIT, sizeof(*rec), ts);
	if (rec) {
		rec->tid = (__u32)id;
		rec->pid = id >> 32;
		rec->kstack = kstack;
		rec->ustack = ustack;
		emit_end(&e);
	}
	fuse_end(r, ts);
	return 0;
}

/* The end of __schedule(): the thread that has just come in is current. */
SEC("?tp_btf/sched_exit_tp")
int BPF_PROG(thaw_sched_exit, bool is_switch)
{
	struct ring_head *r;
	__u64 id;

	/* Set by the switch, and only while armed. */
	r = ring_mine();
	if (!r || !r->want_wait)
		return 0;
	id = bpf_get_current_pid_tgid();
	if (r->want_wait != (__u32)id)
		return 0;
	r->want_wait = 0;
	emit_wait(ctx, r, id, true);
	return 0;
}

SEC("?tp_btf/sys_exit")
int BPF_PROG(thaw_sys_exit, void *regs, long ret)
{
	struct ring_head *r;
	struct hint *h;
	__u64 id;

	if (!armed)
		return 0;
	id = bpf_get_current_pid_tgid();
	h = hint_of((__u32)id);
	if (!h->want_user || h->tid != (__u32)id)
		return 0;
	h->want_user = 0;
	r = ring_mine();
	if (r)
		emit_wait(ctx, r, id, false);
	return 0;
}
