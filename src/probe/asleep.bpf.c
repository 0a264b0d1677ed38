// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The threads that sleep at this moment: an iterator over all tasks, which runs when the recorder
 * reads its file, in no interrupt and under no lock of the scheduler. For a thread that fell asleep
 * before the recording it gives the call, with arguments and registers, and the kernel stack. A
 * thread that wakes meanwhile is left out, unless it is exiting: that is told of any thread.
 */
#include "probe/lib/futex_call.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* One at a time: only the recorder reads. */
struct pr_asleep asleep_now;
__u64 asleep_again[ASLEEP_FRAMES];

static __always_inline __u64 switches_of(struct task_struct *t)
{
	return t->nvcsw + t->nivcsw;
}

static __always_inline bool sleeps(struct task_struct *t)
{
	return (t->__state & STATE_MASK) && !BPF_CORE_READ_BITFIELD(t, on_cpu) && !is_queued(t);
}

static __always_inline void fill_user(struct task_struct *t, struct pr_asleep *a)
{
	struct pt_regs *regs;

	a->pc = 0;
	a->call = call_of(t, &regs, false);
	if (!regs)
		return;
	a->pc = REGS_PC(regs);
	a->sp = REGS_SP(regs);
	a->bp = REGS_BP(regs);
	a->bx = REGS_BX(regs);
	a->arg[0] = REGS_ARG0(regs);
	a->arg[1] = REGS_ARG1(regs);
	a->arg[2] = REGS_ARG2(regs);
	a->arg[3] = REGS_ARG3(regs);
}

/* A function of its own is verified once. */
__noinline __weak int same_stacks(__u32 n)
{
	for (__u32 i = 0; i < ASLEEP_FRAMES; i++) {
		if (i >= n)
			break;
		if (asleep_now.ip[i] != asleep_again[i])
			return 0;
	}
	return 1;
}

/*
 * Alone among thaw's programs an iterator may be preempted. The kernel gathers stacks in memory of
 * the CPU, which another program may overwrite then: a stack that reads the same twice is right.
 */
static __always_inline __u32 kernel_stack(struct task_struct *t, struct pr_asleep *a)
{
	long got = bpf_get_task_stack(t, a->ip, sizeof(a->ip), 0);
	long again = bpf_get_task_stack(t, asleep_again, sizeof(asleep_again), 0);

	if (got < 0 || got != again)
		return 0;
	return same_stacks((__u32)got / 8) ? (__u32)got / 8 : 0;
}

/* The futex that the thread sleeps on, as its switch would have noted it. */
static __always_inline void hint_futex(struct hint *h, const struct pr_asleep *a)
{
	__u32 nr = (a->call & CALL_NR) - 1, op = a->arg[1] & OP_BITS;

	h->futex = 0;
	h->way = FUTEX_WAY_NONE;
	if (!a->pc || a->call & CALL_COMPAT || !(a->state & STATE_INTERRUPTIBLE))
		return;
	if (nr == ARCH_CALL_futex_wait)
		op = CMD_WAIT | op_of_flags(a->arg[3]);
	else if (nr != ARCH_CALL_futex || !cmd_among(op, CMDS_THAT_SLEEP))
		return;
	h->futex = a->arg[0];
	h->futex_shared = !op_is_private(op);
	h->way = way_of(nr, op);
}

/*
 * No probe saw the thread go to sleep, but its waker may let go of its lock, which the hint tells.
 * If the thread wakes meanwhile, only the hint is lost.
 */
static __always_inline void hint_sleeper(struct task_struct *t, const struct pr_asleep *a)
{
	struct hint *h = hint_of(t->pid);

	if (!armed || (h->tid == (__u32)t->pid && h->off_ts))
		return;
	hint_futex(h, a);
	h->tid = t->pid;
	h->off_ts = bpf_ktime_get_ns();
	if (!sleeps(t) || switches_of(t) != a->switches)
		h->off_ts = 0;
}

/* False: it does not sleep, or no longer. */
static __always_inline bool fill_sleeper(struct task_struct *t, struct pr_asleep *a)
{
	__u32 state;

	if (!sleeps(t))
		return false;
	a->switches = switches_of(t);
	state = t->__state & STATE_MASK;
	if (BPF_CORE_READ_BITFIELD(t, in_iowait))
		state |= STATE_IOWAIT;
	a->state = state;
	fill_user(t, a);
	a->n = kernel_stack(t, a);
	return sleeps(t) && switches_of(t) == a->switches;
}

SEC("?iter/task")
int thaw_asleep(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task;
	struct pr_asleep *a = &asleep_now;

	if (!t || !in_scope(t->pid))
		return 0;
	a->tid = t->pid;
	a->pid = t->tgid;
	a->exiting = !!(t->flags & PF_EXITING);
	if (fill_sleeper(t, a))
		hint_sleeper(t, a);
	else if (a->exiting)
		a->state = 0;
	else
		return 0;
	bpf_seq_write(ctx->meta->seq, a, sizeof(*a));
	return 0;
}
