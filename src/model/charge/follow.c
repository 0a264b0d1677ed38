// SPDX-License-Identifier: MIT
/*
 * Follows a wait along the chain of holders.
 *
 * Who holds a lock between two moments at which something was seen of it:
 *   - it had a holder, and the same one is seen again, or lets go: that holder;
 *   - it had a holder, and then somebody gets it: that holder, until then;
 *   - it was let go, or no thread was seen to have it: the thread that is seen to have it next,
 *     which got it somewhere in between;
 *   - it had a holder, and another one is seen without a word in between: not known;
 *   - nothing more is seen: the thread that had it; or the one that was woken to take it, once it
 *     is on a CPU, for others may have been quicker; else not known.
 * Only signs within a wait count for it, except where a sign tells more: waits for the GIL end by a
 * timer every 5 ms, whoever has it (model/gil.h).
 * A thread does not wait for itself: then the holder is not known either. And a thread that waits
 * for a condition has released its mutex: one that got a lock at an unknown moment is not taken to
 * have had it before it came back from such a wait.
 *
 * So at any moment all waiters of a lock have the same holder, except in two cases: the waiter is
 * itself on the chain, or its wait ends before the next sign.
 */
#include "model/charge/charge.h"

#include "base/search.h"
#include "base/units.h"

#define LATER_NS (100 * NSEC_PER_MSEC)

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

const struct seen *chain_told(const struct seen *next, uint64_t to)
{
	return next && (next->ts <= to || next->what == SEEN_HAD) ? next : NULL;
}

static bool has_holders(const struct chain *c, const struct lock *l)
{
	if (c->decided)
		return l->kind != LOCK_FUTEX && lock_kind_class(l->kind) != LOCK_CLASS_SIGNAL &&
		       !l->for_work;
	return l->kernel || (l->families & FAMILY_HELD);
}

const struct lock *follow_lock(const struct chain *c, const struct note *n)
{
	const struct lock *l = n->lock ? locks_at(c->locks, n->lock) : NULL;

	return l && has_holders(c, l) ? l : NULL;
}

static uint32_t lock_index(const struct chain *c, const struct lock *l)
{
	return (uint32_t)(l - c->locks->list.v);
}

static bool on_chain(const struct holder_walk *w, uint32_t thread)
{
	for (unsigned i = 0; i < w->depth; i++)
		if (w->on[i] == thread)
			return true;
	return false;
}

/* One piece of the time in which `holder` held `lock`. */
static void one_doing(struct holder_walk *w, uint32_t lock, uint32_t holder, const struct note *n,
		      uint64_t from, uint64_t to)
{
	const struct lock *next = n ? follow_lock(w->c, n) : NULL;

	if (w->depth == 1)
		charge_hold(w, lock, holder + 1, n, from, to < w->hi ? to : w->hi);
	if (next && w->depth <= CHAIN_DEPTH) {
		w->on[w->depth++] = holder;
		follow(w, lock_index(w->c, next), n, from, to);
		w->depth--;
		return;
	}
	charge_end(w, holder, lock, n, false, from, to < w->hi ? to : w->hi);
}

/* The first note of a thread that ends after that moment. */
static size_t note_at(const struct note_index *ix, uint32_t thread, uint64_t ts)
{
	return SEARCH(ix->notes_of[thread], ix->notes_of[thread + 1], mid,
		      ix->notes[ix->order[mid]].end <= ts);
}

static void walk_holder(struct holder_walk *w, uint32_t lock, uint32_t holder, uint64_t from,
			uint64_t to)
{
	const struct note_index *ix = w->ix;
	size_t at = note_at(ix, holder, from), end = ix->notes_of[holder + 1];

	for (; from < to && from < w->hi && at < end; at++) {
		const struct note *n = &ix->notes[ix->order[at]];
		uint64_t until = n->end < to ? n->end : to;

		if (n->start >= to)
			break;
		if (n->start > from) {
			one_doing(w, lock, holder, NULL, from, n->start);
			from = n->start;
		}
		if (until > from && from < w->hi)
			one_doing(w, lock, holder, n, from, until);
		from = until;
	}
	if (from < to && from < w->hi)
		one_doing(w, lock, holder, NULL, from, to);
}

