// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The kernel's ring buffer, written to at the switches of two threads on one CPU, and once more
 * from a breakpoint on its position, which is written with its lock held. It takes a lock on
 * purpose, and never runs in a recording: only `thaw doctor --probe` loads it.
 *
 * The tries are limited, and so is their time in all: at either limit, both programs return at once
 * from then on.
 */
#include "probe/lib/kernel.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define RECORD_BYTES 64

struct bpf_map {
	__u32 id;
} __attribute__((preserve_access_index));

struct bpf_ringbuf {
	unsigned long producer_pos;
} __attribute__((preserve_access_index));

struct bpf_ringbuf_map {
	struct bpf_ringbuf *rb;
} __attribute__((preserve_access_index));

struct bpf_iter__bpf_map {
	void *meta;
	struct bpf_map *map;
} __attribute__((preserve_access_index));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 10);
} ring SEC(".maps");

const volatile int ours = 0; /* process */
__u32 wanted_id = 0;	     /* of the map that is looked for */
const volatile __u64 tries_max = 0, budget_ns = 0;

__u32 armed = 0;
__u64 pos_addr = 0; /* of producer_pos */
__u64 tries = 0, failed = 0, sum_ns = 0, worst_ns = 0;
__u64 hist[64] = {};

SEC("iter/bpf_map")
int find_ring(struct bpf_iter__bpf_map *ctx)
{
	struct bpf_map *map = ctx->map;
	struct bpf_ringbuf *rb = NULL;

	if (!map || map->id != wanted_id)
		return 0;
	bpf_probe_read_kernel(&rb, sizeof(rb),
			      (void *)map + bpf_core_field_offset(struct bpf_ringbuf_map, rb));
	if (rb)
		pos_addr = (__u64)rb + bpf_core_field_offset(struct bpf_ringbuf, producer_pos);
	return 0;
}

static __always_inline bool write_one(void)
{
	void *rec = bpf_ringbuf_reserve(&ring, RECORD_BYTES, 0);

	if (rec)
		bpf_ringbuf_discard(rec, BPF_RB_NO_WAKEUP);
	return rec;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (armed && prev->tgid == ours && next->tgid == ours)
		write_one();
	return 0;
}

SEC("perf_event")
int on_breakpoint(struct bpf_perf_event_data *ctx)
{
	__u64 began, took;
	__u32 log = 0;

	if (!armed)
		return 0;
	if (tries >= tries_max || sum_ns >= budget_ns) {
		armed = 0;
		return 0;
	}
	tries++;
	began = bpf_ktime_get_ns();
	if (!write_one())
		failed++;
	took = bpf_ktime_get_ns() - began;
	sum_ns += took;
	if (took > worst_ns)
		worst_ns = took;
	while (log < 63 && took >> log)
		log++;
	hist[log & 63]++;
	return 0;
}
