// SPDX-License-Identifier: MIT
/*
 * The notes of chain.h, charged.
 *
 * Who holds a lock between two moments at which something was seen of it:
 *   - it had a holder, and the same one is seen again, or lets go: that one;
 *   - it had a holder, and then somebody gets it: that holder, until then;
 *   - it was let go, or nobody was seen to have it: who is seen to have it next, and got it
 *     somewhere in between;
 *   - it had a holder, and another one is seen without a word in between: not known;
 *   - nothing more is seen: who had it, or was woken to take it; else not known.
 * A thread does not wait for itself: then it is not known either.
 */
#include "model/chain.h"
#include "model/model.h"

/*
 * Notes by thread, and what was seen by lock, in the order of time. Of the notes, which are by far
 * the most, only the order: they stay where they are.
 */
struct index {
	size_t *notes_of;   /* thread -> first of its notes; one more than there are threads */
	size_t *samples_of; /* the same */
	size_t *seen_of;    /* lock -> first */
	const struct note *notes;
	const uint32_t *order; /* of notes */
	struct note_sample *samples;
	struct seen *seen;
};

struct walk {
	struct model *m;
	struct chain *c;
	struct index *ix;
	uint32_t victim;
	uint32_t first;			/* lock that it waits for */
	uint64_t number;		/* of the wait */
	uint32_t on[CHAIN_DEPTH + 1];	/* threads on the chain so far */
	uint32_t want[CHAIN_DEPTH + 1]; /* and what each waits for, which the next one holds */
	unsigned depth;
	uint32_t hold;	    /* of the first lock */
	struct piece piece; /* being put together */
};

static void take_piece(struct walk *w)
{
	chain_piece(w->c, &w->piece);
	w->piece = (struct piece){0};
}

static void add_piece(struct walk *w, uint32_t lock, uint32_t culprit, uint32_t charge,
		      uint64_t from, uint64_t to)
{
	struct piece *p = &w->piece;

	if (p->end != from || p->lock != lock || p->culprit != culprit) {
		if (p->end)
			take_piece(w);
		*p = (struct piece){.start = from,
				    .victim = w->victim,
				    .lock = lock,
				    .culprit = culprit,
				    .charge = UINT32_MAX};
	}
	p->end = to;
	if (to - from > p->part) {
		p->part = to - from;
		p->charge = charge;
	}
}

static void vote(struct chain *c, uint32_t of, uint32_t row, bool sample, uint64_t weight)
{
	uint64_t key = (uint64_t)of << 32 | row << 1 | sample, *slot;
	bool fresh;

	slot = map_put(&c->by_vote, key, &fresh);
	if (fresh) {
		*slot = c->votes.n;
		vec_push(&c->votes, (struct vote){.of = of, .row = row, .sample = sample});
	}
	c->votes.v[*slot].weight += weight;
}

/* The samples of a thread in a time in which it ran. */
static void vote_samples(struct walk *w, uint32_t of, uint32_t thread, uint64_t from, uint64_t to)
{
	const struct index *ix = w->ix;
	size_t lo = ix->samples_of[thread], hi = ix->samples_of[thread + 1], end = hi;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ix->samples[mid].ts < from)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < end && ix->samples[lo].ts < to; lo++)
		vote(w->c, of, ix->samples[lo].row, true, 1);
}

static uint32_t charge_of(struct chain *c, const struct charge *want)
{
	uint64_t key = map_mix(map_mix((uint64_t)want->culprit << 32 | want->lock) +
			       ((uint64_t)want->first << 32 | want->row)) +
		       want->doing * 2u + want->deadlock;
	uint64_t *slot;
	bool fresh;

	for (;; key += 8) {
		const struct charge *have;

		slot = map_put(&c->by_charge, key, &fresh);
		if (fresh)
			break;
		have = &c->charges.v[*slot];
		if (have->culprit == want->culprit && have->lock == want->lock &&
		    have->first == want->first && have->row == want->row &&
		    have->doing == want->doing && have->deadlock == want->deadlock)
			return (uint32_t)*slot;
	}
	*slot = c->charges.n;
	vec_push(&c->charges, *want);
	return (uint32_t)*slot;
}

