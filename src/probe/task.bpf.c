// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Threads that are born, change their program or name, and end; and the filter that follows them.
 * The bit of a thread is set before the thread first runs and cleared in its last switch
 * (sched.bpf.c).
 */
#include "probe/lib/compat.bpf.h"
#include "probe/lib/emit.bpf.h"
#include "probe/lib/unwind.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* The tid in the thread's own pid namespace: the words of a futex hold that one. */
static __always_inline __u32 own_tid(struct task_struct *t)
{
	/* Read as a plain number: 6.1 lets nobody add an unbounded offset to a typed pointer. */
	struct pid *p = BPF_CORE_READ(t, thread_pid);
	__u32 level = BPF_CORE_READ(p, level), nr = 0;

	if (!level)
		return 0;
	bpf_probe_read_kernel(&nr, sizeof(nr),
			      (void *)p + bpf_core_field_offset(struct pid, numbers) +
				      level * bpf_core_type_size(struct upid) +
				      bpf_core_field_offset(struct upid, nr));
	return nr;
}

static __always_inline void emit_task(__u32 kind, struct task_struct *t, __u32 other, __u32 code)
{
	struct emit e;
	struct ring_head *r = ring_mine();
	__u64 ts = bpf_ktime_get_ns();
	struct pr_task *rec;

	if (!r)
		return;
	rec = emit_begin(&e, r, kind, sizeof(*rec), ts);
	if (!rec)
		return;
	rec->tid = t->pid;
	rec->pid = t->tgid;
	rec->other = other;
	rec->code = code;
	rec->vtid = kind == PR_FORK ? own_tid(t) : 0;
	bpf_probe_read_kernel(rec->comm, sizeof(rec->comm), t->comm);
	emit_end(&e);
	fuse_end(r, ts);
}

static __always_inline bool in_cgroup(struct cgroup *c)
{
	return BPF_CORE_READ(c, level) >= (int)cgroup_level &&
	       cgroup_ancestor_id(c, cgroup_level) == cgroup_id;
}

static __always_inline bool child_in_scope(struct task_struct *parent, struct task_struct *child)
{
	/* clone3() can put a child into another cgroup than its parent's. */
	if (cgroup_id)
		return in_cgroup(BPF_CORE_READ(child, cgroups, dfl_cgrp));
	return scope_inherit && in_scope(parent->pid);
}

/* A new process has its parent's mappings, at once: the collector hears of it only later. */
static __always_inline void share_space(__u32 parent, __u32 child)
{
	struct unwind_proc *from = BIG(unwind_procs, struct unwind_proc, parent & procs_mask);
	struct unwind_proc *to = BIG(unwind_procs, struct unwind_proc, child & procs_mask);

	if (from && to) {
		to->execs = 0;
		to->space = from->space;
	}
}

/* exec(): the mappings are unknown, and answers under way concern the old program. */
static __always_inline __u32 forget_space(__u32 pid)
{
	struct unwind_proc *p = BIG(unwind_procs, struct unwind_proc, pid & procs_mask);
	__u32 execs;

	if (!p)
		return 0;
	execs = p->execs + 1;
	p->execs = execs;
	p->space = 0;
	return execs;
}

SEC("?tp_btf/sched_process_fork")
int BPF_PROG(thaw_fork, struct task_struct *parent, struct task_struct *child)
{
	if (!armed)
		return 0;
	/* In any scope: every process may wake a recorded thread, and its stack is taken then. */
	if (child->pid == child->tgid)
		share_space(parent->tgid, child->tgid);
	if (!scope_all && !child_in_scope(parent, child))
		return 0;
	/* Also in SCOPE_SYSTEM: the bit tells the collector that a FORK record is on its way. */
	scope_add(child->pid);
	emit_task(PR_FORK, child, parent->pid, parent->tgid);
	return 0;
}

SEC("?tp_btf/sched_process_exec")
int BPF_PROG(thaw_exec, struct task_struct *p, int old_pid)
{
	__u32 execs;

	if (!armed)
		return 0;
	execs = forget_space(p->tgid);
	if (!in_scope(old_pid))
		return 0;
	/* A thread that calls exec takes over the tid of its process's leader. */
	if (!scope_all && p->pid != old_pid)
		scope_add(p->pid);
	emit_task(PR_EXEC, p, old_pid, execs);
	return 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(thaw_exit, struct task_struct *p)
{
	if (armed && in_scope(p->pid))
		emit_task(PR_EXIT, p, 0, p->exit_code);
	return 0;
}

SEC("?tp_btf/task_rename")
int BPF_PROG(thaw_rename, struct task_struct *t, const char *comm)
{
	struct emit e;
	struct ring_head *r;
	struct pr_task *rec;

	if (!armed || !in_scope(t->pid))
		return 0;
	r = ring_mine();
	rec = r ? emit_begin(&e, r, PR_RENAME, sizeof(*rec), bpf_ktime_get_ns()) : NULL;
	if (!rec)
		return 0;
	rec->tid = t->pid;
	rec->pid = t->tgid;
	rec->other = 0;
	rec->code = 0;
	rec->vtid = 0;
	bpf_probe_read_kernel_str(rec->comm, sizeof(rec->comm), comm);
	emit_end(&e);
	return 0;
}

SEC("?tp_btf/cgroup_attach_task")
int BPF_PROG(thaw_cgroup_attach, struct cgroup *dst, const char *path, struct task_struct *t,
	     bool threadgroup)
{
	bool in, was;

	if (!armed)
		return 0;
	in = in_cgroup(dst);
	was = in_scope(t->pid);
	if (in == was)
		return 0;
	if (in)
		scope_add(t->pid);
	else
		scope_del(t->pid);
	emit_task(in ? PR_JOIN : PR_LEAVE, t, threadgroup, 0);
	return 0;
}
