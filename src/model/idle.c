// SPDX-License-Identifier: MIT
/*
 * A place is the functions of the program on the stack of a wait (of the kernel, if there are no
 * others) and the reason. A thread's home is the place where it spends at least half of all its
 * waiting. It is idle there if
 *   - it waits for any of several files, for connections or for signals: an event loop; or
 *   - it waits on a condition variable, semaphore, unknown futex or for input from a pipe, at least
 *     one other thread of its process has its home there too, and they are woken one by one and by
 *     others: a pool. Threads that are woken all at once wait for a moment, not for work; threads
 *     that wake each other take turns, as with a runtime's lock made of a condition variable.
 *     Where nobody is woken at all, it must be a condition variable or a pipe: programs make locks
 *     of semaphores and futexes (Python's are), and those of a hang look the same. Such a pool is
 *     `unwoken`: it may as well have lost its wake-up;
 *   - it waits on one of the former, and most of it ended by a timer of some length: nobody had
 *     anything for it.
 * Waits without a stack (short, or not ended) follow those with one, by lock or by call.
 */
#include "model/idle.h"

#include "model/wait/classify.h"
#include "model/model.h"

/* One thread at one place. */
struct stay {
	const struct thread *thread;
	uint64_t place;
	uint64_t total;
	uint64_t by_timer, timers;
	uint64_t by_thread, by_peer; /* wakes; of those by one whose home is there too */
	uint64_t wakes, bursts;
	uint8_t reason;
	bool loop; /* where servers wait for work */
	bool home, idle, unwoken;
};

/* Locks built on timed waits use shorter timers than this. */
#define TIMER_MIN_NS 40000000u

struct idle {
	struct model *m;
	uint64_t *waiting; /* by thread */
	uint32_t *stay_of; /* by row: + 1; 0: it has no stack */
	VEC(struct stay) stays;
	struct map by_stay;
};

static bool pool_like(const struct wait_row *r)
{
	switch (r->verdict.reason) {
	case REASON_CONDVAR:
	case REASON_SEMAPHORE:
	case REASON_FUTEX:
	case REASON_PIPE:
		return true;
	}
	return false;
}

/* 0: no stack. */
static uint64_t place_of(struct classify *c, const struct wait_row *r)
{
	uint64_t place = classify_place(c, r->ustack ? 0 : r->kstack, r->ustack);

	return place ? map_mix(place) + r->verdict.reason : 0;
}

static uint64_t stay_key(uint64_t place, const struct thread *th)
{
	return map_mix(place) + th->index;
}

static void add_row(struct idle *d, uint32_t i)
{
	const struct wait_row *r = &d->m->tally.waits.v[i];
	uint64_t place = place_of(&d->m->classify, r), *slot;
	struct stay *s;
	bool fresh;

	if (!place)
		return;
	slot = map_put(&d->by_stay, stay_key(place, r->thread), &fresh);
	if (fresh) {
		*slot = d->stays.n;
		s = vec_add(&d->stays);
		s->thread = r->thread;
		s->place = place;
		s->reason = r->verdict.reason;
	}
	s = &d->stays.v[*slot];
	s->total += r->total + r->outside;
	s->loop |= r->home;
	d->stay_of[i] = (uint32_t)*slot + 1;
	if (r->lock) {
		s->wakes += locks_at(&d->m->locks, r->lock)->wakes;
		s->bursts += locks_at(&d->m->locks, r->lock)->bursts;
	}
}

static void add_rows(struct idle *d)
{
	struct tally *t = &d->m->tally;

	for (size_t i = 0; i < t->waits.n; i++) {
		const struct wait_row *r = &t->waits.v[i];

		d->waiting[r->thread->index] += r->total + r->outside;
		if (r->verdict.reason != REASON_IDLE && (r->home || pool_like(r)))
			add_row(d, (uint32_t)i);
	}
	for (size_t i = 0; i < d->stays.n; i++) {
		struct stay *s = &d->stays.v[i];

		s->home = s->total && s->total >= d->waiting[s->thread->index] / 2;
	}
}