/* The end of a chain: `culprit` holds `lock`, and did this. */
static void charge(struct walk *w, uint32_t culprit, uint32_t lock, const struct note *n,
		   bool deadlock, uint64_t from, uint64_t to)
{
	struct chain *c = w->c;
	struct charge want = {.culprit = culprit,
			      .lock = lock,
			      .first = w->first,
			      .row = n && n->kind != INTERVAL_RUNNING ? n->row : 0,
			      .doing = n ? n->kind : INTERVAL_LOST,
			      .deadlock = deadlock};
	uint32_t i = charge_of(c, &want);
	struct charge_victim *v;
	uint64_t *slot;
	bool fresh;

	if (w->depth > c->charges.v[i].depth)
		c->charges.v[i].depth = (uint8_t)w->depth;
	slot = map_put(&c->by_victim, (uint64_t)i << 32 | w->victim, &fresh);
	if (fresh) {
		*slot = c->victims.n;
		vec_push(&c->victims, (struct charge_victim){.charge = i, .victim = w->victim});
	}
	v = &c->victims.v[*slot];
	v->total += to - from;
	v->count += v->last != w->number;
	v->last = w->number;
	if (want.doing == INTERVAL_RUNNING)
		vote_samples(w, i * 2, culprit, from, to);
	add_piece(w, lock, culprit + 1, i, from, to);
}

static void add_hold(struct walk *w, uint32_t lock, uint32_t holder, unsigned doing, uint64_t ns)
{
	struct chain *c = w->c;
	uint32_t i = chain_hold(c, lock, holder);
	struct hold_victim *v;
	uint64_t *slot;
	bool fresh;

	slot = map_put(&c->by_hold_victim, (uint64_t)i << 32 | w->victim, &fresh);
	if (fresh) {
		*slot = c->hold_victims.n;
		vec_push(&c->hold_victims, (struct hold_victim){.hold = i, .victim = w->victim});
	}
	v = &c->hold_victims.v[*slot];
	v->blamed += ns;
	v->doing[doing] += ns;
	v->count += v->last != w->number;
	v->last = w->number;
	w->hold = i;
}

static void follow(struct walk *w, uint32_t lock, const struct note *of, uint64_t from,
		   uint64_t to);

static bool on_chain(const struct walk *w, uint32_t thread)
{
	for (unsigned i = 0; i < w->depth; i++)
		if (w->on[i] == thread)
			return true;
	return false;
}

static const struct lock *held_lock(const struct model *m, const struct note *n)
{
	uint32_t lock = n->kind == INTERVAL_WAITING ? m->tally.waits.v[n->row].lock : 0;

	return lock ? locks_at(&m->locks, lock) : NULL;
}

static bool has_holders(const struct model *m, const struct lock *l)
{
	if (m->decided)
		return l->kind != LOCK_FUTEX && lock_kind_class(l->kind) != LOCK_CLASS_SIGNAL;
	return l->kernel || (l->families & FAMILY_HELD);
}

/* One piece of the time in which `holder` held `lock`. */
static void one_doing(struct walk *w, uint32_t lock, uint32_t holder, const struct note *n,
		      uint64_t from, uint64_t to)
{
	const struct lock *next = n ? held_lock(w->m, n) : NULL;

	if (w->depth == 1) {
		add_hold(w, lock, holder + 1, n ? n->kind : INTERVAL_LOST, to - from);
		if (n && n->kind == INTERVAL_WAITING)
			vote(w->c, w->hold * 2 + 1, n->row, false, to - from);
		else if (n && n->kind == INTERVAL_RUNNING)
			vote_samples(w, w->hold * 2 + 1, holder, from, to);
	}
	if (next && has_holders(w->m, next) && w->depth <= CHAIN_DEPTH) {
		w->on[w->depth++] = holder;
		follow(w, (uint32_t)(next - w->m->locks.list.v), n, from, to);
		w->depth--;
		return;
	}
	charge(w, holder, lock, n, false, from, to);
}

static void walk_holder(struct walk *w, uint32_t lock, uint32_t holder, uint64_t from, uint64_t to)
{
	const struct index *ix = w->ix;
	size_t lo = ix->notes_of[holder], hi = ix->notes_of[holder + 1], end = hi;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ix->notes[ix->order[mid]].end <= from)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; from < to && lo < end; lo++) {
		const struct note *n = &ix->notes[ix->order[lo]];
		uint64_t until = n->end < to ? n->end : to;

		if (n->start >= to)
			break;
		if (n->start > from) {
			one_doing(w, lock, holder, NULL, from, n->start);
			from = n->start;
		}
		if (until > from)
			one_doing(w, lock, holder, n, from, until);
		from = until;
	}
	if (from < to)
		one_doing(w, lock, holder, NULL, from, to);
}

uint32_t chain_holder_between(const struct seen *a, const struct seen *b)
{
	if (a && (a->what == SEEN_HELD || a->what == SEEN_TAKEN)) {
		if (!b || b->what == SEEN_TAKEN || b->what == SEEN_NOBODY || a->thread == b->thread)
			return a->thread;
		return 0;
	}
	if (b)
		return b->what != SEEN_TAKEN ? b->thread : 0;
	return a ? a->next : 0;
}

