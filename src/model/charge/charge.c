// SPDX-License-Identifier: MIT
/* The notes of chain.h, charged: sums of what follow.c finds. */
#include "model/charge/charge.h"

#include "base/search.h"

void charge_take_piece(struct holder_walk *w)
{
	const struct timeline *t = w->c->timeline;
	struct wait_piece *p = &w->piece;

	if (p->end) {
		const struct thread *victim = t->threads.v[p->victim];

		p->before = timeline_cut_before(t, victim, p->start);
		p->after = timeline_cut_after(t, victim, p->end);
		chain_piece(w->c, p);
	}
	w->piece = (struct wait_piece){0};
}

/* Where there is no room, a larger part replaces the smallest. */
void charge_piece_part(struct wait_piece *p, uint32_t charge, uint64_t ns)
{
	struct piece_part *to = &p->parts[0];

	for (size_t i = 0; i < PIECE_PARTS; i++) {
		struct piece_part *at = &p->parts[i];

		if (at->ns && at->charge == charge) {
			at->ns += ns;
			return;
		}
		to = at->ns < to->ns ? at : to;
	}
	if (ns > to->ns)
		*to = (struct piece_part){ns, charge};
}

void charge_piece(struct holder_walk *w, uint32_t lock, uint32_t culprit, uint32_t charge,
		  uint64_t ns, uint64_t from, uint64_t to)
{
	struct wait_piece *p = &w->piece;

	if (p->end != from || p->lock != lock || p->culprit != culprit) {
		charge_take_piece(w);
		*p = (struct wait_piece){
			.start = from, .victim = w->victim, .lock = lock, .culprit = culprit};
	}
	p->end = to;
	charge_piece_part(p, charge, ns);
}

void charge_vote(struct chain *c, uint32_t of, uint32_t row, bool sample, uint64_t weight)
{
	bool fresh;
	uint64_t *slot = map_put(&c->by_vote, vote_key(of, row, sample), &fresh);

	if (fresh) {
		*slot = c->votes.n;
		vec_push(&c->votes, (struct vote){.of = of, .row = row, .sample = sample});
	}
	c->votes.v[*slot].weight += weight;
}

size_t charge_samples(const struct note_index *ix, uint32_t thread, uint64_t from, uint64_t to,
		      const struct note_sample **ret)
{
	size_t end = ix->samples_of[thread + 1], n = 0;
	size_t lo = SEARCH(ix->samples_of[thread], end, mid, ix->samples[mid].ts < from);

	while (lo + n < end && ix->samples[lo + n].ts < to)
		n++;
	*ret = ix->samples + lo;
	return n;
}

/* The samples of a thread in a time in which it ran. */
static void vote_samples(struct holder_walk *w, uint32_t of, uint32_t thread, uint64_t from,
			 uint64_t to)
{
	const struct note_sample *s;
	size_t n = charge_samples(w->ix, thread, from, to, &s);

	for (size_t i = 0; i < n; i++)
		charge_vote(w->c, of, s[i].row, true, 1);
}

static bool same_charge(const struct charge *a, const struct charge *b)
{
	return a->culprit == b->culprit && a->lock == b->lock && a->first == b->first &&
	       a->row == b->row && a->doing == b->doing && a->deadlock == b->deadlock;
}

static uint32_t find_charge(struct chain *c, const struct charge *want)
{
	uint64_t key = map_mix(map_mix((uint64_t)want->culprit << 32 | want->lock) +
			       ((uint64_t)want->first << 32 | want->row)) +
		       want->doing * 2u + want->deadlock;
	uint64_t *slot;
	bool fresh;

	for (;; key += 8) {
		slot = map_put(&c->by_charge, key, &fresh);
		if (fresh)
			break;
		if (same_charge(&c->charges.v[*slot], want))
			return (uint32_t)*slot;
	}
	*slot = c->charges.n;
	vec_push(&c->charges, *want);
	return (uint32_t)*slot;
}

uint32_t charge_of(struct chain *c, const struct charge *want)
{
	uint32_t *recent = &chain_recent(c, want->culprit)->charges[want->doing];

	if (!*recent || !same_charge(&c->charges.v[*recent - 1], want))
		*recent = find_charge(c, want) + 1;
	return *recent - 1;
}

struct charge charge_wanted(const struct holder_walk *w, uint32_t culprit, uint32_t lock,
			    const struct note *n, bool deadlock)
{
	return (struct charge){.culprit = culprit,
			       .lock = lock,
			       .first = w->first,
			       .row = n && n->kind != INTERVAL_RUNNING ? n->row : 0,
			       .doing = n ? n->kind : INTERVAL_LOST,
			       .deadlock = deadlock};
}

struct charge_victim *charge_victim_of(struct chain *c, uint32_t charge, uint32_t victim)
{
	bool fresh;
	uint64_t *slot = map_put(&c->by_victim, (uint64_t)charge << 32 | victim, &fresh);