static void add_wakers(struct idle *d)
{
	const struct tally *t = &d->m->tally;

	for (size_t i = 0; i < t->wakers.n; i++) {
		const struct waker_row *w = &t->wakers.v[i];
		struct stay *s = d->stay_of[w->wait] ? &d->stays.v[d->stay_of[w->wait] - 1] : NULL;
		uint64_t *peer;

		if (s && w->interrupt) {
			s->by_timer += w->total + w->outside;
			s->timers += w->count + w->outside_count;
		} else if (s) {
			peer = w->thread ? map_get(&d->by_stay, stay_key(s->place, w->thread))
					 : NULL;
			s->by_thread += w->count + w->outside_count;
			s->by_peer +=
				peer && d->stays.v[*peer].home ? w->count + w->outside_count : 0;
		}
	}
}

/* By place and process: how many threads have their home there, and how often they were woken. */
static void decide_stays(struct idle *d)
{
	struct map homes = {0}, woken = {0};

	for (size_t i = 0; i < d->stays.n; i++) {
		const struct stay *s = &d->stays.v[i];

		if (!s->home)
			continue;
		++*map_put(&homes, map_mix(s->place) + s->thread->pid, NULL);
		*map_put(&woken, map_mix(s->place) + s->thread->pid, NULL) += s->by_thread;
	}
	for (size_t i = 0; i < d->stays.n; i++) {
		struct stay *s = &d->stays.v[i];
		uint64_t *n = map_get(&homes, map_mix(s->place) + s->thread->pid);
		uint64_t *wakes = map_get(&woken, map_mix(s->place) + s->thread->pid);
		bool woken_once = wakes && *wakes,
		     seen = woken_once || !reason_has(s->reason, TRAIT_UNSURE);
		bool together = s->bursts && s->bursts * 2 >= s->wakes;
		bool turns = s->by_peer && s->by_peer * 2 >= s->by_thread;
		bool timer = s->timers && s->by_timer >= s->total / 2 &&
			     s->by_timer / s->timers >= TIMER_MIN_NS;

		if (!s->home)
			continue;
		s->idle = s->loop || (n && *n >= 2 && seen && !together && !turns) || timer;
		s->unwoken = s->idle && !s->loop && !timer && !woken_once;
	}
	map_done(&homes);
	map_done(&woken);
}

static void make_idle(struct wait_row *r, bool unwoken)
{
	r->verdict = (struct verdict){REASON_IDLE, EVIDENCE_HABIT};
	r->unwoken = unwoken;
}

/* A wait without a stack is like those of the same thread on the same lock or in the same call. */
static uint64_t like_key(const struct wait_row *r)
{
	uint64_t how = r->lock ? (uint64_t)r->lock << 20 : r->call & CALL_NR;

	return map_mix(how) + r->thread->index;
}

enum { LIKE_IDLE = 1, LIKE_UNWOKEN = 2, LIKE_BUSY = 4 };

static void idle_apply(struct idle *d)
{
	struct tally *t = &d->m->tally;
	struct map like = {0}; /* -> LIKE_ */

	for (size_t i = 0; i < t->waits.n; i++) {
		struct wait_row *r = &t->waits.v[i];
		const struct stay *s = d->stay_of[i] ? &d->stays.v[d->stay_of[i] - 1] : NULL;

		if (s && (r->lock || r->call & CALL_NR))
			*map_put(&like, like_key(r), NULL) |= !s->idle	   ? LIKE_BUSY
							      : s->unwoken ? LIKE_UNWOKEN
									   : LIKE_IDLE;
		if (s && s->idle)
			make_idle(r, s->unwoken);
	}
	for (size_t i = 0; i < t->waits.n; i++) {
		struct wait_row *r = &t->waits.v[i];
		uint64_t *how = r->kstack || r->ustack ? NULL : map_get(&like, like_key(r));

		if (how && !(*how & LIKE_BUSY) && (r->home || pool_like(r)))
			make_idle(r, *how == LIKE_UNWOKEN);
	}
	map_done(&like);
}

void idle_decide(struct model *m)
{
	struct idle d = {.m = m};

	d.waiting = mem_zalloc((m->timeline.threads.n + 1) * sizeof(*d.waiting));
	d.stay_of = mem_zalloc((m->tally.waits.n + 1) * sizeof(*d.stay_of));
	add_rows(&d);
	add_wakers(&d);
	decide_stays(&d);
	idle_apply(&d);
	free(d.waiting);
	free(d.stay_of);
	vec_done(&d.stays);
	map_done(&d.by_stay);
}
