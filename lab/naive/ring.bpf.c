// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * What a plain profiler does: one ring buffer of the kernel, written to at every switch, and from
 * an interrupt that no lock keeps out. In the literature that interrupt is a sample of the
 * hardware's counters; here it is a breakpoint on the ring's own position, which is written with
 * the ring's lock held: it needs no such counters, and hits every time.
 *
 * This is here to show what thaw does not do. It is run in the lab's guests only.
 */
#include "probe/lib/kernel.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define RING_BYTES (1 << 20)
#define RECORD_BYTES 64

struct bpf_map {
	__u32 id;
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
	__uint(max_entries, RING_BYTES);
} shared SEC(".maps"), own SEC(".maps");

const volatile __u32 mode = 0; /* enum of ring.c */

__u32 shared_id = 0;
__u64 ring_addr = 0;
__u64 nested = 0, nested_failed = 0, nested_sum_ns = 0, nested_max_ns = 0;
__u64 nested_hist[64] = {};
__u64 switches = 0, switch_max_ns = 0;

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch)
{
	__u64 began = bpf_ktime_get_ns(), took;
	void *rec;

	if (!ring_addr)
		return 0;
	rec = bpf_ringbuf_reserve(&shared, RECORD_BYTES, 0);
	if (rec)
		bpf_ringbuf_discard(rec, BPF_RB_NO_WAKEUP);
	took = bpf_ktime_get_ns() - began;
	__sync_fetch_and_add(&switches, 1);
	if (took > switch_max_ns)
		switch_max_ns = took;
	return 0;
}

SEC("perf_event")
int on_breakpoint(struct bpf_perf_event_data *ctx)
{
	__u64 began = bpf_ktime_get_ns(), took;
	void *rec = NULL;
	__u32 log = 0;

	if (mode == 1)
		rec = bpf_ringbuf_reserve(&own, RECORD_BYTES, 0);
	else if (mode == 2)
		rec = bpf_ringbuf_reserve(&shared, RECORD_BYTES, 0);
	took = bpf_ktime_get_ns() - began;
	if (rec)
		bpf_ringbuf_discard(rec, BPF_RB_NO_WAKEUP);
	else if (mode)
		__sync_fetch_and_add(&nested_failed, 1);
	__sync_fetch_and_add(&nested, 1);
	__sync_fetch_and_add(&nested_sum_ns, took);
	while (log < 63 && took >> log)
		log++;
	__sync_fetch_and_add(&nested_hist[log & 63], 1);
	if (took > nested_max_ns)
		nested_max_ns = took;
	return 0;
}

/* Where the ring is: the address to break on. */
SEC("iter/bpf_map")
int find_ring(struct bpf_iter__bpf_map *ctx)
{
	struct bpf_map *map = ctx->map;
	void *rb = NULL;

	if (!map || map->id != shared_id)
		return 0;
	bpf_probe_read_kernel(&rb, sizeof(rb),
			      (void *)map + bpf_core_field_offset(struct bpf_ringbuf_map, rb));
	ring_addr = (__u64)rb;
	return 0;
}
