// SPDX-License-Identifier: MIT
/*
 * Which thread is on which CPU, and what that proves.
 *
 * A switch is proof of two things: prev ran on that CPU until now, and next does from now on. Proof
 * reaches back to the last switch on that CPU, or to the end of the last loss there (cpu.since),
 * and no further. So a thread that is found running without a switch in has run since then; its
 * time before that stays as it was. But if that last switch put somebody else there, another one is
 * missing that nobody has counted: a contradiction. Then nothing is known since the thread was last
 * seen, and that time is lost.
 *
 * A thread that was on a CPU when that CPU's records went missing is out of sight: its time counts
 * as lost, until the moment from which its next event proves something.
 *
 * Invariant: cpu.cur == thread implies that the thread's open interval is RUNNING on that CPU.
 */
#include "timeline/machine.h"

struct cpu *cpu_new(struct timeline *t, uint32_t cpu)
{
	while (t->cpus.n <= cpu)
		vec_add(&t->cpus)->since = later(t->begin, t->every_edge);
	return &t->cpus.v[cpu];
}

void cpu_lose(struct timeline *t, struct cpu *c, uint64_t ts)
{
	struct thread *th = c->cur;

	t->odd++;
	if (t->not_running)
		t->not_running(t->sink_arg, th->life->since, ts);
	th->life->phase = INTERVAL_LOST;
	life_enter(t, th, INTERVAL_LOST, ts);
	c->cur = NULL;
}

void cpu_take(struct timeline *t, struct thread *th, uint32_t cpu, uint64_t ts)
{
	struct cpu *c = cpu_at(t, cpu);

	cpu_leave(t, th);
	life_enter(t, th, INTERVAL_RUNNING, ts);
	th->life->cpu = cpu;
	th->life->last_in = ts;
	c->cur = th;
	c->known = true;
	c->idle = false;
}

void cpu_found(struct timeline *t, struct thread *th, uint32_t cpu, uint64_t ts)
{
	struct life *l = th->life;
	struct cpu *c = cpu_at(t, cpu);
	uint64_t since = later(c->since, l->since);
	bool was_off = l->phase == INTERVAL_WAITING || l->phase == INTERVAL_RUNNABLE;

	if (was_off && c->known) {
		t->odd += !c->cur;
		cpu_displace(t, c, th, ts);
		l->phase = INTERVAL_LOST;
		cpu_take(t, th, cpu, ts);
		return;
	}
	cpu_displace(t, c, th, ts);
	if (life_take_back(th, c->since)) {
		struct waker pending = l->waker;

		cpu_take(t, th, cpu, l->since);
		l->waker = pending;
		return;
	}
	if (l->phase == PHASE_UNKNOWN)
		l->phase = INTERVAL_RUNNABLE;
	cpu_take(t, th, cpu, since < ts ? since : ts);
}

struct thread *cpu_new_thread(struct timeline *t, uint32_t tid, uint32_t cpu, uint64_t ts)
{
	struct cpu *c = cpu_at(t, cpu);
	struct thread *th = NULL;

	if (tid && !life_has_ended(t, tid))
		th = life_make(t, tid, c->known ? ts : c->since, PHASE_UNKNOWN);
	cpu_hints(t, th, cpu, ts);
	return th;
}

void cpu_lost(struct timeline *t, struct cpu *c, uint64_t ts)
{
	if (c->cur)
		life_enter(t, c->cur, INTERVAL_LOST, ts);
	c->cur = NULL;
	c->known = false;
	c->since = later(c->since, ts);
}

void cpu_account(struct timeline *t, struct cpu *c, bool idle, uint64_t ts)
{
	uint64_t from = later(c->since, t->from), to = ts < t->to ? ts : t->to;

	if (from >= to)
		return;
	if (idle)
		c->idle_ns += to - from;
	else
		c->busy_ns += to - from;
}