/* One piece in which the holder did not change. */
static void held(struct holder_walk *w, uint32_t lock, uint32_t holder, const struct note *of,
		 uint64_t from, uint64_t to)
{
	uint32_t last = w->on[w->depth - 1];
	uint32_t has = w->depth > 1 ? w->want[w->depth - 2] : 0;
	uint64_t until = to < w->hi ? to : w->hi;

	if (from >= until)
		return;
	if (holder && holder - 1 != last && !on_chain(w, holder - 1))
		walk_holder(w, lock, holder - 1, from, to);
	else if (w->depth > 1)
		charge_end(w, last, has, of, holder && holder - 1 != last, from, until);
	else
		charge_nobody(w, lock, from, until);
}

/* The first sign of a lock after that moment; the one before it is in *ret_before, or NULL. */
static size_t seen_behind(const struct holder_walk *w, uint32_t lock, uint64_t ts,
			  const struct seen **ret_before)
{
	const struct note_index *ix = w->ix;
	size_t first = ix->seen_of[lock];
	size_t lo = SEARCH(first, ix->seen_of[lock + 1], mid, ix->seen[mid].ts <= ts);

	if (lo > first)
		*ret_before = &ix->seen[lo - 1];
	else if (lock < w->c->before.n && w->c->before.v[lock].ts)
		*ret_before = &w->c->before.v[lock];
	else
		*ret_before = NULL;
	return lo;
}

/*
 * A wait in which the thread cannot have that lock: for a condition variable, whose mutex is free
 * meanwhile; for the GIL itself; and no call sleeps by choice with a lock of the kernel.
 */
static bool gives_back(const struct chain *c, const struct note *n, uint32_t lock)
{
	const struct lock *l;

	if (n->kind != INTERVAL_WAITING)
		return false;
	if (c->locks->list.v[lock].kernel)
		return c->decided && c->tally->waits.v[n->row].bare;
	l = n->lock ? locks_at(c->locks, n->lock) : NULL;
	if (!l || l->kernel)
		return false;
	if (l->families == FAMILY_GIL)
		return lock_index(c, l) == lock;
	return c->decided ? l->kind == LOCK_CONDVAR : l->families == FAMILY_SIGNAL;
}

/* When a thread that was woken at `ts` was on a CPU for the first time. */
static uint64_t ran_at(const struct note_index *ix, uint32_t thread, uint64_t ts)
{
	for (size_t at = note_at(ix, thread, ts); at < ix->notes_of[thread + 1]; at++) {
		const struct note *n = &ix->notes[ix->order[at]];

		if (n->start > ts || n->kind == INTERVAL_RUNNING)
			break;
		ts = n->end;
	}
	return ts;
}

/*
 * NULL if the sign may be wrong: the words were read later, and the thread, which then waited for a
 * condition, may have got the lock in between. They are read at most LATER_NS late.
 */
static const struct seen *believed(const struct holder_walk *w, uint32_t lock, const struct seen *a)
{
	const struct note_index *ix = w->ix;
	const struct note *n;
	size_t at;

	if (!a || !a->later)
		return a;
	at = note_at(ix, a->thread - 1, a->ts);
	n = at < ix->notes_of[a->thread] ? &ix->notes[ix->order[at]] : NULL;
	return n && n->start <= a->ts && n->end - a->ts < LATER_NS && gives_back(w->c, n, lock)
		       ? NULL
		       : a;
}

/*
 * The earliest moment from which `holder` (index + 1), which has the lock at b, can have had it:
 * after its last wait for a condition; without b, after it was first on a CPU. Never before `from`.
 */
static uint64_t held_since(const struct holder_walk *w, uint32_t lock, const struct seen *a,
			   const struct seen *b, uint32_t holder, uint64_t from)
{
	const struct note_index *ix = w->ix;
	size_t first, at;

	if (!holder || (a && (a->what == SEEN_HELD || a->what == SEEN_TAKEN)))
		return from;
	if (!b) {
		uint64_t ran = ran_at(ix, holder - 1, a->ts);

		return ran > from ? ran : from;
	}
	first = ix->notes_of[holder - 1];
	/* A wait that lasts until b does not count: the thread has the lock in it. */
	for (at = note_at(ix, holder - 1, b->ts - 1); at > first; at--) {
		const struct note *n = &ix->notes[ix->order[at - 1]];

		if (n->end <= from)
			break;
		if (gives_back(w->c, n, lock))
			return n->end;
	}
	return from;
}

