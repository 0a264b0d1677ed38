// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * Two programs that emit into the same ring through the probes' own emit path: one at every switch,
 * and one that a hardware breakpoint on the ring's `prod` word runs in the middle of the first
 * one's reservation. A breakpoint in kernel mode is an NMI-class interruption, whatever the
 * interrupt flag.
 */
#include "probe/lib/emit.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define CPUS_MAX 256
__u64 ring_addr[CPUS_MAX];
__u64 outer_tries, nested_tries; /* each makes a record or counts a loss */
__u64 outer_made, nested_made;
__u64 nested_ns_max, nested_ns_sum, outer_ns_max;
__u64 nested_hist[64]; /* by the logarithm of the nanoseconds */

struct test_rec {
	struct pr_hdr h;
	__u64 nested;
	__u64 seq;
};

static __always_inline bool emit_test(struct ring_head *r, __u64 nested, __u64 *seq, __u64 ts)
{
	struct emit e;
	struct test_rec *rec = emit_begin(&e, r, PR_TEST, sizeof(*rec), ts);

	if (!rec)
		return false;
	rec->nested = nested;
	rec->seq = __sync_fetch_and_add(seq, 1);
	emit_end(&e);
	return true;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(outer, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct ring_head *r = ring_mine();
	__u64 ts, took;

	if (!r || cpu >= CPUS_MAX)
		return 0;
	ring_addr[cpu] = (__u64)r;
	if (!armed)
		return 0;
	__sync_fetch_and_add(&outer_tries, 1);
	ts = bpf_ktime_get_ns();
	emit_test(r, 0, &outer_made, ts);
	took = bpf_ktime_get_ns() - ts;
	if (took > outer_ns_max)
		outer_ns_max = took;
	return 0;
}

SEC("perf_event")
int nested(struct bpf_perf_event_data *ctx)
{
	struct ring_head *r = ring_mine();
	__u64 ts = bpf_ktime_get_ns(), took;
	__u32 log = 0;

	if (!r || !armed)
		return 0;
	__sync_fetch_and_add(&nested_tries, 1);
	emit_test(r, 1, &nested_made, ts);
	took = bpf_ktime_get_ns() - ts;
	__sync_fetch_and_add(&nested_ns_sum, took);
	if (took > nested_ns_max)
		nested_ns_max = took;
	while (log < 63 && took >> log)
		log++;
	__sync_fetch_and_add(&nested_hist[log & 63], 1);
	return 0;
}
