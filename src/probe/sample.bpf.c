// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/* One sample of what runs, at each tick of a CPU's sampling clock. */
#include "probe/lib/emit.bpf.h"
#include "probe/lib/stack.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

static __always_inline int on_sample(struct bpf_perf_event_data *ctx, const bool guess)
{
	__u32 area = 0;
	struct emit e;
	__u64 ts, id, kstack = 0, ustack = 0;
	struct pr_sample *rec;
	struct ring_head *r;
	struct scratch *s;

	if (!armed)
		return 0;
	id = bpf_get_current_pid_tgid();
	if (!(__u32)id || !in_scope((__u32)id))
		return 0;
	r = ring_mine();
	if (!r)
		return 0;
	ts = bpf_ktime_get_ns();
	s = scratch_get(r, &area);
	if (s) {
		/* A sample in user mode has no kernel stack: that is no loss. */
		long bytes = bpf_get_stack(ctx, s->ip, STACK_BYTES, 0);

		kstack = stack_send(area, bytes < 0 ? 0 : (__u32)bytes / 8, 0, ts);
		ustack = stack_user(ctx, r, s, area, ts, guess);
	}
	scratch_put(r);
	rec = emit_begin(&e, r, PR_SAMPLE, sizeof(*rec), ts);
	if (rec) {
		rec->tid = (__u32)id;
		rec->pid = id >> 32;
		rec->kstack = kstack;
		rec->ustack = ustack;
		emit_end(&e);
	}
	/* A sample takes so long that timing each one adds little. */
	fuse_look(r, ts, 1);
	return 0;
}

SEC("?perf_event")
int thaw_sample(struct bpf_perf_event_data *ctx)
{
	return on_sample(ctx, true);
}

/* Without guesses: see probe/lib/unwind.bpf.h. */
SEC("?perf_event")
int thaw_sample_only(struct bpf_perf_event_data *ctx)
{
	return on_sample(ctx, false);
}
