// SPDX-License-Identifier: MIT
#include "model/summary/stuck.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sort.h"
#include "base/units.h"
#include "model/summary/parts.h"

#define LASTING_NS NSEC_PER_SEC

/* The lock's holder by its last sign. */
static const struct thread *holder_of(const struct model *m, uint32_t lock)
{
	const struct chain *c = &m->chain;
	const struct seen *last = lock < c->before.n ? &c->before.v[lock] : NULL;

	if (!last || !last->thread || (last->what != SEEN_HELD && last->what != SEEN_TAKEN))
		return NULL;
	return m->timeline.threads.v[last->thread - 1];
}

static const struct thread *waits_for(const struct model *m, const struct open_wait *o)
{
	const struct lock *l = o->lock ? locks_at(&m->locks, o->lock) : NULL;

	if (!l)
		return NULL;
	if (l->kind == LOCK_JOIN)
		return timeline_thread(&m->timeline, (uint32_t)l->of);
	return holder_of(m, locks_index(&m->locks, o->lock));
}

static struct stuck_wait stuck_of(const struct summary *s, const struct open_wait *o)
{
	const struct model *m = s->model;
	const struct wait_row *r = &m->tally.waits.v[o->row];
	struct stuck_wait w = {.thread = o->thread,
			       .start = o->start,
			       .end = o->end ? o->end : m->timeline.end,
			       .with_life = o->end,
			       .before = o->start <= m->timeline.begin,
			       .reason = r->verdict.reason,
			       .in = r->in,
			       .unwoken = r->unwoken,
			       .lock = SIZE_MAX,
			       .for_ = waits_for(m, o),
			       .kstack = r->kstack,
			       .ustack = r->ustack,
			       .state = r->state,
			       .call = model_call_name(m, r->call),
			       .file = waited_file_at(&m->files, o->file)};

	if (o->lock) {
		w.lock = summary_lock(s, o->lock - 1);
		w.of = locks_index(&m->locks, o->lock) + 1;
	}
	return w;
}

/* A condition variable has two words to sleep on, each with wakes of its own: takes the later. */
static void find_signallers(const struct model *m, struct stuck *st)
{
	const struct locks *l = &m->locks;
	const struct lock **last = mem_zalloc((l->list.n + 1) * sizeof(*last));

	for (uint32_t i = 0; i < l->list.n; i++) {
		const struct lock *lock = &l->list.v[i], **to = &last[locks_index(l, i + 1)];

		if (lock->last_wake && (!*to || (*to)->last_wake < lock->last_wake))
			*to = lock;
	}
	for (size_t i = 0; i < m->open.n; i++) {
		struct stuck_wait *w = &st->waits.v[i];
		uint32_t lock = m->open.v[i].lock;
		const struct lock *of = lock ? last[locks_index(l, lock)] : NULL;

		if (!of || (w->in != REASON_CONDVAR && w->in != REASON_SEMAPHORE))
			continue;
		w->signaller = timeline_thread(&m->timeline, of->last_waker);
		w->signalled = of->last_wake;
	}
	free(last);
}

/* ---- circles ---- */

struct stuck_walk {
	struct stuck *st;
	uint32_t *of;	/* thread -> its wait + 1 */
	uint32_t *when; /* wait -> the walk that came by, from 1 */
};

static struct stuck_wait *next_of(const struct stuck_walk *w, const struct stuck_wait *s)
{
	uint32_t i = s->for_ ? w->of[s->for_->index] : 0;

	return i ? &w->st->waits.v[i - 1] : NULL;
}

/* Each waits for the next one; the one that has waited longest comes first. */
static void mark_circle(struct stuck_walk *w, struct stuck_wait *any)
{
	struct stuck_wait *s = any, *first = any;
	uint32_t place = 0;

	for (s = next_of(w, any); s != any; s = next_of(w, s))
		if (s->start < first->start)
			first = s;
	w->st->circles++;
	s = first;
	do {
		s->circle = w->st->circles;
		s->place = place++;
		s = next_of(w, s);
	} while (s != first);
}