	if (fresh) {
		*slot = c->victims.n;
		vec_push(&c->victims, (struct charge_victim){.charge = charge, .victim = victim});
	}
	return &c->victims.v[*slot];
}

struct hold_victim *charge_hold_victim_of(struct chain *c, uint32_t hold, uint32_t victim)
{
	bool fresh;
	uint64_t *slot = map_put(&c->by_hold_victim, (uint64_t)hold << 32 | victim, &fresh);

	if (fresh) {
		*slot = c->hold_victims.n;
		vec_push(&c->hold_victims, (struct hold_victim){.hold = hold, .victim = victim});
	}
	return &c->hold_victims.v[*slot];
}

/*
 * A wait counts once for a charge or a hold, whatever the number of its parts; `ended` is when the
 * crowd's last such part before these notes ended.
 */
static bool charge_counts(struct holder_walk *w, uint64_t last, uint32_t of, uint64_t ended)
{
	return last != w->number && ended <= w->since && !(w->among && crowd_counts(w, of));
}

void charge_end(struct holder_walk *w, uint32_t culprit, uint32_t lock, const struct note *n,
		bool deadlock, uint64_t from, uint64_t to)
{
	struct chain *c = w->c;
	struct charge want, *ch;
	struct charge_victim *v;
	uint32_t i;

	if (w->gather) {
		crowd_gather_end(w, culprit, lock, n, deadlock, from, to);
		return;
	}
	want = charge_wanted(w, culprit, lock, n, deadlock);
	i = charge_of(c, &want);
	ch = &c->charges.v[i];
	if (w->depth > ch->depth)
		ch->depth = (uint8_t)w->depth;
	if (!w->among && to > ch->end)
		ch->end = to;
	v = charge_victim_of(c, i, w->victim);
	v->total += to - from;
	v->count += charge_counts(w, v->last, i * 2, ch->crowd_end);
	v->last = w->number;
	if (want.doing == INTERVAL_RUNNING)
		vote_samples(w, i * 2, culprit, from, to);
	charge_piece(w, lock, culprit + 1, i, to - from, from, to);
}

static void add_hold(struct holder_walk *w, uint32_t lock, uint32_t holder, unsigned doing,
		     uint64_t from, uint64_t to)
{
	struct chain *c = w->c;
	uint32_t i = chain_hold(c, lock, holder);
	struct hold_victim *v = charge_hold_victim_of(c, i, w->victim);
	struct hold *h = &c->holds.v[i];

	if (!w->among && to > h->end)
		h->end = to;
	v->blamed += to - from;
	v->doing[doing] += to - from;
	v->count += charge_counts(w, v->last, i * 2 + 1, h->crowd_end);
	v->last = w->number;
	w->hold = i;
}

void charge_hold(struct holder_walk *w, uint32_t lock, uint32_t holder, const struct note *n,
		 uint64_t from, uint64_t to)
{
	if (w->gather) {
		crowd_gather_hold(w, lock, holder, n);
		return;
	}
	add_hold(w, lock, holder, n ? n->kind : INTERVAL_LOST, from, to);
	if (n && n->kind == INTERVAL_WAITING)
		charge_vote(w->c, w->hold * 2 + 1, n->row, false, to - from);
	else if (n && n->kind == INTERVAL_RUNNING)
		vote_samples(w, w->hold * 2 + 1, holder - 1, from, to);
}

void charge_nobody(struct holder_walk *w, uint32_t lock, uint64_t from, uint64_t to)
{
	if (w->gather) {
		crowd_gather_nobody(w, lock, from, to);
		return;
	}
	add_hold(w, lock, 0, INTERVAL_LOST, from, to);
	charge_piece(w, lock, 0, UINT32_MAX, to - from, from, to);
}

void charge_begin(struct holder_walk *w, const struct charged_wait *lw)
{
	w->victim = w->c->notes.v[lw->note].thread;
	w->first = lw->lock;
	w->number = lw->number;
	w->since = lw->since;
	w->on[0] = w->victim;
	w->depth = 1;
}

static void charge_wait(struct holder_walk *w, const struct charged_wait *lw)
{
	const struct note *n = &w->c->notes.v[lw->note];

	charge_begin(w, lw);
	follow(w, lw->lock, n, n->start, n->end);
	charge_take_piece(w);
}

/* A stable counting sort by key: items with equal keys stay in the order of time. */
#define SPREAD(items, n_, key, keys, out_of, to, what)                                             \
	do {                                                                                       \
		size_t *of_ = mem_zalloc(((keys) + 2) * sizeof(*of_));                             \
                                                                                                   \
		for (size_t i_ = 0; i_ < (n_); i_++)                                               \
			of_[(items)[i_].key + 2]++;                                                \
		for (size_t i_ = 1; i_ < (keys) + 2; i_++)                                         \
			of_[i_] += of_[i_ - 1];                                                    \
		for (size_t i_ = 0; i_ < (n_); i_++)                                               \
			(to)[of_[(items)[i_].key + 1]++] = (what);                                 \
		(out_of) = of_;                                                                    \
	} while (0)

