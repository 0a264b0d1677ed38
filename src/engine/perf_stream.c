// SPDX-License-Identifier: MIT
#include "engine/perf_stream.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/vec.h"
#include "wire/ring.h"
#include "wire/state.h"

/* Stands for any thread that is not recorded, and for one that is already reaped. */
#define TID_OTHER UINT32_MAX

struct seen_thread {
	uint32_t set; /* the set whose events count, + 1; 0: none yet */
	bool dying;   /* its end is recorded; its last switch is not */
	bool doubled; /* a second set exists, whose records are ignored */
	bool waiting; /* since off_ts */
	bool sampled; /* the stacks belong to the next switch, or to the wait */
	uint64_t off_ts;
	uint64_t kstack, ustack;
};

struct cpu_now {
	uint32_t pid, tid; /* TID_OTHER: not known, or not recorded */
	uint64_t last_ts;
	uint64_t throttled_at;
};

struct perf_stream {
	struct perf_setup *setup;
	const struct perf_stream_ops *ops;
	void *ctx;
	uint64_t begin;
	struct map threads; /* tid -> struct seen_thread */
	VEC(struct cpu_now) cpus;
	uint64_t throttled;
	struct pr_copy copy;
};

struct perf_stream *perf_stream_new(struct perf_setup *setup, const struct perf_stream_ops *ops,
				    void *ctx)
{
	struct perf_stream *s = mem_zalloc(sizeof(*s));

	s->setup = setup;
	s->ops = ops;
	s->ctx = ctx;
	s->begin = UINT64_MAX;
	return s;
}

void perf_stream_free(struct perf_stream *s)
{
	struct map_slot *slot;

	if (!s)
		return;
	for (size_t i = 0; map_next(&s->threads, &i, &slot);)
		free((void *)(uintptr_t)slot->val);
	map_done(&s->threads);
	vec_done(&s->cpus);
	free(s);
}

void perf_stream_begin(struct perf_stream *s, uint64_t ts)
{
	s->begin = ts;
}

bool perf_stream_begun(const struct perf_stream *s, uint64_t ts)
{
	return ts >= s->begin;
}

uint64_t perf_stream_throttled(const struct perf_stream *s)
{
	return s->throttled;
}

static struct seen_thread *seen(struct perf_stream *s, uint32_t tid)
{
	bool fresh;
	uint64_t *slot = map_put(&s->threads, tid, &fresh);

	if (fresh)
		*slot = (uintptr_t)mem_zalloc(sizeof(struct seen_thread));
	return (struct seen_thread *)(uintptr_t)*slot;
}

static void perf_stream_forget(struct perf_stream *s, uint32_t tid)
{
	uint64_t *slot = map_get(&s->threads, tid);

	if (slot) {
		free((void *)(uintptr_t)*slot);
		map_del(&s->threads, tid);
	}
	if (s->setup->filter)
		map_del(&s->setup->members, tid);
}

static struct cpu_now *now_on(struct perf_stream *s, uint16_t cpu)
{
	while (s->cpus.n <= cpu)
		vec_push(&s->cpus, (struct cpu_now){.tid = TID_OTHER, .last_ts = s->begin});
	return &s->cpus.v[cpu];
}

/* ---- what counts ---- */

static bool member(const struct perf_stream *s, uint32_t tid)
{
	return tid != TID_OTHER && (!s->setup->filter || map_get(&s->setup->members, tid));
}

/* False for a record of the thread's second set of events. */
static bool perf_stream_counts(struct perf_stream *s, const struct perf_record *r)
{
	uint64_t *id;
	struct seen_thread *t;
	uint32_t set;

	if (s->setup->wide)
		return true;
	id = map_get(&s->setup->ids, r->id);
	if (!id || r->tid == TID_OTHER)
		return false;
	set = (uint32_t)(*id >> 1) + 1;
	t = seen(s, r->tid);
	if (!t->set)
		t->set = set;
	t->doubled |= t->set != set;
	return t->set == set;
}