/* A wait leads to at most one other, so a walk ends, meets an earlier walk, or closes a circle. */
static void find_circles(struct stuck_walk *w)
{
	struct stuck *st = w->st;

	for (uint32_t i = 0; i < st->waits.n; i++) {
		struct stuck_wait *s = &st->waits.v[i];

		for (; s && !w->when[s - st->waits.v]; s = next_of(w, s))
			w->when[s - st->waits.v] = i + 1;
		if (s && !s->circle && w->when[s - st->waits.v] == i + 1)
			mark_circle(w, s);
	}
}

/*
 * A wait that leads to a circle stands behind it. The walks visit each wait at most twice: once to
 * find the end, and once to note what was found there.
 */
static void find_behind(struct stuck_walk *w)
{
	struct stuck *st = w->st;

	memset(w->when, 0, st->waits.n * sizeof(*w->when));
	for (uint32_t i = 0; i < st->waits.n; i++) {
		struct stuck_wait *end = &st->waits.v[i], *s = end, *last = end;
		const struct thread *root;
		uint32_t circle;

		for (; end && !end->circle && !w->when[end - st->waits.v]; end = next_of(w, end)) {
			w->when[end - st->waits.v] = i + 1;
			last = end;
		}
		circle = !end ? 0 : end->circle ? end->circle : end->behind;
		root = circle ? NULL : end ? end->root : last->thread;
		for (; s != end; s = next_of(w, s)) {
			s->behind = circle;
			s->root = root;
		}
	}
	for (size_t i = 0; i < st->waits.n; i++) {
		const struct stuck_wait *next = next_of(w, &st->waits.v[i]);

		st->waits.v[i].for_stuck = next;
		st->waits.v[i].for_reason = next ? next->reason : REASON_UNKNOWN;
	}
}

/* ---- order ---- */

static int stuck_rank(const struct stuck_wait *s)
{
	return s->circle ? 0 : s->behind ? 1 : 2;
}

static int by_rank(const void *pa, const void *pb)
{
	const struct stuck_wait *a = pa, *b = pb;

	if (stuck_rank(a) != stuck_rank(b))
		return stuck_rank(a) - stuck_rank(b);
	if (a->circle != b->circle)
		return a->circle < b->circle ? -1 : 1;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->thread->index < b->thread->index ? -1 : a->thread->index > b->thread->index;
}

static bool is_kept(const struct stuck_wait *w, const bool *chosen)
{
	if (w->circle)
		return true;
	if (!chosen[w->thread->index])
		return false;
	if (!w->with_life || w->behind || thread_was_killed(w->thread))
		return true;
	return reason_has(w->reason, TRAIT_HELD) && w->end - w->start >= LASTING_NS;
}

void summary_stuck(struct summary *s, const bool *chosen)
{
	const struct model *m = s->model;
	size_t threads = m->timeline.threads.n;
	struct stuck_walk w = {.st = &s->stuck};
	size_t n = 0;

	if (!m->open.n)
		return;
	w.of = mem_zalloc((threads + 1) * sizeof(*w.of));
	w.when = mem_zalloc((m->open.n + 1) * sizeof(*w.when));
	for (size_t i = 0; i < m->open.n; i++) {
		vec_push(&s->stuck.waits, stuck_of(s, &m->open.v[i]));
		w.of[m->open.v[i].thread->index] = (uint32_t)s->stuck.waits.n;
	}
	find_signallers(m, &s->stuck);
	find_circles(&w);
	find_behind(&w);
	for (size_t i = 0; i < s->stuck.waits.n; i++)
		if (is_kept(&s->stuck.waits.v[i], chosen))
			s->stuck.waits.v[n++] = s->stuck.waits.v[i];
	s->stuck.waits.n = n;
	sort_by(s->stuck.waits.v, n, sizeof(*s->stuck.waits.v), by_rank);
	free(w.of);
	free(w.when);
}
