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
 */
#include "probe/lib/compat.bpf.h"
#include "probe/lib/emit.bpf.h"
#include "probe/lib/stack.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The waits' stacks, where sched_exit_tp is missing. */
static __always_inline void wait_kernel_stack(struct ring_head *r, struct task_struct *next,
					      __u32 tid, __u64 ts)
{
	__u32 area = 0;
	struct emit e;
	struct scratch *s = scratch_get(r, &area);
	struct pr_sample *rec;

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
}

static __always_inline void switched_out(struct ring_head *r, __u32 tid, __u32 state, __u64 ts)
{
	struct hint *h = hint_of(tid);
	bool waits = (state & STATE_MASK) && !(state & STATE_PREEMPTED);

	if (state & STATE_GONE) {
		scope_del(tid);
		if (h->tid == tid)
			h->tid = 0;
		return;
	}
	h->tid = tid;
	h->off_ts = waits ? ts : 0;
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
				     struct task_struct *next, __u32 raw_state)
{
	struct emit e;
	__u32 ptid, ntid, state;
	struct pr_switch *rec;
	struct ring_head *r;
	bool prev_in, next_in;
	__u64 ts;

	if (!armed)
		return 0;
	ptid = prev->pid;
	ntid = next->pid;
	prev_in = in_scope(ptid);
	next_in = in_scope(ntid);
	if (!prev_in && !next_in)
		return 0;
	r = ring_mine();
	if (!r)
		return 0;
	state = raw_state & STATE_MASK;
	if (preempt)
		state |= STATE_PREEMPTED;
	else if (state && BPF_CORE_READ_BITFIELD(prev, in_iowait))
		state |= STATE_IOWAIT;
	if (!prev_in)
		state |= STATE_PREV_OUT;
	if (!next_in)
		state |= STATE_NEXT_OUT;
	ts = bpf_ktime_get_ns();
	rec = emit_begin(&e, r, PR_SWITCH, sizeof(*rec), ts);
	if (rec) {
		rec->prev = ptid;
		rec->next = ntid;
		rec->state = state;
		emit_end(&e);
	}
	if (prev_in && ptid)
		switched_out(r, ptid, state, ts);
	if (next_in && ntid)
		switched_in(r, next, ntid, ts);
	return 0;
}

SEC("?tp_btf/sched_switch")
int BPF_PROG(thaw_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	return on_switch(preempt, prev, next, prev_state);
}

/* Before 5.18 (9c2136be0878) the tracepoint did not carry the state. */
SEC("?tp_btf/sched_switch")
int BPF_PROG(thaw_switch_3, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	return on_switch(preempt, prev, next, prev->__state);
}

static __always_inline void fill_waking(struct pr_waking *rec, __u32 wakee, __u64 waker, __u32 ctx)
{
	rec->wakee = wakee;
	rec->waker = (__u32)waker;
	rec->ctx = ctx;
	rec->waker_pid = waker >> 32;
}

SEC("?tp_btf/sched_waking")
int BPF_PROG(thaw_waking, struct task_struct *p)
{
	__u32 area = 0;
	struct emit e;
	__u64 ts, waker, kstack = 0, ustack = 0;
	struct pr_waking *rec;
	struct ring_head *r;
	struct scratch *s;
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
	waker = bpf_get_current_pid_tgid();
	how = wake_context(r);
	ts = bpf_ktime_get_ns();
	h = hint_of(wakee);
	if (h->tid != wakee || !h->off_ts || ts - h->off_ts < min_wait_ns) {
		rec = emit_begin(&e, r, PR_WAKING, PR_WAKING_SHORT, ts);
		if (rec) {
			fill_waking(rec, wakee, waker, how);
			emit_end(&e);
		}
		return 0;
	}
	s = scratch_get(r, &area);
	if (s) {
		kstack = stack_kernel(ctx, r, s, ts);
		/* The interrupted thread's own code has nothing to do with it. */
		if (how == WAKE_TASK)
			ustack = stack_user(ctx, r, s, area, ts);
	}
	scratch_put(r);
	rec = emit_begin(&e, r, PR_WAKING_LONG, sizeof(*rec), ts);
	if (rec) {
		fill_waking(rec, wakee, waker, how);
		rec->kstack = kstack;
		rec->ustack = ustack;
		emit_end(&e);
	}
	return 0;
}

static __always_inline void emit_wait(void *ctx, struct ring_head *r, __u64 id, bool kernel)
{
	__u32 area = 0;
	struct emit e;
	__u64 ts = bpf_ktime_get_ns(), kstack = 0, ustack = 0;
	struct scratch *s = scratch_get(r, &area);
	struct pr_sample *rec;

	if (s) {
		if (kernel)
			kstack = stack_kernel(ctx, r, s, ts);
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
}

/* The end of __schedule(): the thread that has just come in is current. */
SEC("?tp_btf/sched_exit_tp")
int BPF_PROG(thaw_sched_exit, bool is_switch)
{
	struct ring_head *r;
	__u64 id;

	if (!armed)
		return 0;
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