static bool at_switch(const struct perf_stream *s, uint64_t id)
{
	uint64_t *of = map_get(&s->setup->ids, id);

	return of && (*of & PERF_AT_SWITCH);
}

/* ---- records of the probes ---- */

static void perf_stream_emit(struct perf_stream *s, struct pr_hdr *h, uint32_t kind, uint32_t len,
			     uint64_t ts, uint16_t cpu)
{
	struct record rec = {.ts = ts, .data = h, .len = len, .cpu = cpu, .type = RECORD_PROBE};

	h->hdr = ring_header(0, 0, kind, len);
	h->ts = ts;
	s->ops->probe(s->ctx, &rec);
}

static void emit_switch(struct perf_stream *s, uint32_t prev, uint32_t next, uint32_t state,
			uint64_t ts, uint16_t cpu)
{
	struct pr_switch sw = {.prev = prev, .next = next, .state = state};

	if (prev && !member(s, prev))
		sw.state |= STATE_PREV_OUT;
	if (next && !member(s, next))
		sw.state |= STATE_NEXT_OUT;
	if ((!prev || sw.state & STATE_PREV_OUT) && (!next || sw.state & STATE_NEXT_OUT) &&
	    s->setup->filter)
		return;
	perf_stream_emit(s, &sw.h, PR_SWITCH, sizeof(sw), ts, cpu);
}

static void emit_task(struct perf_stream *s, uint32_t kind, struct pr_task *task, uint64_t ts,
		      uint16_t cpu)
{
	perf_stream_emit(s, &task->h, kind, sizeof(*task), ts, cpu);
}

/* ---- stacks ---- */

void perf_stream_copy(const struct perf_record *r, struct pr_copy *out)
{
	const struct perf_sample *p = &r->sample;
	size_t at = p->regs.sp & (COPY_CHUNK - 1), room = COPY_MAX - at;
	size_t n = (p->stack_len < room ? p->stack_len : room) & ~(size_t)7;
	size_t chunks = n ? (at + n + COPY_CHUNK - 1) / COPY_CHUNK : 0;

	memset(out, 0, PR_COPY_HEAD);
	out->h.ts = r->ts;
	out->h.hdr = ring_header(0, 0, PR_COPY, (uint32_t)(PR_COPY_HEAD + (n ? at + n : 0)));
	out->pid = r->pid;
	out->have = chunks < 64 ? (1ull << chunks) - 1 : ~0ull;
	out->pc = p->regs.ip;
	out->sp = p->regs.sp;
	out->bp = p->regs.bp;
	out->di = p->regs.di;
	out->bx = p->regs.bx;
	if (!n)
		return;
	memset(out->stack, 0, at);
	memcpy(out->stack + at, p->stack, n);
}

static uint64_t user_stack(struct perf_stream *s, const struct perf_record *r)
{
	if (!r->sample.user)
		return 0;
	perf_stream_copy(r, &s->copy);
	return s->ops->walk(s->ctx, &s->copy);
}

static uint64_t kernel_stack(struct perf_stream *s, const struct perf_record *r, uint16_t cpu)
{
	struct pr_stack st = {0};

	st.n = (uint32_t)perf_chain(r, true, (uint64_t *)st.ip, PR_FRAMES_MAX);
	if (!st.n)
		return 0;
	st.id = map_hash_bytes(st.ip, st.n * sizeof(st.ip[0])) | 1;
	perf_stream_emit(s, &st.h, PR_STACK, PR_STACK_LEN(st.n), r->ts, cpu);
	return st.id;
}

static void perf_stream_on_sample(struct perf_stream *s, const struct perf_record *r, uint16_t cpu)
{
	struct pr_sample sample = {.tid = r->tid, .pid = r->pid};
	struct seen_thread *t;

	if (!r->tid || r->tid == TID_OTHER || (s->setup->no_samples && !at_switch(s, r->id)))
		return;
	sample.kstack = kernel_stack(s, r, cpu);
	sample.ustack = user_stack(s, r);
	if (!at_switch(s, r->id)) {
		perf_stream_emit(s, &sample.h, PR_SAMPLE, sizeof(sample), r->ts, cpu);
		return;
	}
	t = seen(s, r->tid);
	t->sampled = true;
	t->kstack = sample.kstack;
	t->ustack = sample.ustack;
}

