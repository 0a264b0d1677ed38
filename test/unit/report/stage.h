/* SPDX-License-Identifier: MIT */
/*
 * Summaries made by hand, for what views say about them: also cases that a recording seldom has.
 * Threads, functions and locks are added by name; the rest is set by each test.
 */
#ifndef THAW_TEST_UNIT_VIEW_STAGE_H
#define THAW_TEST_UNIT_VIEW_STAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "model/summary/summary.h"

#define MS 1000000ull
#define STAGE_WALL (1000 * MS)

struct stage {
	struct summary s;
	struct thread threads[16];
	uint32_t histogram[HIST_BUCKETS];
	size_t n;
};

static inline void stage_init(struct stage *t)
{
	memset(t, 0, sizeof(*t));
	t->s.model = model_new(NULL);
	t->s.kernel_locks = true;
	t->s.finding.lock = SIZE_MAX;
	t->s.finding.function = UINT32_MAX;
	t->s.model->facts.complete = t->s.model->facts.sealed = true;
	t->s.model->facts.has_symbols = true;
}

static inline void stage_done(struct stage *t)
{
	for (size_t i = 0; i < t->s.locks.n; i++) {
		vec_done(&t->s.locks.v[i].waiters);
		vec_done(&t->s.locks.v[i].holders);
	}
	for (size_t i = 0; i < t->s.blame.rows.n; i++)
		vec_done(&t->s.blame.rows.v[i].victims);
	for (size_t i = 0; i < t->s.blame.sums.n; i++) {
		doings_done(&t->s.blame.sums.v[i].did);
		vec_done(&t->s.blame.sums.v[i].victims);
	}
	for (size_t i = 0; i < t->s.stalls.list.n; i++)
		doings_done(&t->s.stalls.list.v[i].did);
	doings_done(&t->s.finding.did);
	vec_done(&t->s.locks);
	vec_done(&t->s.blame.rows);
	vec_done(&t->s.blame.sums);
	vec_done(&t->s.threads);
	vec_done(&t->s.functions);
	vec_done(&t->s.waits);
	vec_done(&t->s.stalls.list);
	vec_done(&t->s.stalls.blackouts);
	vec_done(&t->s.finding.victims);
	vec_done(&t->s.stuck.waits);
	free(t->s.finding.group);
	model_free(t->s.model);
}

/* A thread that was observed for a second, and waited all of it. */
static inline struct thread *stage_thread(struct stage *t, const char *name)
{
	struct thread *th = &t->threads[t->n++];

	*th = (struct thread){.index = (uint32_t)t->n,
			      .tid = 100 + (uint32_t)t->n,
			      .pid = 100,
			      .name = (char *)name};
	th->total[INTERVAL_WAITING] = STAGE_WALL;
	t->s.total[INTERVAL_WAITING] += STAGE_WALL;
	t->s.reasons[REASON_IDLE] += STAGE_WALL; /* as far as nothing else is said */
	vec_push(&t->s.threads, th);
	t->s.active++;
	return th;
}

static inline uint32_t stage_function(struct stage *t, const char *name)
{
	struct function *f = vec_add(&t->s.model->names.functions);

	f->name = mem_strdup(name);
	f->module = mem_strdup("app");
	f->named = true;
	return (uint32_t)(t->s.model->names.functions.n - 1);
}

static inline size_t stage_lock(struct stage *t, enum lock_kind kind, const char *name)
{
	struct lock_sum *l = vec_add(&t->s.locks);

	l->kind = kind;
	l->name = (char *)name;
	l->named = name[0] != '0' && !strstr(name, " 0x");
	l->contended = lock_kind_contended(kind);
	l->histogram = t->histogram;
	t->s.contended += l->contended;
	return t->s.locks.n - 1;
}

/* `th` waited for it, and `holder` (NULL: not known) had it meanwhile. */
static inline void stage_wait(struct stage *t, size_t lock, const struct thread *th,
			      const struct thread *holder, uint64_t ns)
{
	struct lock_sum *l = &t->s.locks.v[lock];
	struct lock_holder *h = NULL;

	vec_push(&l->waiters,
		 (struct lock_waiter){.thread = th, .total = ns, .count = 1, .max = ns});
	for (size_t i = 0; i < l->holders.n && !h; i++)
		if (l->holders.v[i].thread == holder)
			h = &l->holders.v[i];
	if (!h) {
		h = vec_add(&l->holders);
		h->thread = holder;
	}
	h->blamed += ns;
	h->count++;
	l->total += ns;
	l->known += holder ? ns : 0;
	l->count++;
	l->p50 = l->p99 = l->max = ns > l->max ? ns : l->max;
}

static inline struct blame_sum *stage_blame(struct stage *t, const struct thread *culprit,
					    const struct thread *victim, size_t first, size_t lock,
					    uint64_t ns)
{
	struct blame_sum *r = vec_add(&t->s.blame.sums);

	*r = (struct blame_sum){.culprit = culprit,
				.lock = lock,
				.first = first,
				.function = UINT32_MAX,
				.total = ns};
	vec_push(&r->victims, (struct blame_victim){victim, ns, 1});
	return r;
}

/* It did that, and nothing else. */
static inline void stage_did(struct doings *d, enum interval_kind kind, enum reason reason,
			     uint64_t ns)
{
	doings_done(d);
	doings_add(d, kind, reason, ns);
}

/* `threads` of a group waited so long of a second each; victims are those that stage_wait() had. */
static inline struct finding *stage_finding(struct stage *t, const char *group, size_t threads,
					    size_t lock, uint64_t waited)
{
	struct finding *f = &t->s.finding;

	f->found = true;
	f->group = mem_strdup(group);
	f->threads = threads;
	f->lock = lock;
	f->waited = waited;
	f->wall = threads * STAGE_WALL;
	f->doing = INTERVAL_LOST;
	return f;
}

#endif
