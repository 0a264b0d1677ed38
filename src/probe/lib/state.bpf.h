/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the probes share: settings fixed at load time, the armed flag, the filter, the hints, and
 * the maps. Defined in state.bpf.c. Array maps and global variables only: a lookup in them takes no
 * lock.
 */
#ifndef THAW_PROBE_STATE_H
#define THAW_PROBE_STATE_H

#include "probe/lib/kernel.bpf.h"
#include "wire/probe.h"
#include "wire/ring.h"
#include "wire/state.h"
#define UNWIND_READ(ctx, addr, ret) bpf_probe_read_user((ret), 8, (void *)(addr))
#define UNWIND_RETURN(ctx, pc) return_address(pc)
__noinline int return_address(__u64 pc);
#include "arch/unwind.h"

/* Does the code before `pc` end with a call? */
__noinline __weak int return_address(__u64 pc)
{
	__u64 code;

	return !UNWIND_READ(NULL, pc - 8, &code) && unwind_after_call(code);
}

/* Settings (.rodata): to the verifier they are constants. */
extern const volatile __u64 ring_size;
extern const volatile __u32 ring_salt;
extern const volatile __u64 min_wait_ns;
extern const volatile __u64 cgroup_id;
extern const volatile __u32 cgroup_level;
extern const volatile __u64 preempt_count_off; /* see compat.bpf.h */
extern const volatile __u64 runqueues_off;
extern const volatile bool scope_all;
extern const volatile bool scope_inherit;
extern const volatile bool waits_at_exit_tp;
extern const volatile bool user_stacks;
extern const volatile bool user_reads; /* off: no program reads user memory by itself */

/* Every program reads this first. */
extern __u32 armed;
extern struct fuse fuse;
/* Set by the collector when stacks of waits cost too much. Read only where one would be taken. */
extern __u32 no_wait_stacks;
/* Part of every stack's id: the collector changes it to have all stacks sent again. */
extern __u32 epoch;

extern __u64 tid_bits[TID_WORDS];
extern struct hint hints[HINT_SLOTS];
extern struct klock_hint klocks[HINT_SLOTS];
extern struct klocks_row klocks_rows[KLOCKS_SLOTS];

struct scratch {
	__u64 ip[PR_FRAMES_MAX + 1];
	struct memo_frame frame[MEMO_FRAMES]; /* see memo.bpf.h */
};

struct rings_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* one a CPU; set at load */
	__type(key, __u32);
	__uint(value_size, RING_HEAD + (64u << 20) + RING_SLACK); /* set at load */
};
extern struct rings_map rings SEC(".maps");

struct sent_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_SLOTS); /* times the number of CPUs; set at load */
	__type(key, __u32);
	__type(value, __u64);
};
extern struct sent_map sent SEC(".maps");

struct memos_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MEMO_SLOTS); /* times the number of CPUs; set at load */
	__type(key, __u32);
	__type(value, struct memo);
};
extern struct memos_map memos SEC(".maps");

struct scratch_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, NEST_MAX);
	__type(key, __u32);
	__type(value, struct scratch);
};
extern struct scratch_map scratches SEC(".maps");

/* Unwind tables: see wire/probe.h. The sizes are powers of two, set at load. */
#define BIG_ARRAY(name, type_)                                                                     \
	struct name##_map {                                                                        \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                  \
		__uint(map_flags, BPF_F_MMAPABLE);                                                 \
		__uint(max_entries, 1);                                                            \
		__type(key, __u32);                                                                \
		__uint(value_size, sizeof(type_) * 64);                                            \
	};                                                                                         \
	extern struct name##_map name SEC(".maps")
BIG_ARRAY(unwind_mappings, struct unwind_mapping);
BIG_ARRAY(unwind_procs, struct unwind_proc);
BIG_ARRAY(unwind_spaces, struct unwind_space);
BIG_ARRAY(unwind_objects, struct unwind_object);
/*
 * The shelves. A lookup in an array of arrays is a bounds check and a load, like one in an array;
 * the collector adds shelves and never removes one.
 */
struct unwind_shelf {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__uint(value_size, SHELF_WORDS * 4);
};
struct unwind_shelves_map {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SHELVES_MAX);
	__type(key, __u32);
	__array(values, struct unwind_shelf);
};
extern struct unwind_shelves_map unwind_shelves SEC(".maps");
/* Seconds, as the collector counts them: which tables have been used lately. */
extern __u32 unwind_now;
extern const volatile __u32 mappings_mask, procs_mask;
extern const volatile bool unwind_tables; /* else: frame pointers */

/* 0, or an error with zeroes in `to`. */
static __always_inline long user_read(void *to, __u32 size, __u64 from)
{
	if (user_reads)
		return bpf_probe_read_user(to, size, (void *)from);
	__builtin_memset(to, 0, size);
	return -1;
}

static __always_inline bool in_scope(__u32 tid)
{
	return scope_all || (tid_bits[(tid / 64) % TID_WORDS] >> (tid % 64) & 1);
}

static __always_inline void scope_add(__u32 tid)
{
	__sync_fetch_and_or(&tid_bits[(tid / 64) % TID_WORDS], 1ull << (tid % 64));
}

static __always_inline void scope_del(__u32 tid)
{
	__sync_fetch_and_and(&tid_bits[(tid / 64) % TID_WORDS], ~(1ull << (tid % 64)));
}

static __always_inline struct hint *hint_of(__u32 tid)
{
	return &hints[THREAD_SLOT(tid, HINT_SLOTS)];
}

static __always_inline struct klock_hint *klock_of(__u32 tid)
{
	return &klocks[THREAD_SLOT(tid, HINT_SLOTS)];
}

static __always_inline struct klocks_row *klocks_row_of(__u32 tid)
{
	return &klocks_rows[THREAD_SLOT(tid, KLOCKS_SLOTS)];
}

#endif
