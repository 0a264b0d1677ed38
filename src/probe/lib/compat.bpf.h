/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every difference between kernels, one block each, with the commit that made it. */
#ifndef THAW_PROBE_COMPAT_H
#define THAW_PROBE_COMPAT_H

#include "probe/lib/state.bpf.h"

/* include/linux/preempt.h; the layout has not changed since 2013. */
#define PREEMPT_BITS 0xffu
#define SOFTIRQ_SERVING 0x100u
#define HARDIRQ_BITS 0xf0000u
#define NMI_BITS 0xf00000u

/*
 * Reads memory at an address that has no type for the verifier. Since 6.2 (a35b9af4ec2c "bpf: Add a
 * kfunc for generic type cast") a program can cast the address: loads are then plain loads with an
 * entry in the exception table, and the cast itself leaves no instruction. Before,
 * bpf_probe_read_kernel() reads, 5 to 10 ns each. `cast` is a constant: kernels before 5.16
 * (a5d827275241) refuse a program with a call that they do not know even where it is dead code, so
 * a program that casts has a twin that does not.
 */
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;

#define KERNEL_READ(cast, type, at, member)                                                        \
	({                                                                                         \
		const void *from = (const void *)(at);                                             \
		typeof(((type *)0)->member) val;                                                   \
		if (cast)                                                                          \
			val = ((type *)bpf_rdonly_cast(from, bpf_core_type_id_kernel(type)))       \
				      ->member;                                                    \
		else                                                                               \
			val = BPF_CORE_READ((type *)from, member);                                 \
		val;                                                                               \
	})

/*
 * cgroup.ancestors[] replaced cgroup.ancestor_ids[] in 6.1: 7f203bc89eb6 "cgroup: Replace
 * cgroup->ancestor_ids[] with ->ancestors[]".
 */
struct cgroup___ptrs {
	struct cgroup *ancestors[1];
} __attribute__((preserve_access_index));
struct cgroup___ids {
	__u64 ancestor_ids[1];
} __attribute__((preserve_access_index));

static __always_inline __u64 cgroup_ancestor_id(struct cgroup *c, int level)
{
	__u64 id = 0;

	if (bpf_core_field_exists(struct cgroup___ptrs, ancestors)) {
		__u32 off = bpf_core_field_offset(struct cgroup___ptrs, ancestors);
		struct cgroup *up = NULL;

		bpf_probe_read_kernel(&up, sizeof(up), (void *)c + off + level * 8);
		if (up)
			id = BPF_CORE_READ(up, kn, id);
	} else if (bpf_core_field_exists(struct cgroup___ids, ancestor_ids)) {
		__u32 off = bpf_core_field_offset(struct cgroup___ids, ancestor_ids);

		bpf_probe_read_kernel(&id, sizeof(id), (void *)c + off + level * 8);
	}
	return id;
}

/*
 * The preempt count of this CPU, which tells a task from an interrupt. It is a per-CPU variable
 * whose address the loader cannot give us on kernels without CONFIG_KALLSYMS_ALL. But every task's
 * cfs_rq points to its CPU's runqueue, another per-CPU variable, and BTF has the offsets of both
 * within the per-CPU section: the collector passes them in. Where one of them is missing, the
 * offset is 0 and the context unknown. (A variable of its own up to 6.1 and from 6.15, 46e8fff6d45f
 * "x86/preempt: Move preempt count to percpu hot section"; a member of pcpu_hot in between,
 * 64701838bf05 "x86/percpu: Move preempt_count next to current_task".)
 */
static __always_inline __u32 wake_context(struct ring_head *r, const bool cast)
{
	__u32 count;

	if (!preempt_count_off)
		return WAKE_UNKNOWN;
	if (!r->preempt_addr) {
		struct task_struct *me = bpf_get_current_task_btf();

		r->preempt_addr =
			(__u64)BPF_CORE_READ(me, se.cfs_rq, rq) - runqueues_off + preempt_count_off;
	}
	/* Any struct of a single int serves. */
	count = KERNEL_READ(cast, struct refcount_struct, r->preempt_addr, refs.counter);
	/* A tracepoint's program runs with preemption off: the low bits cannot be zero. */
	if (!(count & PREEMPT_BITS))
		return WAKE_UNKNOWN;
	if (count & NMI_BITS)
		return WAKE_NMI;
	if (count & HARDIRQ_BITS)
		return WAKE_HARDIRQ;
	return count & SOFTIRQ_SERVING ? WAKE_SOFTIRQ : WAKE_TASK;
}

/*
 * A thread whose cgroup has used up its CPU time. Since 6.18 ("sched/fair: Switch to task based
 * throttle model") the kernel throttles threads one by one, at the border to user mode, and marks
 * each. Before, it took out the cgroup's whole queue on a CPU (with CONFIG_CFS_BANDWIDTH).
 */
struct task_struct___throttled {
	bool throttled;
} __attribute__((preserve_access_index));
struct cfs_rq___throttled {
	int throttle_count; /* of the queue's cgroup or those above it */
} __attribute__((preserve_access_index));

#define MAX_RT_PRIO 100 /* below: classes without a quota of CPU time */

static __always_inline bool threads_are_throttled(void)
{
	return bpf_core_field_exists(struct task_struct___throttled, throttled);
}

static __always_inline bool queue_is_throttled(struct task_struct *t)
{
	struct cfs_rq___throttled *queue = (void *)t->se.cfs_rq;

	return bpf_core_field_exists(struct cfs_rq___throttled, throttle_count) &&
	       t->prio >= MAX_RT_PRIO && queue->throttle_count > 0;
}

/* Of a thread that leaves its CPU, still runnable. */
static __always_inline bool is_throttled(struct task_struct *t)
{
	if (threads_are_throttled())
		return ((struct task_struct___throttled *)(void *)t)->throttled;
	return queue_is_throttled(t);
}

/*
 * Since 6.12 (152e11f6df29 "sched/fair: Implement delayed dequeue") a thread that sleeps may stay
 * on its queue for a while.
 */
struct sched_entity___delayed {
	unsigned char sched_delayed;
} __attribute__((preserve_access_index));

static __always_inline bool is_queued(struct task_struct *t)
{
	struct sched_entity___delayed *se = (void *)&t->se;

	if (!BPF_CORE_READ_BITFIELD(t, on_rq))
		return false;
	return !bpf_core_field_exists(struct sched_entity___delayed, sched_delayed) ||
	       !BPF_CORE_READ(se, sched_delayed);
}

/* Of a thread that is woken: will it have to wait for its cgroup's next period? */
static __always_inline bool wakes_throttled(struct task_struct *t)
{
	return !threads_are_throttled() && queue_is_throttled(t);
}

/*
 * eventfd, epoll and their like share an inode. Its mode had no type up to 6.15; since then
 * (cfd86ef7e8e7 "anon_inode: use a proper mode internally") it is a regular file's, with a flag.
 */
#define S_ANON_INODE (1u << 19) /* include/linux/fs.h */

static __always_inline bool inode_is_anon(struct inode *inode, const bool cast)
{
	return KERNEL_READ(cast, struct inode, inode, i_flags) & S_ANON_INODE;
}

#endif
