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
 * What only some switches need is in functions of its own, so that the path of every switch stays
 * short, and its frame small. (Since 6.13 a frame of 64 bytes or more lies in other memory than the
 * stack.) The large functions are not static: the verifier checks a global one once, for any
 * arguments, not on every path to it, which took half a second. These take no pointers, and find
 * the ring and the thread by themselves: at a switch, the thread that leaves is still current.
 */
#include "probe/lib/futex.bpf.h"
#include "probe/lib/klock.bpf.h"
#include "probe/lib/stack.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The current thread's kernel stack, in a call on a futex or elsewhere (way 0). */
static __always_inline __u64 stack_of_way(void *ctx, struct ring_head *r, struct scratch *s,
					  __u32 area, __u32 way, __u64 ts)
{
	__u64 *known = way_kstack(r, way), id;

	if (known && *known) {
		__u64 *slot = sent_slot(*known);

		/* A stack that met a full ring has an id, but was not sent. */
		if (slot && *slot == *known)
			return *known;
	}
	id = stack_kernel(ctx, r, s, area, ts);
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
		long bytes = bpf_get_task_stack(next, s->ip, STACK_BYTES, 0);
		__u64 id = stack_send(area, stack_taken(r, bytes), 0, ts);

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
__noinline __weak int klocks_end(__u32 tid, __u64 ts)
{
	struct klocks_row *row = klocks_row_of(tid);
	struct klock_hint *k = klock_of(tid);
	struct ring_head *r = ring_mine();

	if (!r || row->tid != tid)
		return 0;
	if (k->tid == tid) {
		klocks_add(row, k);
		/* The attempt under way is not one of the row, however soon it succeeds. */
		k->again = 0;
	}
	if (row->since)
		klocks_tell(r, row, ts);
	row->addr = 0;
	*(volatile __u32 *)&row->tid = 0;
	return 0;
}

__noinline __weak int thread_gone(__u32 tid, __u64 ts)
{
	struct hint *h = hint_of(tid);

	klocks_end(tid, ts);
	scope_del(tid);
	if (h->tid == tid)
		h->tid = 0;
	return 0;
}

static __always_inline void switched_out(__u32 tid, __u32 state, __u64 ts)
{
	struct hint *h = hint_of(tid);

	if (state & STATE_GONE) {
		thread_gone(tid, ts);
		return;
	}
	h->tid = tid;
	h->off_ts = waits(state) ? ts : 0;
}

/* The current thread goes to sleep, perhaps while it wants a lock. */
__noinline __weak int emit_klock(__u64 ts)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct klock_hint *k = klock_of(t->pid);
	struct ring_head *r = ring_mine();
	struct pr_klock *rec;
	struct emit e;

	klocks_end(t->pid, ts);
	if (!r || !k->addr || k->tid != (__u32)t->pid) {
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

/* What the thread sleeps in: SWITCH.call, and a record ahead of the switch's if it is a lock. */
static __always_inline __u32 asleep(__u32 state, __u64 ts, const bool cast)
{
	struct task_struct *prev = bpf_get_current_task_btf();
	struct hint *h = hint_of(prev->pid);
	struct pt_regs *regs;
	__u32 call = call_of(prev, &regs, cast);

	h->futex = 0;
	h->way = FUTEX_WAY_NONE;
	if (h->klock)
		emit_klock(ts);
	/* Within such a call, page faults sleep in other states. */
	if (regs && (state & STATE_INTERRUPTIBLE) && is_futex_wait(call))
		emit_futex((call & CALL_NR) - 1, ts);
	return call;
}

__noinline __weak __u32 falls_asleep(__u32 state, __u64 ts)
{
	return asleep(state, ts, true);
}

__noinline __weak __u32 falls_asleep_old(__u32 state, __u64 ts)
{
	return asleep(state, ts, false);
}

/*
 * After branches that set bits, the verifier follows each combination of bits separately. It does
 * not track the contents of a map: bits that went through one may be anything, on one path.
 */
static __always_inline __u32 forget_bits(struct ring_head *r, __u32 bits)
{
	*(volatile __u64 *)&r->state = bits;
	return *(volatile __u64 *)&r->state;
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
	state = forget_bits(r, state);
	ts = bpf_ktime_get_ns();
	if (!(state & STATE_PREV_OUT) && waits(state))
		call = cast ? falls_asleep(state, ts) : falls_asleep_old(state, ts);
	rec = emit_begin(&e, r, PR_SWITCH, sizeof(*rec), ts);
	if (rec) {
		rec->prev = ptid;
		rec->next = ntid;
		rec->state = state;
		rec->call = call;
		emit_end(&e);
	}
	if (!(state & STATE_PREV_OUT) && ptid)
		switched_out(ptid, state, ts);
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

/*
 * The end of a wait that lasted: with the waker's stacks. `who`: wakee, and above it the context.
 */
static __always_inline int emit_waking_long(void *ctx, struct ring_head *r, __u64 who, __u64 waker,
					    __u64 ts, const bool guess)
{
	__u32 area = 0, how = who >> 32;
	__u64 kstack = 0, ustack = 0;
	struct scratch *s = scratch_get(r, &area);
	struct pr_waking *rec;
	struct emit e;

	if (s && !no_wait_stacks) {
		kstack = stack_of_way(ctx, r, s, area, how & WAKE_RELEASE ? way_of_waker() : 0, ts);
		/* The code of an interrupted thread has nothing to do with the waking. */
		if ((how & WAKE_CTX) == WAKE_TASK)
			ustack = stack_user(ctx, r, s, area, ts, guess);
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

static __noinline int waking_long(void *ctx, struct ring_head *r, __u64 who, __u64 waker, __u64 ts)
{
	return emit_waking_long(ctx, r, who, waker, ts, true);
}

/* Without guesses: see probe/lib/unwind.bpf.h. */
static __noinline int waking_long_only(void *ctx, struct ring_head *r, __u64 who, __u64 waker,
				       __u64 ts)
{
	return emit_waking_long(ctx, r, who, waker, ts, false);
}

static __always_inline int on_waking(void *ctx, struct task_struct *p, const bool cast,
				     const bool guess)
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
	/* Load what may be far away before reading the clock, which waits for these loads. */
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
		if (guess)
			waking_long(ctx, r, (__u64)how << 32 | wakee, waker, ts);
		else
			waking_long_only(ctx, r, (__u64)how << 32 | wakee, waker, ts);
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
	return on_waking(ctx, p, true, true);
}

SEC("?tp_btf/sched_waking")
int BPF_PROG(thaw_waking_only, struct task_struct *p)
{
	return on_waking(ctx, p, true, false);
}

/* Before 6.2. */
SEC("?tp_btf/sched_waking")
int BPF_PROG(thaw_waking_old, struct task_struct *p)
{
	return on_waking(ctx, p, false, false);
}

static __always_inline int emit_wait(void *ctx, struct ring_head *r, __u64 id, const bool kernel,
				     const bool guess)
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
			kstack = stack_of_way(ctx, r, s, area, hint_of((__u32)id)->way, ts);
		ustack = stack_user(ctx, r, s, area, ts, guess);
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

static __noinline int emit_both_stacks(void *ctx, struct ring_head *r, __u64 id)
{
	return emit_wait(ctx, r, id, true, true);
}

/* Without guesses: see probe/lib/unwind.bpf.h. */
static __noinline int emit_user_stack(void *ctx, struct ring_head *r, __u64 id)
{
	return emit_wait(ctx, r, id, false, false);
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
	emit_both_stacks(ctx, r, id);
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
		emit_user_stack(ctx, r, id);
	return 0;
}
