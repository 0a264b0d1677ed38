/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a lock of the kernel is, as far as its address and its owner word tell. Everything is read
 * with bpf_probe_read_kernel(): what is not there gives zero, and a lock that is being freed gives
 * a wrong owner at worst, which the model checks against the threads that it knows.
 */
#ifndef THAW_PROBE_KLOCK_H
#define THAW_PROBE_KLOCK_H

#include "probe/lib/emit.bpf.h"

/* Does a contender spin, in a thread or an interrupt? Else it sleeps, as only threads do. */
static __always_inline bool klock_spins(__u32 flags)
{
	return (flags & KLOCK_SPIN) && !(flags & KLOCK_MUTEX);
}

static __always_inline __u64 read_word(__u64 at)
{
	__u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), (void *)at);
	return word;
}

/*
 * include/linux/mutex.h: three flag bits. kernel/locking/rwsem.c: bit 0 says that readers have it,
 * and the task is but the last of them. kernel/locking/rtmutex_common.h: one flag bit.
 */
static __always_inline __u32 klock_owner(__u64 lock, __u32 flags)
{
	__u64 word;
	__u32 tid = 0;

	if (flags & KLOCK_MUTEX) {
		word = read_word(lock + bpf_core_field_offset(struct mutex, owner)) & ~7ull;
	} else if (flags & KLOCK_RT) {
		if (flags & (KLOCK_READ | KLOCK_WRITE))
			return 0;
		word = read_word(lock + bpf_core_field_offset(struct rt_mutex_base, owner)) & ~1ull;
	} else if ((flags & (KLOCK_READ | KLOCK_WRITE)) && !(flags & (KLOCK_SPIN | KLOCK_PERCPU))) {
		word = read_word(lock + bpf_core_field_offset(struct rw_semaphore, owner));
		if (word & 1)
			return 0;
		word &= ~7ull;
	} else {
		return 0;
	}
	if (!word)
		return 0;
	bpf_probe_read_kernel(&tid, sizeof(tid),
			      (void *)word + bpf_core_field_offset(struct task_struct, pid));
	return tid;
}

/* An inode's i_mapping points into the inode itself, unless it is a device's. */
static __always_inline bool is_inode(__u64 inode)
{
	return read_word(inode + bpf_core_field_offset(struct inode, i_mapping)) ==
	       inode + bpf_core_field_offset(struct inode, i_data);
}

/*
 * The collector recognises runqueues and the kernel's own data by address. (A function of its own
 * is verified once: for every pointer loaded from a task, the verifier searches all types of the
 * kernel by name, a millisecond each time.)
 */
__noinline __weak __u32 klock_what(__u64 lock, __u32 flags, __u64 *ret_of)
{
	struct task_struct *me = bpf_get_current_task_btf();

	if (!ret_of)
		return KLOCK_ANY;
	*ret_of = 0;
	if (klock_spins(flags)) {
		__u64 sighand = (__u64)me->sighand;

		if (sighand &&
		    lock == sighand + bpf_core_field_offset(struct sighand_struct, siglock)) {
			*ret_of = me->tgid;
			return KLOCK_SIGHAND;
		}
	} else if ((flags & (KLOCK_READ | KLOCK_WRITE)) && !(flags & (KLOCK_PERCPU | KLOCK_RT))) {
		__u64 inode = lock - bpf_core_field_offset(struct inode, i_rwsem);
		__u64 mm = (__u64)me->mm;

		if (mm && lock == mm + bpf_core_field_offset(struct mm_struct, mmap_lock)) {
			*ret_of = me->tgid;
			return KLOCK_MMAP_LOCK;
		}
		if (is_inode(inode)) {
			*ret_of = read_word(inode + bpf_core_field_offset(struct inode, i_ino));
			return KLOCK_INODE;
		}
	}
	return KLOCK_ANY;
}

/* Sends the sums of a row, and clears them. */
static __noinline int klocks_tell(struct ring_head *r, struct klocks_row *row, __u64 ts)
{
	struct pr_klocks *rec;
	struct emit e;

	rec = emit_begin(&e, r, PR_KLOCKS, sizeof(*rec), ts);
	if (rec) {
		rec->tid = row->tid;
		rec->pid = row->pid;
		rec->addr = row->addr;
		rec->of = row->of;
		rec->flags = row->flags;
		rec->what = row->what;
		rec->sum = row->sum;
		emit_end(&e);
	} else {
		/* emit_begin() has counted one. */
		__u64 n = row->sum.n[0] + row->sum.n[1] + row->sum.n[2] + row->sum.n[3];

		__sync_fetch_and_add(&r->lost[PR_KLOCKS], n - 1);
	}
	__builtin_memset(&row->sum, 0, sizeof(row->sum));
	row->since = 0;
	return 0;
}

#endif