uint32_t chain_main_holder(const struct seen *before, const struct seen *seen, size_t n,
			   uint64_t from, uint64_t to, uint32_t waiter)
{
	struct map had = {0};
	uint32_t best = 0;
	uint64_t most = 0;

	for (size_t i = 0; from < to; i++) {
		const struct seen *next = i < n && seen[i].ts <= to ? &seen[i] : NULL;
		uint64_t until = next ? next->ts : to, *ns;
		uint32_t holder = chain_holder_between(before, next);

		if (holder && holder != waiter && until > from) {
			ns = map_put(&had, holder, NULL);
			*ns += until - from;
			best = *ns > most ? holder : best;
			most = *ns > most ? *ns : most;
		}
		from = until > from ? until : from;
		before = next;
		if (!next)
			break;
	}
	map_done(&had);
	return best;
}

/* One piece in which the holder did not change. */
static void held(struct walk *w, uint32_t lock, uint32_t holder, const struct note *of,
		 uint64_t from, uint64_t to)
{
	uint32_t last = w->on[w->depth - 1];
	uint32_t has = w->depth > 1 ? w->want[w->depth - 2] : 0;

	if (holder && holder - 1 != last && !on_chain(w, holder - 1)) {
		walk_holder(w, lock, holder - 1, from, to);
	} else if (w->depth > 1) {
		charge(w, last, has, of, holder && holder - 1 != last, from, to);
	} else {
		add_hold(w, lock, 0, INTERVAL_LOST, to - from);
		add_piece(w, lock, 0, UINT32_MAX, from, to);
	}
}

/* Charges [from, to) of waiting for `lock`; `of` is how the last on the chain waits for it. */
static void follow(struct walk *w, uint32_t lock, const struct note *of, uint64_t from, uint64_t to)
{
	const struct index *ix = w->ix;
	size_t first = ix->seen_of[lock], end = ix->seen_of[lock + 1], lo = first, hi = end;
	const struct seen *before =
		lock < w->c->before.n && w->c->before.v[lock].ts ? &w->c->before.v[lock] : NULL;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (ix->seen[mid].ts <= from)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo > first)
		before = &ix->seen[lo - 1];
	w->want[w->depth - 1] = lock;
	while (from < to) {
		const struct seen *next = lo < end && ix->seen[lo].ts <= to ? &ix->seen[lo] : NULL;
		uint64_t until = next ? next->ts : to;

		if (until > from)
			held(w, lock, chain_holder_between(before, next), of, from, until);
		from = until;
		before = next;
		lo++;
	}
}

static void charge_wait(struct walk *w, const struct note *n, uint32_t lock)
{
	struct thread *th = w->m->timeline.threads.v[n->thread];

	w->victim = n->thread;
	w->first = lock;
	/* What was charged in two parts is one wait. */
	if (!n->more || !th->wait)
		th->wait = ++w->c->waits;
	w->number = th->wait;
	w->on[0] = n->thread;
	w->depth = 1;
	follow(w, lock, n, n->start, n->end);
	if (w->piece.end)
		take_piece(w);
}

/* Stable, so that the order of time stays: the n items with this key each to its own range. */
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

static void index_notes(struct model *m, struct index *ix)
{
	struct chain *c = &m->chain;
	size_t threads = m->timeline.threads.n, locks = m->locks.list.n;

	for (size_t i = 0; i < c->seen.n; i++)
		c->seen.v[i].lock = locks_index(&m->locks, c->seen.v[i].lock + 1);
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

static void remember(struct model *m, const struct index *ix)
{
	struct chain *c = &m->chain;

	while (c->before.n < m->locks.list.n)
		vec_push(&c->before, (struct seen){0});
	for (size_t i = 0; i < m->locks.list.n; i++)
		if (ix->seen_of[i + 1] > ix->seen_of[i])
			c->before.v[i] = ix->seen[ix->seen_of[i + 1] - 1];
}

void charge_notes(struct model *m)
{
	struct chain *c = &m->chain;
	struct walk w = {.m = m, .c = c};
	struct index ix;

	if (!c->notes.n)
		return;
	index_notes(m, &ix);
	w.ix = &ix;
	for (size_t i = 0; i < c->notes.n; i++) {
		const struct note *n = &c->notes.v[i];
		const struct lock *l = held_lock(m, n);

		if (l && has_holders(m, l))
			charge_wait(&w, n, (uint32_t)(l - m->locks.list.v));
	}
	remember(m, &ix);
	free(ix.notes_of);
	free(ix.samples_of);
	free(ix.seen_of);
	free(ix.samples);
	free(ix.seen);
}