/* ---- switches ---- */

static uint32_t perf_stream_leaves(struct perf_stream *s, uint32_t tid, bool preempt, uint64_t ts)
{
	struct seen_thread *t;

	if (!tid || tid == TID_OTHER || !member(s, tid))
		return preempt ? STATE_PREEMPTED : STATE_INTERRUPTIBLE;
	t = seen(s, tid);
	if (t->dying)
		return STATE_DEAD;
	t->waiting = !preempt;
	t->off_ts = ts;
	return preempt ? STATE_PREEMPTED : STATE_INTERRUPTIBLE;
}

/* A thread is back: emits the stacks of its wait, if known and if it was long enough. */
static void comes(struct perf_stream *s, uint32_t tid, uint32_t pid, uint64_t ts, uint16_t cpu)
{
	struct seen_thread *t;

	if (!tid || tid == TID_OTHER || !member(s, tid))
		return;
	t = seen(s, tid);
	if (t->waiting && t->sampled && ts - t->off_ts >= s->setup->min_wait_ns) {
		struct pr_sample wait = {
			.tid = tid, .pid = pid, .kstack = t->kstack, .ustack = t->ustack};

		perf_stream_emit(s, &wait.h, PR_WAIT, sizeof(wait), ts, cpu);
	}
	t->waiting = t->sampled = false;
}

static void now_runs(struct cpu_now *c, uint32_t pid, uint32_t tid)
{
	c->pid = pid;
	c->tid = tid;
}

static void on_out(struct perf_stream *s, const struct perf_record *r, uint16_t cpu)
{
	struct cpu_now *c = now_on(s, cpu);
	const struct perf_switch *sw = &r->switched;
	uint32_t prev = r->tid, next = sw->wide ? sw->other_tid : TID_OTHER, state;

	if (prev == TID_OTHER && c->tid != TID_OTHER) {
		/* The thread is reaped already, and has lost its tid. */
		prev = c->tid;
		state = STATE_DEAD;
	} else {
		state = perf_stream_leaves(s, prev, sw->preempt, r->ts);
	}
	emit_switch(s, prev, next, state, r->ts, cpu);
	if (state == STATE_DEAD)
		perf_stream_forget(s, prev);
	now_runs(c, sw->other_pid, next);
	if (sw->wide)
		comes(s, next, sw->other_pid, r->ts, cpu);
}

static void on_in(struct perf_stream *s, const struct perf_record *r, uint16_t cpu)
{
	struct cpu_now *c = now_on(s, cpu);

	uint32_t prev = TID_OTHER, state = 0;

	/* The record of the leaving thread has said this already, but some threads leave none. */
	if (r->switched.wide && c->tid == r->tid)
		return;
	if (r->switched.wide && c->tid != TID_OTHER) {
		prev = r->switched.other_tid;
		if (prev != c->tid)
			emit_switch(s, c->tid, prev, perf_stream_leaves(s, c->tid, false, r->ts),
				    r->ts, cpu);
		state = perf_stream_leaves(s, prev, false, r->ts);
	}
	emit_switch(s, prev, r->tid, state, r->ts, cpu);
	comes(s, r->tid, r->pid, r->ts, cpu);
	now_runs(c, r->pid, r->tid);
}

/* ---- threads ---- */

static void perf_stream_on_fork(struct perf_stream *s, const struct perf_record *r, uint16_t cpu)
{
	struct pr_task task = {.tid = r->task.tid,
			       .pid = r->task.pid,
			       .other = r->task.ptid,
			       .code = r->task.ppid};

	if (!s->setup->inherit || !member(s, r->task.ptid))
		return;
	perf_stream_forget(s, task.tid); /* another thread had the tid before */
	if (s->setup->filter)
		map_put(&s->setup->members, task.tid, NULL);
	emit_task(s, PR_FORK, &task, r->ts, cpu);
}