static void index_notes(struct chain *c, struct note_index *ix)
{
	size_t threads = c->timeline->threads.n, locks = c->locks->list.n;

	for (size_t i = 0; i < c->seen.n; i++)
		c->seen.v[i].lock = locks_index(c->locks, c->seen.v[i].lock + 1);
	ix->samples = mem_alloc((c->samples.n + 1) * sizeof(*ix->samples));
	ix->seen = mem_alloc((c->seen.n + 1) * sizeof(*ix->seen));
	vec_reserve(&c->order, c->notes.n);
	SPREAD(c->notes.v, c->notes.n, thread, threads, ix->notes_of, c->order.v, (uint32_t)i_);
	SPREAD(c->samples.v, c->samples.n, thread, threads, ix->samples_of, ix->samples,
	       c->samples.v[i_]);
	SPREAD(c->seen.v, c->seen.n, lock, locks, ix->seen_of, ix->seen, c->seen.v[i_]);
	ix->notes = c->notes.v;
	ix->order = c->order.v;
}

static void charge_remember(struct chain *c, const struct note_index *ix)
{
	while (c->before.n < c->locks->list.n)
		vec_push(&c->before, (struct seen){0});
	for (size_t i = 0; i < c->locks->list.n; i++)
		if (ix->seen_of[i + 1] > ix->seen_of[i])
			c->before.v[i] = ix->seen[ix->seen_of[i + 1] - 1];
}

struct lock_waits {
	VEC(struct charged_wait) all; /* in the order of the notes */
	size_t *of;		      /* lock -> first of its own in by_lock */
	struct charged_wait *by_lock;
	bool *is_crowd; /* by lock */
};

static void find_waits(struct chain *c, struct lock_waits *lw)
{
	for (size_t i = 0; i < c->notes.n; i++) {
		const struct note *n = &c->notes.v[i];
		const struct lock *l = n->lock ? follow_lock(c, n) : NULL;
		struct thread *th = c->timeline->threads.v[n->thread];

		if (!l)
			continue;
		/* A wait that is charged in two parts counts once. */
		if (!n->more || !th->wait) {
			th->wait = ++c->waits;
			th->wait_since = n->start;
		}
		vec_push(&lw->all,
			 (struct charged_wait){(uint32_t)i, (uint32_t)(l - c->locks->list.v),
					       th->wait, th->wait_since});
	}
}

/* A lock with waits of at least crowd_min distinct threads has a crowd. */
static void find_crowds(const struct chain *c, struct lock_waits *lw)
{
	uint32_t *counted = mem_zalloc((c->timeline->threads.n + 1) * sizeof(*counted));

	lw->by_lock = mem_alloc((lw->all.n + 1) * sizeof(*lw->by_lock));
	lw->is_crowd = mem_zalloc(c->locks->list.n + 1);
	SPREAD(lw->all.v, lw->all.n, lock, c->locks->list.n, lw->of, lw->by_lock, lw->all.v[i_]);
	for (uint32_t l = 0; l < c->locks->list.n; l++) {
		size_t threads = 0;

		if (lw->of[l + 1] - lw->of[l] < c->crowd_min)
			continue;
		for (size_t i = lw->of[l]; i < lw->of[l + 1]; i++) {
			uint32_t *of = &counted[c->notes.v[lw->by_lock[i].note].thread];

			threads += *of != l + 1;
			*of = l + 1;
		}
		lw->is_crowd[l] = threads >= c->crowd_min;
	}
	free(counted);
}

static void charge_all(struct holder_walk *w)
{
	struct chain *c = w->c;
	struct lock_waits lw = {0};

	find_waits(c, &lw);
	find_crowds(c, &lw);
	for (size_t i = 0; i < lw.all.n; i++)
		if (!lw.is_crowd[lw.all.v[i].lock])
			charge_wait(w, &lw.all.v[i]);
	for (uint32_t l = 0; l < c->locks->list.n; l++)
		if (lw.is_crowd[l])
			crowd_charge(w, l, lw.by_lock + lw.of[l], lw.of[l + 1] - lw.of[l]);
	vec_done(&lw.all);
	free(lw.of);
	free(lw.by_lock);
	free(lw.is_crowd);
}

void charge_notes(struct chain *c)
{
	struct holder_walk w = {.c = c, .hi = UINT64_MAX};
	struct note_index ix;

	if (!c->notes.n)
		return;
	index_notes(c, &ix);
	w.ix = &ix;
	charge_all(&w);
	charge_remember(c, &ix);
	free(ix.notes_of);
	free(ix.samples_of);
	free(ix.seen_of);
	free(ix.samples);
	free(ix.seen);
}
