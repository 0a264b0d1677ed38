// SPDX-License-Identifier: MIT
/*
 * Locks of the kernel: its own record of contention.
 *
 * KLOCKED says exactly how long it took to get a lock, spinning and sleeping together; KLOCK says
 * that the sleep that follows is on that lock. An address is one lock as long as its kind and what
 * it belongs to stay the same. Only the part inside the window counts. For short attempts that were
 * added up (`more`), number and sum are exact, and each counts as their mean.
 */
#include "model/lock_events.h"
#include "model/model.h"
#include "timeline/machine.h"

static struct lock *lock_of(struct locks *l, uint64_t addr, uint32_t flags, uint32_t what,
			    uint64_t of, uint32_t *ret_index)
{
	uint64_t key = map_mix(addr) ^ 0x6b6c6f636bull; /* apart from programs' addresses */
	enum lock_kind kind = klock_kind(flags);
	struct lock *lock = locks_find(l, key, ret_index);

	if (lock && what == KLOCK_ANY)
		what = lock->what, of = lock->of;
	if (lock && lock->what == KLOCK_ANY && lock->kind == kind) {
		lock->what = (uint8_t)what;
		lock->of = of;
	}
	if (!lock || lock->kind != kind || lock->what != what || lock->of != of) {
		lock = locks_make(l, key, ret_index);
		lock->addr = addr;
		lock->kind = (uint8_t)kind;
		lock->evidence = EVIDENCE_CONTENTION;
		lock->kernel = true;
		lock->what = (uint8_t)what;
		lock->of = of;
	}
	return lock;
}

void klock_event(struct model *m, const struct event *ev, uint64_t ts)
{
	const struct ev_klock *e = &ev->klock;
	struct thread *th = life_alive(&m->timeline, e->tid), *owner;
	struct lock *lock;
	uint32_t index;

	if (!th)
		return;
	m->locks.kernel = true;
	lock = lock_of(&m->locks, e->addr, e->flags, e->what, e->of, &index);
	owner = e->owner ? life_alive(&m->timeline, e->owner) : NULL;
	if (owner == th)
		owner = NULL;
	/* A PI mutex is an rtmutex in the kernel: the program's lock is what counts. */
	if (lock->kind == LOCK_RTMUTEX && th->life->futex &&
	    th->life->announced >= th->life->last_in &&
	    m->locks.list.v[th->life->futex - 1].families == FAMILY_PI)
		return;
	th->life->klock = index + 1;
	th->life->announced = ts;
	suspects_sleep(&m->suspects, th, index + 1);
	chain_seen(&m->chain, index, ts, owner ? SEEN_HELD : SEEN_NOBODY, owner);
}

/*
 * The part of the time to get a lock that lies in the window. Attempts that were added up are
 * short: all are taken to be at the last one.
 */
static uint64_t took_inside(const struct timeline *t, const struct ev_klocked *e, uint64_t ts,
			    uint64_t *ret_end)
{
	uint64_t start = ts - (e->took_ns < ts ? e->took_ns : ts);

	*ret_end = ts < t->to ? ts : t->to;
	if (e->more || !e->took_ns)
		return e->took_ns;
	start = later(start, t->from);
	return start < *ret_end ? *ret_end - start : 0;
}

void klocked_event(struct model *m, const struct event *ev, uint64_t ts)
{
	const struct ev_klocked *e = &ev->klocked;
	struct thread *th = timeline_thread(&m->timeline, e->tid);
	const struct thread *by;
	uint32_t n = e->more < UINT32_MAX ? e->more + 1 : e->more;
	uint64_t each = e->took_ns / n, inside, end;
	struct lock_row *r;
	struct lock *lock;
	uint32_t index;

	m->locks.kernel = true;
	if (!th)
		return;
	lock = lock_of(&m->locks, e->addr, e->flags, e->what, e->of, &index);
	if (!lock->kstack)
		lock->kstack = e->kstack;
	if (lock_kind_class(lock->kind) == LOCK_CLASS_KERNEL && !e->failed)
		chain_seen(&m->chain, index, ts, SEEN_TAKEN, th);
	inside = took_inside(&m->timeline, e, ts, &end);
	if (each < m->locks.min_wait || ts < m->timeline.from ||
	    (ts >= m->timeline.to && (e->more || !inside)))
		return;
	each = inside / n;
	by = e->flags & KLOCK_IN_INTERRUPT ? NULL : th;
	r = locks_row(&m->locks, index, by);
	r->total += inside;
	r->failed += e->failed != 0;
	if (!r->kstack)
		r->kstack = e->kstack;
	lock_row_add(r, n, each, end - (each < end ? each : end));
	if (m->klocked_sink)
		m->klocked_sink(m->sink_arg, index, by, end, inside, n);
}