static void on_end(struct perf_stream *s, const struct perf_record *r, uint16_t cpu)
{
	struct pr_task task = {.tid = r->task.tid, .pid = r->task.pid};

	if (!member(s, task.tid))
		return;
	emit_task(s, PR_EXIT, &task, r->ts, cpu);
	if (s->setup->wide) {
		seen(s, task.tid)->dying = true;
		return;
	}
	/* Its events end here, with the thread still on its CPU. */
	emit_switch(s, task.tid, TID_OTHER, STATE_DEAD, r->ts, cpu);
	/* The second set has yet to report the same end. */
	if (!seen(s, task.tid)->doubled)
		perf_stream_forget(s, task.tid);
	now_runs(now_on(s, cpu), 0, TID_OTHER);
}

static void on_comm(struct perf_stream *s, const struct perf_record *r, uint16_t cpu)
{
	struct cpu_now *c = now_on(s, cpu);
	struct pr_task task = {.tid = r->comm.tid, .pid = r->comm.pid, .other = r->comm.tid};
	bool leader_gone;

	memcpy(task.comm, r->comm.name, PR_COMM);
	/* A thread that calls exec() takes over the tid of its process's leader. */
	leader_gone =
		r->comm.exec && c->tid != TID_OTHER && c->tid != task.tid && c->pid == task.pid;
	if (leader_gone && member(s, c->tid)) {
		task.other = c->tid;
		if (s->setup->filter)
			map_put(&s->setup->members, task.tid, NULL);
		perf_stream_forget(s, c->tid);
		now_runs(c, task.pid, task.tid);
	}
	if (member(s, task.tid))
		emit_task(s, r->comm.exec ? PR_EXEC : PR_RENAME, &task, r->ts, cpu);
}

/* ---- what is missing ---- */

static void on_lost(struct perf_stream *s, const struct perf_record *r, uint16_t cpu)
{
	struct cpu_now *c = now_on(s, cpu);
	struct pr_lost lost = {.from = c->last_ts < r->ts ? c->last_ts : r->ts};

	perf_stream_emit(s, &lost.h, PR_LOST, sizeof(lost), r->ts, cpu);
	now_runs(c, 0, TID_OTHER);
}

static void on_throttle(struct perf_stream *s, const struct perf_record *r, uint16_t cpu)
{
	struct cpu_now *c = now_on(s, cpu);

	if (r->type == PERF_RECORD_THROTTLE) {
		c->throttled_at = r->ts;
		s->throttled++;
	} else if (c->throttled_at && r->ts > c->throttled_at) {
		s->throttled += (r->ts - c->throttled_at) * s->setup->freq_hz / NSEC_PER_SEC;
		c->throttled_at = 0;
	}
}

void perf_stream_record(struct perf_stream *s, const struct perf_record *r, uint16_t cpu)
{
	if (!perf_stream_begun(s, r->ts))
		return;
	switch (r->type) {
	case PERF_RECORD_SAMPLE:
		if (perf_stream_counts(s, r) && member(s, r->tid))
			perf_stream_on_sample(s, r, cpu);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		if (!perf_stream_counts(s, r))
			break;
		if (r->switched.out)
			on_out(s, r, cpu);
		else
			on_in(s, r, cpu);
		break;
	case PERF_RECORD_FORK:
		if (perf_stream_counts(s, r))
			perf_stream_on_fork(s, r, cpu);
		break;
	case PERF_RECORD_EXIT:
		if (perf_stream_counts(s, r))
			on_end(s, r, cpu);
		break;
	case PERF_RECORD_COMM:
		if (perf_stream_counts(s, r))
			on_comm(s, r, cpu);
		break;
	case PERF_RECORD_LOST:
		on_lost(s, r, cpu);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		s->throttled += r->lost;
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		on_throttle(s, r, cpu);
		break;
	}
	now_on(s, cpu)->last_ts = r->ts;
}
