// SPDX-License-Identifier: MIT
/* Who held the locks of a summary, what that cost others, and what it did meanwhile. */
#include <stdlib.h>

#include "model/charge/chain.h"
#include "model/summary/parts.h"

struct holding {
	struct summary *s;
	const bool *chosen;
	struct map holders; /* lock and thread -> place in the lock's holders */
};

static struct lock_holder *holder_of(struct holding *t, size_t sum, const struct thread *th)
{
	struct lock_sum *l = &t->s->locks.v[sum];
	bool fresh;
	uint64_t *slot =
		map_put(&t->holders, (uint64_t)sum << 32 | (th ? th->index + 1 : 0), &fresh);

	if (fresh) {
		*slot = l->holders.n;
		vec_push(&l->holders, (struct lock_holder){.thread = th});
	}
	return &l->holders.v[*slot];
}

/* Adds to what one holder is blamed for; NULL if the lock is not shown or has no holders. */
static struct lock_holder *add_blamed(struct holding *t, const struct hold *h, uint64_t blamed)
{
	struct model *m = t->s->model;
	size_t sum = summary_lock(t->s, h->lock);
	struct lock_holder *to;

	if (sum == SIZE_MAX || !lock_has_holders(locks_at(&m->locks, h->lock + 1)))
		return NULL;
	to = holder_of(t, sum, h->holder ? m->timeline.threads.v[h->holder - 1] : NULL);
	to->blamed += blamed;
	t->s->locks.v[sum].known += h->holder ? blamed : 0;
	if (!to->release_ustack && !to->release_kstack) {
		to->release_kstack = h->release_kstack;
		to->release_ustack = h->release_ustack;
	}
	return to;
}

static void add_doing(struct lock_holder *to, uint64_t count, const uint64_t *doing)
{
	to->count += count;
	to->running += doing[INTERVAL_RUNNING];
	to->runnable += doing[INTERVAL_RUNNABLE];
	to->waiting += doing[INTERVAL_WAITING];
}

/* What the holder waited for. */
static void add_reasons(struct summary *s, uint32_t hold, struct lock_holder *to)
{
	struct model *m = s->model;
	const struct vote *v;
	size_t n = votes_of(&m->chain, hold * 2 + 1, &v);

	for (size_t i = 0; i < n; i++)
		if (!v[i].sample)
			doings_add(&to->did, INTERVAL_WAITING,
				   m->tally.waits.v[v[i].row].verdict.reason, v[i].weight);
}

/* Votes come from all waiters, the sums only from the chosen ones: scales the votes to the sums. */
static void order_doings(struct lock_holder *h)
{
	uint64_t waited = h->did.total, known = h->running + h->runnable + h->waiting;
	struct doings all = {0};

	for (size_t i = 0; i < h->did.n; i++)
		doings_add(
			&all, INTERVAL_WAITING, h->did.v[i].reason,
			(uint64_t)((double)h->did.v[i].ns * (double)h->waiting / (double)waited));
	if (!waited)
		doings_add(&all, INTERVAL_WAITING, REASON_UNKNOWN, h->waiting);
	doings_add(&all, INTERVAL_RUNNING, 0, h->running);
	doings_add(&all, INTERVAL_RUNNABLE, REASON_RUN_QUEUE, h->runnable);
	doings_add(&all, INTERVAL_LOST, 0, h->blamed > known ? h->blamed - known : 0);
	doings_done(&h->did);
	h->did = all;
	doings_order(&h->did);
}

static void add_holders(struct holding *t)
{
	struct model *m = t->s->model;
	const struct chain *c = &m->chain;
	const struct crowd_hold_sum *crowds = t->s->crowds.holds;
	uint64_t *best = mem_zalloc((c->holds.n + 1) * sizeof(*best)); /* by hold: blamed */

	for (size_t i = 0; i < c->hold_victims.n; i++) {
		const struct hold_victim *v = &c->hold_victims.v[i];
		struct lock_holder *to = t->chosen[v->victim]
						 ? add_blamed(t, &c->holds.v[v->hold], v->blamed)
						 : NULL;

		if (!to)
			continue;
		add_doing(to, v->count, v->doing);
		best[v->hold] += v->blamed;
	}
	for (size_t i = 0; crowds && i < c->holds.n; i++) {
		struct lock_holder *to =
			crowds[i].blamed ? add_blamed(t, &c->holds.v[i], crowds[i].blamed) : NULL;

		if (!to)
			continue;
		add_doing(to, crowds[i].count, crowds[i].doing);
		best[i] += crowds[i].blamed;
	}
	for (uint32_t i = 0; i < c->holds.n; i++) {
		const struct hold *h = &c->holds.v[i];
		struct lock_holder *to;
		struct where at;

		if (!best[i] || !h->holder)
			continue;
		to = holder_of(t, summary_lock(t->s, h->lock),
			       m->timeline.threads.v[h->holder - 1]);
		at = where_of_votes(t->s, i * 2 + 1, to->running);
		if (at.by == HELD_BY_NOTHING && (to->release_kstack || to->release_ustack))
			at = (struct where){HELD_BY_RELEASE, to->release_kstack,
					    to->release_ustack};
		to->by = at.by;
		to->kstack = at.kstack;
		to->ustack = at.ustack;
		add_reasons(t->s, i, to);
	}
	for (size_t i = 0; i < t->s->locks.n; i++)
		for (size_t k = 0; k < t->s->locks.v[i].holders.n; k++)
			order_doings(&t->s->locks.v[i].holders.v[k]);
	free(best);
}

void summary_holders(struct summary *s, const bool *chosen)
{
	struct holding t = {.s = s, .chosen = chosen};

	add_holders(&t);
	map_done(&t.holders);
}
