// SPDX-License-Identifier: MIT
/* The table of locks, the sums of waits on them, and what is known of the memory they are in. */
#include "model/lock.h"

#include <stdlib.h>

#include "model/chain.h"
#include "model/machine.h"
#include "model/model.h"

struct lock *locks_find(struct locks *l, uint64_t key, uint32_t *ret_index)
{
	uint64_t *slot = map_get(&l->by_key, key);

	if (!slot)
		return NULL;
	*ret_index = (uint32_t)*slot - 1;
	return &l->list.v[*slot - 1];
}

struct lock *locks_make(struct locks *l, uint64_t key, uint32_t *ret_index)
{
	uint64_t *slot = map_put(&l->by_key, key, NULL);
	uint32_t life = *slot ? l->list.v[*slot - 1].life + 1 : 1;
	struct lock *lock = vec_add(&l->list);

	*slot = l->list.n;
	lock->life = life;
	*ret_index = (uint32_t)l->list.n - 1;
	return lock;
}

uint32_t locks_index(const struct locks *l, uint32_t lock)
{
	uint32_t i = lock - 1;

	return l->list.v[i].alias ? l->list.v[i].alias - 1 : i;
}

struct lock *locks_at(const struct locks *l, uint32_t lock)
{
	return &l->list.v[locks_index(l, lock)];
}

struct lock_row *locks_row(struct locks *l, uint32_t index, const struct thread *th)
{
	uint64_t key = (uint64_t)index << 32 | (th ? th->index : UINT32_MAX);
	bool fresh;
	uint64_t *slot = map_put(&l->by_row, key, &fresh);

	if (fresh) {
		*slot = l->rows.n;
		vec_push(&l->rows, (struct lock_row){.lock = index, .thread = th});
	}
	return &l->rows.v[*slot];
}

void lock_row_add(struct lock_row *r, uint32_t n, uint64_t ns, uint64_t start)
{
	uint32_t bucket = hist_bucket(ns);
	size_t i = 0;

	if (ns > r->max || !r->max_start) {
		r->max = ns;
		r->max_start = start;
	}
	r->count += n;
	while (i < r->hist.n && r->hist.v[i].bucket != bucket)
		i++;
	if (i == r->hist.n)
		vec_push(&r->hist, (struct hist_bucket){.bucket = bucket});
	r->hist.v[i].count += n;
}

/* A wait in pieces counts once, with the last of them. */
void locks_wait(struct locks *l, const struct interval *iv)
{
	uint64_t ns = iv->end - iv->start;
	struct lock_row *r;

	/* Locks of the kernel are counted when they are got. */
	if (ns < l->min_wait || (l->list.v[iv->lock - 1].kernel && !iv->open))
		return;
	r = locks_row(l, iv->lock - 1, iv->thread);
	r->total += ns;
	if (iv->more)
		return;
	lock_row_add(r, 1, ns, iv->start);
	r->open += iv->open;
}

void locks_brief(struct locks *l, const struct thread *th, uint32_t lock, uint64_t ts)
{
	if (!l->min_wait && !l->list.v[lock - 1].kernel)
		lock_row_add(locks_row(l, lock - 1, th), 1, 0, ts);
}

static uint64_t place_key(uint32_t process, uint64_t addr)
{
	return map_mix(addr) + process;
}

static void place_event(struct model *m, const struct ev_place *e)
{
	struct locks *l = &m->locks;
	uint32_t process = processes_of_pid(&m->processes, e->pid);

	if (!process)
		return;
	*map_put(&l->by_place, place_key(process, e->addr), NULL) = l->places.n + 1;
	vec_push(&l->places, (struct place){.addr = e->addr,
					    .offset = e->offset,
					    .shared = e->shared,
					    .process = process,
					    .module = e->module,
					    .kind = e->kind});
}

uint32_t locks_place(const struct locks *l, uint32_t process, uint64_t addr)
{
	uint64_t *slot = map_get(&l->by_place, place_key(process, addr));
	const struct place *p = slot ? &l->places.v[*slot - 1] : NULL;

	return p && p->addr == addr && p->process == process ? (uint32_t)*slot : 0;
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
 * The waker is in a call on the futex that the wakee sleeps on. For a lock that means: it had it,
 * and has let go.
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
	chain_released(m, index - 1, ts, waker, wakee);
	if (w->kstack || w->ustack)
		chain_release_stack(&m->chain, index - 1, waker, w->kstack, w->ustack);
}

void locks_done(struct locks *l)
{
	for (size_t i = 0; i < l->rows.n; i++)
		vec_done(&l->rows.v[i].hist);
	vec_done(&l->list);
	vec_done(&l->places);
	vec_done(&l->rows);
	map_done(&l->by_key);
	map_done(&l->by_place);
	map_done(&l->by_row);
}
