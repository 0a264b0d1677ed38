// SPDX-License-Identifier: MIT
/*
 * Who runs on a CPU: from the tracepoints of the scheduler, which cover a whole CPU and say in
 * which state a thread leaves it, or from the kernel's switch records, which say only whether it
 * left against its will.
 */
#include "base/cursor.h"
#include "import/perfdata.h"
#include "wire/state.h"

/* common_flags of a tracepoint: where the CPU was. */
enum { FLAG_HARDIRQ = 0x08, FLAG_SOFTIRQ = 0x10, FLAG_NMI = 0x40 };

void pd_emit_switch(struct pd_import *i, uint64_t ts, uint32_t cpu, uint32_t prev, uint32_t next,
		    uint32_t state)
{
	struct event ev = {.ts = ts, .kind = EV_SWITCH, .cpu = (uint16_t)cpu};

	if (prev == PD_NOBODY)
		state |= STATE_PREV_OUT;
	if (next == PD_NOBODY)
		state |= STATE_NEXT_OUT;
	ev.switch_ = (struct ev_switch_){.prev = prev, .next = next, .state = state};
	sink_put(&i->s, &ev);
}

/* The thread is back: writes where it has waited, if that is known. */
static void comes_back(struct pd_import *i, struct pd_thread *t, uint32_t cpu, uint64_t ts)
{
	struct event ev = {.ts = ts,
			   .kind = EV_WAIT,
			   .cpu = (uint16_t)cpu,
			   .wait = {.tid = t->tid, .kstack = t->kstack, .ustack = t->ustack}};

	if (t->waiting && (t->kstack || t->ustack))
		sink_put(&i->s, &ev);
	t->waiting = false;
	t->kstack = t->ustack = 0;
}

/* ---- tracepoints ---- */

static uint32_t state_of(const struct trace_event *e, uint64_t bits)
{
	uint32_t state = 0;

	if (e->preempted && bits & e->preempted)
		return STATE_PREEMPTED;
	for (unsigned b = 0; b < 32; b++) {
		if (!(bits >> b & 1))
			continue;
		switch (e->letters[b]) {
		case 'S':
			state |= STATE_INTERRUPTIBLE;
			break;
		case 'D':
			state |= STATE_UNINTERRUPTIBLE;
			break;
		case 'T':
			state |= STATE_STOPPED;
			break;
		case 't':
			state |= STATE_TRACED;
			break;
		case 'X':
		case 'Z':
		case 'x':
			state |= STATE_DEAD;
			break;
		case 'P':
			state |= STATE_PARKED;
			break;
		case 'I':
			state |= STATE_UNINTERRUPTIBLE | STATE_NOLOAD;
			break;
		}
	}
	return state ? state : bits ? STATE_INTERRUPTIBLE : 0;
}

static void on_switch(struct pd_import *i, const struct trace_event *e, const struct perf_record *r,
		      uint16_t cpu, uint64_t ts)
{
	uint64_t prev, next, bits;
	struct pd_thread *out, *in;
	uint32_t state;
	char name[17];

	if (!trace_number(e, TRACE_PREV_PID, r->sample.raw, r->sample.n_raw, &prev) ||
	    !trace_number(e, TRACE_NEXT_PID, r->sample.raw, r->sample.n_raw, &next) ||
	    !trace_number(e, TRACE_PREV_STATE, r->sample.raw, r->sample.n_raw, &bits)) {
		i->damaged++;
		return;
	}
	prev = (uint32_t)prev;
	next = (uint32_t)next;
	state = state_of(e, bits);
	if (prev) {
		out = pd_thread(i, (uint32_t)prev, r->tid == prev ? r->pid : 0);
		trace_name(e, TRACE_PREV_COMM, r->sample.raw, r->sample.n_raw, name);
		if (!out->comm[0] && !out->told)
			memcpy(out->comm, name, sizeof(name));
		if (r->tid == prev)
			pd_tell_thread(i, (uint32_t)prev, r->pid, ts);
		out->waiting = state && !(state & (STATE_PREEMPTED | STATE_DEAD));
		if (out->waiting && r->sample.chain)
			pd_stacks(i, r, &out->kstack, &out->ustack);
		if (state & STATE_DEAD && !out->dying) {
			out->dying = true;
			pd_bury(i, out);
		}
	}
	pd_emit_switch(i, ts, cpu, (uint32_t)prev, (uint32_t)next, state);
	pd_cpu(i, cpu)->tid = (uint32_t)next;
	if (next) {
		in = pd_thread(i, (uint32_t)next, 0);
		trace_name(e, TRACE_NEXT_COMM, r->sample.raw, r->sample.n_raw, name);
		pd_name_thread(i, in, name, ts);
		comes_back(i, in, cpu, ts);
	}
}

