/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sleeps on futexes, read from the registers of the thread that goes to sleep: the address, the
 * words there at that moment (which may name the lock's holder), and, when the thread is woken,
 * whether the waker was in a call on the same futex.
 */
#ifndef THAW_PROBE_FUTEX_H
#define THAW_PROBE_FUTEX_H

#include "probe/lib/emit.bpf.h"
#include "probe/lib/futex_call.bpf.h"

struct futex_sleep {
	__u64 addr;
	__u32 op, val;
};

/* struct futex_waitv of the uapi: the first of them stands for all. */
struct waitv {
	__u64 val;
	__u64 addr;
	__u32 flags;
	__u32 reserved;
};

/* Does this call, by its arguments, sleep on a futex? */
static __always_inline bool futex_sleeps(__u32 nr, struct pt_regs *regs, struct futex_sleep *ret)
{
	if (nr == ARCH_CALL_futex) {
		ret->addr = REGS_ARG0(regs);
		ret->op = REGS_ARG1(regs) & OP_BITS;
		ret->val = REGS_ARG2(regs);
		return cmd_among(ret->op, CMDS_THAT_SLEEP);
	}
	if (nr == ARCH_CALL_futex_wait) {
		ret->addr = REGS_ARG0(regs);
		ret->op = CMD_WAIT | op_of_flags(REGS_ARG3(regs));
		ret->val = REGS_ARG1(regs);
		return true;
	}
	if (nr == ARCH_CALL_futex_waitv) {
		struct waitv first;

		if (user_read(&first, sizeof(first), REGS_ARG0(regs)))
			return false;
		ret->addr = first.addr;
		ret->op = CMD_WAIT | FUTEX_OP_VECTOR | op_of_flags(first.flags);
		ret->val = first.val;
		return true;
	}
	return false;
}

static __always_inline bool is_futex_wait(__u32 call)
{
	__u32 nr = (call & CALL_NR) - 1;

	return nr == ARCH_CALL_futex || nr == ARCH_CALL_futex_wait || nr == ARCH_CALL_futex_waitv;
}

/* Where the id of a way's kernel stack is kept; NULL if the stack must be walked. */
static __always_inline __u64 *way_kstack(struct ring_head *r, __u32 way)
{
	if (!way || way >= RING_WAYS)
		return NULL;
	if (r->futex_epoch != epoch) {
		__builtin_memset(r->futex_kstack, 0, sizeof(r->futex_kstack));
		r->futex_epoch = epoch;
	}
	return &r->futex_kstack[way];
}

/* The current thread goes to sleep in such a call. */
__noinline __weak int emit_futex(__u32 nr, __u64 ts)
{
	struct task_struct *t = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(t);
	struct hint *h = hint_of(t->pid);
	struct ring_head *r = ring_mine();
	struct futex_sleep f;
	struct pr_futex *rec;
	struct emit e;

	if (!r || !futex_sleeps(nr, regs, &f))
		return 0;
	h->futex = f.addr;
	h->futex_shared = !op_is_private(f.op);
	h->way = way_of(nr, f.op);
	rec = emit_begin(&e, r, PR_FUTEX, sizeof(*rec), ts);
	if (!rec)
		return 0;
	rec->tid = t->pid;
	rec->pid = t->tgid;
	rec->addr = f.addr;
	rec->val = f.val;
	/* What cannot be read is zero. */
	if (user_read(rec->word, sizeof(rec->word), f.addr))
		f.op |= user_read(rec->word, sizeof(rec->word[0]), f.addr) ? FUTEX_OP_UNREAD
									   : FUTEX_OP_ONE_WORD;
	rec->op = f.op;
	emit_end(&e);
	return 0;
}

/*
 * Is the current thread in a call that wakes sleepers on the futex of `h`, where `wakee` sleeps?
 * Within a process, the addresses must match. Two processes may have one futex at different
 * addresses: there, any call on a shared futex counts.
 */
static __noinline bool releases_futex(struct task_struct *wakee, const struct hint *h)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct pt_regs *regs;
	__u64 nr, addr;
	__u32 op;

	if (me->flags & PF_KTHREAD || TASK_COMPAT(me))
		return false;
	regs = (struct pt_regs *)bpf_task_pt_regs(me);
	nr = REGS_CALL(regs);
	addr = REGS_ARG0(regs);
	if (nr == ARCH_CALL_futex) {
		op = REGS_ARG1(regs);
		if (!cmd_among(op, CMDS_THAT_WAKE))
			return false;
		if ((op & FUTEX_OP_CMD) == CMD_WAKE_OP && REGS_ARG4(regs) == h->futex)
			addr = h->futex;
	} else if (nr == ARCH_CALL_futex_wake) {
		op = op_of_flags(REGS_ARG3(regs));
	} else if (nr == ARCH_CALL_futex_requeue) {
		struct waitv first;

		if (user_read(&first, sizeof(first), addr))
			return false;
		addr = first.addr;
		op = op_of_flags(first.flags);
	} else {
		return false;
	}
	if (wakee->mm == me->mm)
		return addr == h->futex;
	return !op_is_private(op) && h->futex_shared;
}

/* Of the current thread, which is in a call that wakes. */
static __always_inline __u32 way_of_waker(void)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

	return way_of(REGS_CALL(regs), REGS_ARG1(regs));
}

#endif
