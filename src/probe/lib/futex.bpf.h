/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sleeps on futexes, told from the registers of the thread that goes to sleep: the address, what is
 * there at that moment (in it, with luck, the owner of the lock), and, when the thread is woken,
 * whether the waker was in a call on the same futex.
 */
#ifndef THAW_PROBE_FUTEX_H
#define THAW_PROBE_FUTEX_H

#include "probe/lib/call.bpf.h"
#include "probe/lib/emit.bpf.h"

/* Newer than the headers that thaw builds with. */
#define NR_FUTEX_WAITV 449u /* 5.16 */
#define NR_FUTEX_WAKE 454u  /* 6.7 */
#define NR_FUTEX_WAIT 455u
#define NR_FUTEX_REQUEUE 456u

/* include/uapi/linux/futex.h */
#define CMD_WAIT 0u
#define CMD_WAKE 1u
#define CMD_REQUEUE 3u
#define CMD_CMP_REQUEUE 4u
#define CMD_WAKE_OP 5u
#define CMD_LOCK_PI 6u
#define CMD_UNLOCK_PI 7u
#define CMD_WAIT_BITSET 9u
#define CMD_WAKE_BITSET 10u
#define CMD_WAIT_REQUEUE_PI 11u
#define CMD_CMP_REQUEUE_PI 12u
#define CMD_LOCK_PI2 13u
#define CMD_BIT(cmd) (1u << (cmd))
#define CMDS_THAT_SLEEP                                                                            \
	(CMD_BIT(CMD_WAIT) | CMD_BIT(CMD_LOCK_PI) | CMD_BIT(CMD_WAIT_BITSET) |                     \
	 CMD_BIT(CMD_WAIT_REQUEUE_PI) | CMD_BIT(CMD_LOCK_PI2))
#define CMDS_THAT_WAKE                                                                             \
	(CMD_BIT(CMD_WAKE) | CMD_BIT(CMD_REQUEUE) | CMD_BIT(CMD_CMP_REQUEUE) |                     \
	 CMD_BIT(CMD_WAKE_OP) | CMD_BIT(CMD_UNLOCK_PI) | CMD_BIT(CMD_WAKE_BITSET) |                \
	 CMD_BIT(CMD_CMP_REQUEUE_PI))
#define OP_BITS 0x1ffu
#define OP_PRIVATE 128u /* FUTEX_PRIVATE_FLAG; of the newer calls: FUTEX2_PRIVATE */

static __always_inline bool cmd_among(__u32 op, __u32 set)
{
	__u32 cmd = op & FUTEX_OP_CMD;

	return cmd < 32 && (set >> cmd & 1);
}

/* The newer calls have flags in place of an operation. */
static __always_inline __u32 op_of_flags(__u32 flags)
{
	return flags & OP_PRIVATE ? OP_PRIVATE : FUTEX_OP_SHARED;
}

static __always_inline bool op_is_private(__u32 op)
{
	return op & OP_PRIVATE;
}

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
	if (nr == __NR_futex) {
		ret->addr = regs->rdi;
		ret->op = regs->rsi & OP_BITS;
		ret->val = regs->rdx;
		return cmd_among(ret->op, CMDS_THAT_SLEEP);
	}
	if (nr == NR_FUTEX_WAIT) {
		ret->addr = regs->rdi;
		ret->op = CMD_WAIT | op_of_flags(regs->r10);
		ret->val = regs->rsi;
		return true;
	}
	if (nr == NR_FUTEX_WAITV) {
		struct waitv first;

		if (user_read(&first, sizeof(first), regs->rdi))
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

	return nr == __NR_futex || nr == NR_FUTEX_WAIT || nr == NR_FUTEX_WAITV;
}

static __always_inline __u32 way_of(__u32 nr, __u32 op)
{
	if (nr == NR_FUTEX_WAIT)
		return FUTEX_WAY_WAIT2;
	if (nr == NR_FUTEX_WAKE)
		return FUTEX_WAY_WAKE2;
	if (nr != __NR_futex)
		return FUTEX_WAY_NONE;
	switch (op & FUTEX_OP_CMD) {
	case CMD_WAIT:
		return FUTEX_WAY_WAIT;
	case CMD_WAIT_BITSET:
		return FUTEX_WAY_WAIT_BITSET;
	case CMD_WAKE:
		return FUTEX_WAY_WAKE;
	case CMD_WAKE_BITSET:
		return FUTEX_WAY_WAKE_BITSET;
	}
	return FUTEX_WAY_NONE;
}

/* Where the stack's id is kept for a way; NULL for those that have to be walked. */
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
static __noinline int emit_futex(struct task_struct *t, struct ring_head *r, struct hint *h,
				 __u32 nr, __u64 ts)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(t);
	struct futex_sleep f;
	struct pr_futex *rec;
	struct emit e;

	if (!futex_sleeps(nr, regs, &f))
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
 * Is the current thread in a call that wakes who sleeps on the futex of `h`, which `wakee` does?
 * Within a process addresses tell. Between processes they may differ for one and the same futex:
 * that the call is one on a shared futex must do.
 */
static __noinline bool releases_futex(struct task_struct *wakee, const struct hint *h)
{
	struct task_struct *me = bpf_get_current_task_btf();
	struct pt_regs *regs;
	__u64 nr, addr;
	__u32 op;

	if (me->flags & PF_KTHREAD || me->thread_info.status & TS_COMPAT)
		return false;
	regs = (struct pt_regs *)bpf_task_pt_regs(me);
	nr = regs->orig_rax;
	addr = regs->rdi;
	if (nr == __NR_futex) {
		op = regs->rsi;
		if (!cmd_among(op, CMDS_THAT_WAKE))
			return false;
		if ((op & FUTEX_OP_CMD) == CMD_WAKE_OP && regs->r8 == h->futex)
			addr = h->futex;
	} else if (nr == NR_FUTEX_WAKE) {
		op = op_of_flags(regs->r10);
	} else if (nr == NR_FUTEX_REQUEUE) {
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

	return way_of(regs->orig_rax, regs->rsi);
}

#endif
