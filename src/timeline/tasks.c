// SPDX-License-Identifier: MIT
/* Threads that appear, are born, change their program, and end. */
#include "timeline/machine.h"

/* Another thread has the tid now: the former one's end was not recorded. */
static void end_unseen(struct timeline *t, struct thread *th, uint64_t ts)
{
	struct life *l = th->life;

	if (th->exit_ts) {
		life_end(t, th, later(th->exit_ts, l->since), false);
		return;
	}
	cpu_leave(t, th);
	l->phase = INTERVAL_LOST;
	life_end(t, th, ts, false);
	th->exit_ts = later(th->end, 1);
}

static void introduce(struct thread *th, uint32_t pid, const char *name)
{
	th->introduced = true;
	th->pid = pid;
	thread_rename(th, name);
}

void task_thread(struct timeline *t, const struct ev_thread *e, uint64_t ts)
{
	struct thread *th = life_alive(t, e->tid);

	if (!e->tid || (th && th->introduced))
		return;
	if (!th) {
		th = life_make(t, e->tid, ts, PHASE_UNKNOWN);
		th->state = e->state & (STATE_MASK | STATE_IOWAIT);
		th->life->call = e->call;
	}
	introduce(th, e->pid, e->name);
	th->flags = e->flags;
}

void task_fork(struct timeline *t, uint32_t cpu, const struct ev_fork *e, uint64_t ts)
{
	struct thread *th = life_alive(t, e->tid), *parent = life_alive(t, e->parent);
	/* Not every engine records the name: a new thread has its parent's. */
	const char *name = (e->name && *e->name) || !parent ? e->name : parent->name;

	cpu_hints(t, parent, cpu, ts);
	if (!e->tid)
		return;
	if (th && th->introduced) {
		end_unseen(t, th, ts);
		th = NULL;
	}
	if (!th)
		th = life_make(t, e->tid, ts, INTERVAL_RUNNABLE);
	introduce(th, e->pid, name);
	th->parent = e->parent;
	th->flags = parent ? parent->flags & THREAD_OWN : 0;
}

void task_exec(struct timeline *t, uint32_t cpu, const struct ev_exec *e, uint64_t ts)
{
	struct thread *old = e->old_tid != e->tid ? life_alive(t, e->old_tid) : NULL;
	struct thread *th;

	if (!old) {
		th = cpu_thread(t, e->tid, cpu, ts);
		if (th) {
			thread_rename(th, e->name);
			if (th->flags & (THREAD_OWN | THREAD_LAUNCHED))
				th->own_until = ts;
			th->flags &= ~(uint32_t)(THREAD_OWN | THREAD_LAUNCHED);
		}
		return;
	}
	cpu_hints(t, old, cpu, ts);
	old->exit_ts = later(ts, 1);
	life_end(t, old, ts, false);
	th = life_alive(t, e->tid);
	if (!th)
		th = life_make(t, e->tid, ts, INTERVAL_RUNNABLE);
	th->exit_ts = 0;
	cpu_displace(t, cpu_at(t, cpu), th, ts);
	cpu_take(t, th, cpu, ts);
	introduce(th, old->pid, e->name);
}

void task_exit(struct timeline *t, uint32_t cpu, const struct ev_exit *e, uint64_t ts)
{
	struct thread *th = cpu_thread(t, e->tid, cpu, ts);

	if (!th)
		return;
	th->exit_ts = later(ts, 1);
	th->exit_code = e->code;
}
