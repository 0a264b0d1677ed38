// SPDX-License-Identifier: MIT
/* First finds the only thread that can have the majority (majority.h), then checks that it has. */
#include "model/summary/blamed.h"

#include "model/summary/parts.h"

static struct blamed_wait *wait_of(struct blamed_waits *b, const struct model *m, uint32_t lock,
				   uint32_t victim)
{
	uint64_t key = (uint64_t)locks_index(&m->locks, lock + 1) << 32 | victim;
	bool fresh;
	uint64_t *slot = map_put(&b->by_wait, key, &fresh);

	if (fresh) {
		*slot = b->list.n;
		vec_add(&b->list);
	}
	return &b->list.v[*slot];
}

/* The holders of a crowd's lock over time; key 0: not known. */
static void take_crowd(struct majority *of, const struct chain *c, const struct crowd *k)
{
	for (size_t i = 0; i < k->parts.n; i++) {
		const struct crowd_part *p = &k->parts.v[i];

		vec_push(&of->spans,
			 (struct majority_span){p->start, p->end, c->holds.v[p->hold / 4].holder});
	}
	majority_seal(of);
}

static bool has_holders(const struct model *m, uint32_t lock)
{
	return lock_has_holders(locks_at(&m->locks, lock + 1));
}

static void blamed_vote(struct blamed_waits *b, const struct model *m)
{
	const struct chain *c = &m->chain;

	for (size_t i = 0; i < c->hold_victims.n; i++) {
		const struct hold_victim *v = &c->hold_victims.v[i];
		const struct hold *h = &c->holds.v[v->hold];
		struct blamed_wait *w;

		if (!has_holders(m, h->lock))
			continue;
		w = wait_of(b, m, h->lock, v->victim);
		w->total += v->blamed;
		majority_add(&w->vote, h->holder, v->blamed);
	}
	for (size_t i = 0; i < c->crowds.n; i++) {
		const struct crowd *k = &c->crowds.v[i];
		struct majority of = {0};

		take_crowd(&of, c, k);
		for (size_t j = 0; j < k->waits.n && has_holders(m, k->lock); j++) {
			const struct crowd_wait *cw = &k->waits.v[j];
			struct blamed_wait *w = wait_of(b, m, k->lock, cw->victim);

			w->total += cw->end - cw->start;
			majority_vote(&of, cw->start, cw->end, &w->vote);
		}
		majority_done(&of);
	}
}

static void blamed_count(struct blamed_waits *b, const struct model *m)
{
	const struct chain *c = &m->chain;

	for (size_t i = 0; i < c->hold_victims.n; i++) {
		const struct hold_victim *v = &c->hold_victims.v[i];
		const struct hold *h = &c->holds.v[v->hold];
		struct blamed_wait *w;

		if (!has_holders(m, h->lock))
			continue;
		w = wait_of(b, m, h->lock, v->victim);
		w->ns += w->vote.key == h->holder ? v->blamed : 0;
	}
	for (size_t i = 0; i < c->crowds.n; i++) {
		const struct crowd *k = &c->crowds.v[i];
		struct majority of = {0};

		take_crowd(&of, c, k);
		for (size_t j = 0; j < k->waits.n && has_holders(m, k->lock); j++) {
			const struct crowd_wait *cw = &k->waits.v[j];
			struct blamed_wait *w = wait_of(b, m, k->lock, cw->victim);

			w->ns += majority_time(&of, w->vote.key, cw->start, cw->end);
		}
		majority_done(&of);
	}
}

void blamed_waits_init(struct blamed_waits *b, const struct model *m)
{
	*b = (struct blamed_waits){0};
	blamed_vote(b, m);
	blamed_count(b, m);
}

void blamed_waits_done(struct blamed_waits *b)
{
	vec_done(&b->list);
	map_done(&b->by_wait);
}

const struct thread *blamed_holder(const struct blamed_waits *b, const struct model *m,
				   uint32_t lock, const struct thread *th)
{
	const uint64_t *slot = map_get(&b->by_wait, (uint64_t)lock << 32 | th->index);
	const struct blamed_wait *w = slot ? &b->list.v[*slot] : NULL;

	return w && w->vote.key && w->ns > w->total / 2 ? m->timeline.threads.v[w->vote.key - 1]
							: NULL;
}
