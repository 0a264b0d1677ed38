// SPDX-License-Identifier: MIT
/*
 * Decides, when all events are in, the kind of each futex and the reason of each row of waits, and
 * sums these up by thread.
 *
 * What libc's functions on the user stacks say is weighed against the words: pthread_cond_wait()
 * takes its mutex again before it returns, and a sleep in there is on the mutex. glibc sleeps by
 * FUTEX_WAIT for a 2 in its mutexes only (and, by chance, at the second round of a barrier). A lock
 * that a program sleeps on by syscall() is the program's own make: what follows its word may be
 * anything, even if it looks like the owner of a mutex.
 */
#include "model/idle.h"
#include "model/lock_events.h"
#include "model/model.h"

/* Of one lock: how many waits were under which function of libc. */
struct votes {
	uint32_t kind[LOCK_KINDS];
	bool libc, direct;
};

static void decided(struct lock *l, enum lock_kind kind, enum evidence evidence)
{
	l->kind = (uint8_t)kind;
	l->evidence = (uint8_t)evidence;
}

static enum lock_kind winner(const struct votes *v)
{
	enum lock_kind best = LOCK_KINDS;

	for (unsigned k = 0; k < LOCK_KINDS; k++)
		if (v->kind[k] && (best == LOCK_KINDS || v->kind[k] > v->kind[best]))
			best = k;
	return best;
}

static enum lock_kind family_kind(uint8_t families)
{
	switch (families) {
	case FAMILY_MUTEX:
		return LOCK_MUTEX;
	case FAMILY_PI:
		return LOCK_PI_MUTEX;
	case FAMILY_ROBUST:
		return LOCK_ROBUST_MUTEX;
	case FAMILY_RWLOCK:
		return LOCK_RWLOCK;
	case FAMILY_JOIN:
		return LOCK_JOIN;
	}
	return LOCK_FUTEX;
}

static void decide_kind(struct lock *l, const struct votes *v)
{
	enum lock_kind vote = winner(v);

	if (l->kernel)
		return;
	if (l->was_two && v->direct && !v->libc && vote == LOCK_KINDS)
		decided(l, LOCK_FUTEX, EVIDENCE_USTACK);
	else if (l->strong)
		decided(l, family_kind(l->families), EVIDENCE_FUTEX);
	else if (vote == LOCK_BARRIER)
		decided(l, vote, EVIDENCE_USTACK);
	else if (l->plain_wait && l->was_two && (v->libc || vote == LOCK_MUTEX))
		decided(l, LOCK_MUTEX, EVIDENCE_USTACK);
	else if (vote < LOCK_KINDS)
		decided(l, vote, EVIDENCE_USTACK);
	else if (l->families & FAMILY_ROBUST && l->families != FAMILY_ALL)
		decided(l, LOCK_ROBUST_MUTEX, EVIDENCE_FUTEX);
	else if (l->families == FAMILY_SIGNAL && l->realtime && l->was_zero)
		decided(l, l->like_sem ? LOCK_SEMAPHORE : LOCK_CONDVAR, EVIDENCE_FUTEX);
	else
		decided(l, LOCK_FUTEX, EVIDENCE_FUTEX);
}

/* glibc's condition variables have two words to sleep on, in turn, at the end of the struct. */
static void join_condvars(struct locks *l, const struct arch_libc *libc)
{
	struct map by_base = {0};

	for (uint32_t i = 0; i < l->list.n; i++) {
		struct lock *lock = &l->list.v[i];
		uint64_t *slot;
		bool fresh;

		if (lock->kind != LOCK_CONDVAR || !lock->realtime || lock->shared)
			continue;
		lock->addr = (lock->addr & ~7ull) - libc->condvar_words;
		slot = map_put(&by_base, map_mix(lock->addr) + lock->process, &fresh);
		if (fresh)
			*slot = i + 1;
		else
			lock->alias = (uint32_t)*slot;
	}
	map_done(&by_base);
}

/*
 * An rwlock has three words to sleep on. Where a writer was seen, futex.c took them for one lock
 * from the beginning; where only stacks showed the rwlock, they are joined here.
 */
static void join_rwlocks(struct locks *l, const struct arch_libc *libc)
{
	struct map by_base = {0};

	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint32_t i = 0; i < l->list.n; i++) {
			struct lock *lock = &l->list.v[i];
			bool word = lock->families & FAMILY_RWLOCK;
			uint64_t *slot;
			bool fresh;

			if (lock->kind != LOCK_RWLOCK || lock->strong == (pass > 0) || lock->shared)
				continue;
			if (!lock->strong && word)
				lock->addr -=
					lock->addr & 7 ? libc->rwlock_writers : libc->rwlock_phase;
			slot = map_put(&by_base, map_mix(lock->addr) + lock->process, &fresh);
			if (fresh || !pass)
				*slot = i + 1;
			else
				lock->alias = (uint32_t)*slot;
		}
	}
	map_done(&by_base);
}

void locks_decide(struct model *m)
{
	struct locks *l = &m->locks;
	struct votes *votes = mem_zalloc((l->list.n + 1) * sizeof(*votes));

	for (size_t i = 0; i < m->tally.waits.n; i++) {
		const struct wait_row *r = &m->tally.waits.v[i];
		struct ustack_says u;

		if (!r->lock || !r->ustack || l->list.v[r->lock - 1].kernel)
			continue;
		u = classify_ustack(&m->classify, r->ustack);
		votes[r->lock - 1].libc |= u.libc && !u.direct;
		votes[r->lock - 1].direct |= u.direct;
		if (u.kind < LOCK_KINDS)
			votes[r->lock - 1].kind[u.kind] +=
				(uint32_t)(r->count + r->outside_count) + 1;
	}
	for (size_t i = 0; i < l->list.n; i++)
		decide_kind(&l->list.v[i], &votes[i]);
	free(votes);
	gil_join(m);
	if (m->arch) {
		join_rwlocks(l, &m->arch->libc);
		join_condvars(l, &m->arch->libc);
	}
}

/* A kernel semaphore is not contended if all threads that slept on it waited for work. */
static void find_work(struct model *m)
{
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < m->tally.waits.n; i++) {
			const struct wait_row *r = &m->tally.waits.v[i];
			struct lock *l = r->lock ? locks_at(&m->locks, r->lock) : NULL;

			if (l && l->kind == LOCK_KSEMAPHORE &&
			    (r->verdict.reason == REASON_IDLE) == !pass)
				l->for_work = !pass;
		}
}

void model_decide(struct model *m)
{
	m->classify.no_states = m->facts.unseen & UNSEEN_STATES;
	locks_decide(m);
	for (size_t i = 0; i < m->tally.waits.n; i++) {
		struct wait_row *r = &m->tally.waits.v[i];

		classify_row(&m->classify, r, r->lock ? locks_at(&m->locks, r->lock) : NULL);
	}
	find_work(m);
	idle_decide(m);
	for (size_t i = 0; i < m->timeline.threads.n; i++) {
		struct thread *th = m->timeline.threads.v[i];

		th->waits[REASON_RUN_QUEUE] =
			th->total[INTERVAL_RUNNABLE] - th->waits[REASON_THROTTLED];
	}
	for (size_t i = 0; i < m->tally.waits.n; i++) {
		const struct wait_row *r = &m->tally.waits.v[i];

		((struct thread *)r->thread)->waits[r->verdict.reason] += r->total;
	}
}
