// SPDX-License-Identifier: MIT
/*
 * Switches and wakings.
 *
 * A waking can be recorded before the switch-out of the thread that it wakes: the waker looks at
 * the task's state, which is set before the task is switched out. The thread then goes straight to
 * the run queue, and its wait has no length. That the thread was woken while it ran does not prove
 * this (it may have waited later, for real); that it came back without another waking does.
 */
#include "timeline/machine.h"

#define RACE_NS 1000000u
#define STATE_ENDED (STATE_DEAD | STATE_ZOMBIE | STATE_GONE)

/*
 * The next event about a thread that was out of sight tells what it did since the loss ended:
 * neither a wait nor a stay in the run queue can end unseen.
 */
static void back_in_sight(struct timeline *t, struct thread *th, unsigned phase)
{
	struct life *l = th->life;

	if (l->phase != INTERVAL_LOST)
		return;
	life_enter(t, th, phase, later(l->since, t->last_edge));
	l->state = phase == INTERVAL_WAITING ? STATE_INTERRUPTIBLE : 0;
}

static void switch_out(struct timeline *t, struct thread *th, const struct ev_switch_ *e,
		       uint64_t ts)
{
	uint32_t state = e->state, lock = 0;
	struct life *l = th->life;
	bool runnable = (state & STATE_PREEMPTED) || !(state & STATE_MASK);
	bool raced = l->waker.known && l->waker.ts >= l->last_in && ts <= l->waker.ts + RACE_NS;

	if (l->klock | l->futex)
		lock = life_announced(l);
	cpu_leave(t, th);
	if (!runnable && (state & STATE_ENDED)) {
		if (!th->exit_ts)
			th->exit_ts = later(ts, 1);
		life_end(t, th, ts, false);
		return;
	}
	life_enter(t, th, runnable ? INTERVAL_RUNNABLE : INTERVAL_WAITING, ts);
	if (runnable) {
		l->state = state & STATE_THROTTLED;
		return;
	}
	l->state = state & (STATE_MASK | STATE_IOWAIT);
	l->call = e->call;
	l->lock = lock;
	l->raced = raced;
	l->begun = true;
}

static void switch_in(struct timeline *t, struct thread *th, uint32_t cpu, uint64_t ts)
{
	if (th->life->phase == INTERVAL_WAITING && th->life->raced) {
		if (th->life->lock && t->brief)
			t->brief(t->sink_arg, th, th->life->lock, th->life->since);
		th->life->phase = INTERVAL_RUNNABLE;
		th->life->state = 0;
	}
	back_in_sight(t, th, INTERVAL_RUNNABLE);
	cpu_take(t, th, cpu, ts);
}

void sched_switch(struct timeline *t, uint32_t cpu, const struct ev_switch_ *sw, uint64_t ts)
{
	struct cpu *c = cpu_at(t, cpu);
	struct thread *prev = life_alive(t, sw->prev), *next;
	bool ended = (sw->state & STATE_ENDED) && !(sw->state & STATE_PREEMPTED);

	ts = later(ts, c->since);
	c->seen = true;
	c->last = ts;
	cpu_account(t, c, sw->prev == 0, ts);
	if (sw->prev && !(sw->state & STATE_PREV_OUT)) {
		if (!prev && !life_was_left(t, sw->prev) && !(ended && life_has_ended(t, sw->prev)))
			prev = life_make(t, sw->prev, c->since, INTERVAL_RUNNABLE);
		if (prev) {
			cpu_proves(t, prev, cpu, ts);
			switch_out(t, prev, sw, ts);
		}
	}
	cpu_displace(t, c, NULL, ts);
	next = life_alive(t, sw->next);
	if (sw->next && !next && !(sw->state & STATE_NEXT_OUT) && !life_was_left(t, sw->next))
		next = life_make(t, sw->next, ts, INTERVAL_RUNNABLE);
	c->since = ts;
	c->known = true;
	c->idle = sw->next == 0;
	if (next && !(sw->state & STATE_NEXT_OUT))
		switch_in(t, next, cpu, ts);
}

static void wake(struct timeline *t, struct thread *th, const struct ev_waking *w, uint64_t ts)
{
	struct life *l = th->life;
	struct waker waker = {
		.ts = ts,
		.thread = timeline_thread(t, w->waker),
		.tid = w->waker,
		.kstack = w->kstack,
		.ustack = w->ustack,
		.ctx = w->ctx & WAKE_CTX,
		.release = w->ctx & WAKE_RELEASE,
		.known = true,
	};

	if (l->phase == PHASE_UNKNOWN) {
		l->phase = INTERVAL_WAITING;
		l->state = th->state ? th->state : STATE_INTERRUPTIBLE;
	}
	back_in_sight(t, th, INTERVAL_WAITING);
	/* A runnable thread is not woken, so it must have begun to wait during a loss. */
	if (l->phase == INTERVAL_RUNNABLE && t->last_edge > l->since) {
		life_enter(t, th, INTERVAL_WAITING, t->last_edge);
		l->state = STATE_INTERRUPTIBLE;
	}
	if (l->phase == INTERVAL_RUNNABLE)
		return;
	l->waker = waker;
	if (l->phase == INTERVAL_RUNNING)
		return;
	life_enter(t, th, INTERVAL_RUNNABLE, ts);
	if (w->ctx & WAKE_THROTTLED)
		l->state = STATE_THROTTLED;
}

void sched_waking(struct timeline *t, uint32_t cpu, const struct ev_waking *w, uint64_t ts)
{
	struct thread *th = life_alive(t, w->wakee);

	if ((w->ctx & WAKE_CTX) == WAKE_TASK)
		cpu_hints(t, life_alive(t, w->waker), cpu, ts);
	if (!th && w->wakee && !life_has_ended(t, w->wakee))
		th = life_make(t, w->wakee, ts, INTERVAL_RUNNABLE);
	else if (th)
		wake(t, th, w, ts);
}
