// SPDX-License-Identifier: MIT
/* Events about locks: the memory that they are in, and who lets go of one. */
#include "model/lock_events.h"

#include "model/model.h"
#include "timeline/machine.h"

static void place_event(struct model *m, const struct ev_place *e)
{
	uint32_t process = processes_of_pid(&m->processes, e->pid);

	if (process)
		locks_add_place(&m->locks, &(struct lock_place){.addr = e->addr,
								.offset = e->offset,
								.shared = e->shared,
								.process = process,
								.module = e->module,
								.kind = e->kind});
}

void locks_event(struct model *m, const struct event *ev)
{
	uint64_t ts = ev->ts > m->timeline.begin ? ev->ts : m->timeline.begin;

	if (ev->kind == EV_FUTEX)
		futex_event(m, ev, ts);
	else if (ev->kind == EV_KLOCK)
		klock_event(m, ev, ts);
	else if (ev->kind == EV_KLOCKED)
		klocked_event(m, ev, ts);
	else if (ev->kind == EV_PLACE)
		place_event(m, &ev->place);
}

/* Wakes by one thread at one address, so soon after each other, are one call that wakes many. */
#define BURST_NS 10000u

/*
 * The waker is in a call on the futex that the wakee sleeps on: if that is a lock, the waker has
 * just released it.
 */
void locks_waking(struct model *m, const struct ev_waking *w, uint64_t ts)
{
	struct thread *wakee = life_alive(&m->timeline, w->wakee);
	struct thread *waker = life_alive(&m->timeline, w->waker);
	struct life *l = wakee ? wakee->life : NULL;
	uint32_t index = !l ? 0 : l->phase == INTERVAL_WAITING ? l->lock : l->futex;
	struct lock *lock;

	if (!index || !waker || (w->ctx & WAKE_CTX) != WAKE_TASK)
		return;
	lock = &m->locks.list.v[index - 1];
	lock->wakes++;
	lock->bursts += lock->last_waker == w->waker && ts - lock->last_wake < BURST_NS;
	lock->last_waker = w->waker;
	lock->last_wake = ts;
	if (lock->kernel || waker == wakee || !(lock->families & FAMILY_HELD))
		return;
	if (gil_wakes(m, index - 1, waker, ts))
		return;
	chain_released(&m->chain, index - 1, ts, waker, wakee);
	if (w->kstack || w->ustack)
		chain_release_stack(&m->chain, index - 1, waker, w->kstack, w->ustack);
}