static void on_waking(struct pd_import *i, const struct trace_event *e, const struct perf_record *r,
		      uint16_t cpu, uint64_t ts)
{
	struct event ev = {.ts = ts, .kind = EV_WAKING, .cpu = cpu};
	uint64_t wakee, flags = 0;
	char name[17];

	if (!trace_number(e, TRACE_PID, r->sample.raw, r->sample.n_raw, &wakee)) {
		i->damaged++;
		return;
	}
	if (r->tid && r->tid != PD_NOBODY)
		pd_tell_thread(i, r->tid, r->pid, ts);
	ev.waking.wakee = (uint32_t)wakee;
	ev.waking.waker = r->tid;
	ev.waking.ctx = WAKE_UNKNOWN;
	if (trace_number(e, TRACE_COMMON_FLAGS, r->sample.raw, r->sample.n_raw, &flags))
		ev.waking.ctx = flags & FLAG_NMI       ? WAKE_NMI
				: flags & FLAG_HARDIRQ ? WAKE_HARDIRQ
				: flags & FLAG_SOFTIRQ ? WAKE_SOFTIRQ
						       : WAKE_TASK;
	if (r->sample.chain)
		pd_stacks(i, r, &ev.waking.kstack, &ev.waking.ustack);
	sink_put(&i->s, &ev);
	trace_name(e, TRACE_COMM, r->sample.raw, r->sample.n_raw, name);
	if (wakee)
		pd_name_thread(i, pd_thread(i, (uint32_t)wakee, 0), name, ts);
}

static void import_switch_on_fork(struct pd_import *i, const struct trace_event *e,
				  const struct perf_record *r, uint16_t cpu, uint64_t ts)
{
	struct event ev = {.ts = ts, .kind = EV_FORK, .cpu = cpu};
	uint64_t parent, child;
	struct pd_thread *t;
	char name[17];

	if (!trace_number(e, TRACE_PARENT_PID, r->sample.raw, r->sample.n_raw, &parent) ||
	    !trace_number(e, TRACE_CHILD_PID, r->sample.raw, r->sample.n_raw, &child)) {
		i->damaged++;
		return;
	}
	/* The kernel's own record says more: it has the process. */
	if (i->fork_records || !(uint32_t)child)
		return;
	t = pd_thread(i, (uint32_t)child, 0);
	trace_name(e, TRACE_CHILD_COMM, r->sample.raw, r->sample.n_raw, name);
	memcpy(t->comm, name, sizeof(name));
	ev.fork = (struct ev_fork){
		.tid = (uint32_t)child, .parent = (uint32_t)parent, .name = t->comm};
	sink_put(&i->s, &ev);
}

void pd_sched(struct pd_import *i, const struct pd_attr *a, const struct perf_record *r,
	      uint64_t ts)
{
	uint16_t cpu = pd_cpu_number(r->cpu);

	if (!a->format || !r->sample.raw)
		i->damaged++;
	else if (a->role == PD_SWITCH)
		on_switch(i, a->format, r, cpu, ts);
	else if (a->role == PD_WAKING)
		on_waking(i, a->format, r, cpu, ts);
	else if (a->role == PD_FORK)
		import_switch_on_fork(i, a->format, r, cpu, ts);
}

/* ---- records ---- */

static uint32_t perfdata_switch_leaves(struct pd_import *i, uint32_t tid, bool preempt)
{
	struct pd_thread *t;

	if (!tid || tid == PD_NOBODY)
		return preempt ? STATE_PREEMPTED : STATE_INTERRUPTIBLE;
	t = pd_thread(i, tid, 0);
	t->waiting = !preempt && !t->dying;
	return t->dying ? STATE_DEAD : preempt ? STATE_PREEMPTED : STATE_INTERRUPTIBLE;
}

static void out_of(struct pd_import *i, uint32_t prev, uint32_t next, bool preempt, uint16_t cpu,
		   uint64_t ts)
{
	struct pd_cpu *now = pd_cpu(i, cpu);
	uint32_t state;

	if (prev == PD_NOBODY && now->tid != PD_NOBODY) {
		/* The thread that ended has no tid any more. */
		prev = now->tid;
		state = STATE_DEAD;
	} else {
		state = perfdata_switch_leaves(i, prev, preempt);
	}
	pd_emit_switch(i, ts, cpu, prev, next, state);
	now->tid = next;
}

static void into(struct pd_import *i, uint32_t next, uint32_t other, bool wide, uint16_t cpu,
		 uint64_t ts)
{
	struct pd_cpu *now = pd_cpu(i, cpu);
	uint32_t prev = PD_NOBODY, state = 0;

	/*
	 * The record of the thread that left has reported this switch already, unless there is
	 * none.
	 */
	if (wide && now->tid == next)
		return;
	if (wide && now->tid != PD_NOBODY) {
		prev = other;
		if (prev != now->tid)
			pd_emit_switch(i, ts, cpu, now->tid, prev,
				       perfdata_switch_leaves(i, now->tid, false));
		state = perfdata_switch_leaves(i, prev, false);
	}
	pd_emit_switch(i, ts, cpu, prev, next, state);
	now->tid = next;
}

void pd_switched(struct pd_import *i, const struct perf_record *r, uint64_t ts)
{
	const struct perf_switch *s = &r->switched;
	uint16_t cpu = pd_cpu_of(i, r->cpu, r->tid);
	uint32_t other = s->wide ? s->other_tid : PD_NOBODY;

	i->wide |= s->wide;
	pd_tell_thread(i, r->tid, r->pid, ts);
	if (s->out)
		out_of(i, r->tid, other, s->preempt, cpu, ts);
	else
		into(i, r->tid, other, s->wide, cpu, ts);
}
