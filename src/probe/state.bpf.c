// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* The definitions of what lib/state.bpf.h declares. */
#include "probe/lib/state.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u64 ring_size = 64u << 20;
const volatile __u32 ring_salt = 0;
const volatile __u64 min_wait_ns = 50000;
const volatile __u64 cgroup_id = 0;
const volatile __u32 cgroup_level = 0;
const volatile __u64 preempt_count_off = 0;
const volatile __u64 runqueues_off = 0;
const volatile bool scope_all = false;
const volatile bool scope_inherit = true;
const volatile bool waits_at_exit_tp = false;
const volatile bool user_stacks = true;
const volatile bool user_reads = true;

__u32 armed = 0;
struct fuse fuse;
__u32 epoch = 0;
__u32 no_wait_stacks = 0;
__u64 tid_bits[TID_WORDS];
struct hint hints[HINT_SLOTS];
struct klock_hint klocks[HINT_SLOTS];
struct klocks_row klocks_rows[KLOCKS_SLOTS];

const volatile __u32 mappings_mask = 63, procs_mask = 63;
const volatile bool unwind_tables = false;

struct unwind_mappings_map unwind_mappings SEC(".maps");
struct unwind_procs_map unwind_procs SEC(".maps");
struct unwind_spaces_map unwind_spaces SEC(".maps");
struct unwind_objects_map unwind_objects SEC(".maps");

struct unwind_shelves_map unwind_shelves SEC(".maps");
__u32 unwind_now = 0;

struct rings_map rings SEC(".maps");
struct sent_map sent SEC(".maps");
struct memos_map memos SEC(".maps");
struct scratch_map scratches SEC(".maps");