/*
 * How long `holder`, which had a lock of the kernel at a, can have kept it: until its first sleep
 * by choice. For other locks nothing is assumed until the next sign: the condition that it waits
 * for may belong to another mutex.
 */
static uint64_t held_until(const struct holder_walk *w, uint32_t lock, const struct seen *a,
			   uint32_t holder, uint64_t until)
{
	const struct note_index *ix = w->ix;

	if (!w->c->locks->list.v[lock].kernel || !holder || !a || a->thread != holder ||
	    (a->what != SEEN_HELD && a->what != SEEN_TAKEN))
		return until;
	for (size_t at = note_at(ix, holder - 1, a->ts); at < ix->notes_of[holder]; at++) {
		const struct note *n = &ix->notes[ix->order[at]];

		if (n->start >= until)
			break;
		if (n->start > a->ts && gives_back(w->c, n, lock))
			return n->start;
	}
	return until;
}

void follow(struct holder_walk *w, uint32_t lock, const struct note *of, uint64_t from, uint64_t to)
{
	const struct note_index *ix = w->ix;
	size_t end = ix->seen_of[lock + 1], at;
	const struct seen *before;

	from = from > w->lo ? from : w->lo;
	at = seen_behind(w, lock, from, &before);
	w->want[w->depth - 1] = lock;
	while (from < to && from < w->hi) {
		const struct seen *told = chain_told(at < end ? &ix->seen[at] : NULL, to);
		const struct seen *next = told && told->ts <= to ? told : NULL;
		const struct seen *sign = believed(w, lock, before);
		uint64_t until = next ? next->ts : to;
		uint32_t holder = chain_holder_between(sign, told);
		uint64_t since = held_since(w, lock, sign, told, holder, from);
		uint64_t last = held_until(w, lock, sign, holder, until);

		since = since < until ? since : until;
		last = last > since ? last : since;
		held(w, lock, 0, of, from, since);
		held(w, lock, holder, of, since, last);
		held(w, lock, 0, of, last, until);
		from = until;
		before = next;
		at++;
	}
}

uint64_t follow_parts(struct holder_walk *w, uint32_t lock, uint64_t from, uint64_t to,
		      uint64_t all)
{
	const struct note_index *ix = w->ix;
	uint64_t since = from, parts = to;

	/* For the GIL no wait differs, whenever it ends. */
	if (w->c->locks->list.v[lock].families == FAMILY_GIL)
		return to;
	w->on[0] = WALK_NOBODY;
	for (w->depth = 1; all > to; w->depth++) {
		const struct seen *before, *next, *sign;
		const struct lock *inner;
		const struct note *n;
		uint32_t holder;
		size_t at = seen_behind(w, lock, to - 1, &before);

		/* The end of the wait may be a sign itself. */
		next = at < ix->seen_of[lock + 1] ? &ix->seen[at] : NULL;
		if (next && next->ts == to)
			break;
		if (next && next->ts > all)
			next = NULL;
		sign = believed(w, lock, before);
		holder = chain_holder_between(sign, NULL);
		/* A sign from notes thrown away counts as earlier than all notes left. */
		if (at > ix->seen_of[lock] && before->ts > since)
			since = before->ts;
		if (holder != chain_holder_between(sign, next) ||
		    held_since(w, lock, sign, next, holder, since) > since ||
		    held_since(w, lock, sign, NULL, holder, since) > since) {
			parts = since;
			break;
		}
		if (!holder || on_chain(w, holder - 1))
			break;
		all = held_until(w, lock, sign, holder, next ? next->ts : all);
		if (all < to)
			break;
		at = note_at(ix, holder - 1, to - 1);
		n = at < ix->notes_of[holder] ? &ix->notes[ix->order[at]] : NULL;
		inner = n && n->start < to ? follow_lock(w->c, n) : NULL;
		if (!inner || w->depth > CHAIN_DEPTH)
			break;
		since = n->start > since ? n->start : since;
		all = n->end < all ? n->end : all;
		w->on[w->depth] = holder - 1;
		lock = lock_index(w->c, inner);
	}
	return parts;
}
