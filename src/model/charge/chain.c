// SPDX-License-Identifier: MIT
/* Takes notes while events are read; charge.c works through them. */
#include "model/charge/chain.h"

#include <stdlib.h>

#include "base/sort.h"
#include "model/charge/crowd.h"
#include "timeline/machine.h"

#define PIECES_MAX (1u << 20)
#define PIECE_MIN_NS 1000000u
#define NOTES_MANY (1u << 14)

void chain_init(struct chain *c, struct timeline *timeline, struct tally *tally,
		struct locks *locks)
{
	*c = (struct chain){.timeline = timeline,
			    .tally = tally,
			    .locks = locks,
			    .notes_max = CHAIN_NOTES_MAX,
			    .piece_min = PIECE_MIN_NS,
			    .crowd_min = CHAIN_CROWD};
}

void chain_done(struct chain *c)
{
	vec_done(&c->seen);
	vec_done(&c->notes);
	vec_done(&c->order);
	vec_done(&c->samples);
	vec_done(&c->before);
	vec_done(&c->charges);
	vec_done(&c->victims);
	vec_done(&c->holds);
	vec_done(&c->hold_victims);
	vec_done(&c->votes);
	vec_done(&c->pieces);
	vec_done(&c->recent);
	for (size_t i = 0; i < c->crowds.n; i++)
		crowd_done(&c->crowds.v[i]);
	vec_done(&c->crowds);
	map_done(&c->by_charge);
	map_done(&c->by_victim);
	map_done(&c->by_hold);
	map_done(&c->by_hold_victim);
	map_done(&c->by_vote);
}

static void chain_make_room(struct chain *c)
{
	if (c->notes.n + c->seen.n + c->samples.n >= c->notes_max)
		chain_charge(c, false);
}

static void note_seen(struct chain *c, const struct seen *seen)
{
	if (c->off)
		return;
	chain_make_room(c);
	vec_push(&c->seen, *seen);
	if (c->sink)
		c->sink(c->sink_arg, seen);
}

void chain_seen(struct chain *c, uint32_t lock, uint64_t ts, enum seen_what what, struct thread *th)
{
	note_seen(c, &(struct seen){.ts = ts,
				    .lock = lock,
				    .thread = th ? th->index + 1 : 0,
				    .what = (uint8_t)what});
	if (th)
		th->watched = true;
}

void chain_held_later(struct chain *c, uint32_t lock, uint64_t ts, struct thread *th)
{
	note_seen(c, &(struct seen){.ts = ts,
				    .lock = lock,
				    .thread = th->index + 1,
				    .what = SEEN_HELD,
				    .later = true});
	th->watched = true;
}

void chain_released(struct chain *c, uint32_t lock, uint64_t ts, struct thread *th,
		    struct thread *next)
{
	bool gil = c->locks->list.v[lock].families == FAMILY_GIL;
	enum seen_what what = gil ? SEEN_HAD : SEEN_RELEASED;

	note_seen(c, &(struct seen){.ts = ts,
				    .lock = lock,
				    .thread = th ? th->index + 1 : 0,
				    .next = next->index + 1,
				    .what = (uint8_t)what});
	if (th)
		th->watched = true;
	next->watched = true;
}

struct chain_recent *chain_recent(struct chain *c, uint32_t thread)
{
	while (c->recent.n <= thread)
		vec_add(&c->recent);
	return &c->recent.v[thread];
}

static uint32_t find_hold(struct chain *c, uint32_t lock, uint32_t holder)
{
	bool fresh;
	uint64_t *slot = map_put(&c->by_hold, (uint64_t)lock << 32 | holder, &fresh);

	if (fresh) {
		*slot = c->holds.n;
		vec_push(&c->holds, (struct hold){.lock = lock, .holder = holder});
	}
	return (uint32_t)*slot;
}

uint32_t chain_hold(struct chain *c, uint32_t lock, uint32_t holder)
{
	struct chain_recent *r = holder ? chain_recent(c, holder - 1) : NULL;

	if (!r)
		return find_hold(c, lock, holder);
	if (!r->hold || c->holds.v[r->hold - 1].lock != lock)
		r->hold = find_hold(c, lock, holder) + 1;
	return r->hold - 1;
}

void chain_release_stack(struct chain *c, uint32_t lock, const struct thread *th, uint32_t kstack,
			 uint32_t ustack)
{
	uint32_t i = chain_hold(c, lock, th->index + 1);
	struct hold *h = &c->holds.v[i];

	if (h->release_ustack || (h->release_kstack && !ustack))
		return;
	h->release_kstack = kstack;
	h->release_ustack = ustack;
}

static uint64_t piece_whole_ns(const struct wait_piece *p)
{
	return p->before + p->end - p->start + p->after;
}

/* Drops the shortest pieces when there are too many. */
void chain_piece(struct chain *c, const struct wait_piece *p)
{
	size_t kept = 0;

	if (piece_whole_ns(p) < c->piece_min)
		return;
	while (c->pieces.n >= PIECES_MAX) {
		c->piece_min *= 2;
		kept = 0;
		for (size_t i = 0; i < c->pieces.n; i++)
			if (piece_whole_ns(&c->pieces.v[i]) >= c->piece_min)
				c->pieces.v[kept++] = c->pieces.v[i];
		c->pieces.n = kept;
	}
	vec_push(&c->pieces, *p);
}

/* A long wait without a lock may be part of a stall: others may wait for the same thing. */
static void note_long(struct chain *c, const struct interval *iv, uint32_t row)
{
	const struct timeline *t = c->timeline;
	struct wait_piece p = {.start = iv->start,
			       .end = iv->end,
			       .before = timeline_cut_before(t, iv->thread, iv->start),
			       .after = timeline_cut_after(t, iv->thread, iv->end),
			       .victim = iv->thread->index,
			       .lock = UINT32_MAX,
			       .row = row};

	if (timeline_whole_ns(t, iv) < STALL_MIN_NS || iv->lock)
		return;
	if (iv->kind == INTERVAL_RUNNABLE && (iv->state & STATE_THROTTLED))
		p.reason = REASON_THROTTLED;
	else if (iv->kind != INTERVAL_WAITING || !(iv->state & ~(uint32_t)STATE_INTERRUPTIBLE) ||
		 (iv->state & STATE_NOLOAD))
		return;
	chain_piece(c, &p);
}

/* A recording with this many notes will have more: reserves the maximum at once, in large pages. */
static void more_notes(struct chain *c)
{
	struct note *all;

	if (c->notes.n < NOTES_MANY || c->notes.n >= c->notes_max) {
		vec_reserve(&c->notes, c->notes.n + 1);
		return;
	}
	c->notes.room = c->notes_max + NOTES_MANY;
	all = mem_slab(c->notes.room * sizeof(*all));
	memcpy(all, c->notes.v, c->notes.n * sizeof(*all));
	free(c->notes.v);
	c->notes.v = all;
}

static inline void note_span(struct chain *c, const struct thread *th, enum interval_kind kind,
			     uint64_t from, uint64_t end, uint32_t row, uint32_t lock)
{
	uint64_t start = later(from, th->charged);

	if (start >= end)
		return;
	if (__builtin_expect(c->notes.n == c->notes.room, 0))
		more_notes(c);
	c->notes.v[c->notes.n++] = (struct note){.start = start,
						 .end = end,
						 .thread = th->index,
						 .row = row,
						 .lock = lock,
						 .kind = (uint8_t)kind,
						 .more = start > from};
}

static void chain_note(struct chain *c, const struct interval *iv, uint32_t row)
{
	if (iv->kind == INTERVAL_RUNNABLE)
		row = iv->state & STATE_THROTTLED ? 1 : 0;
	note_span(c, iv->thread, iv->kind, iv->start, iv->end, row,
		  iv->kind == INTERVAL_WAITING ? iv->lock : 0);
}

void chain_did(struct chain *c, const struct thread *th, enum interval_kind kind, uint64_t start,
	       uint64_t end)
{
	note_span(c, th, kind, start, end, 0, 0);
}

void chain_interval(struct chain *c, const struct interval *iv, uint32_t row)
{
	struct thread *th = (struct thread *)iv->thread;

	note_long(c, iv, row);
	if (iv->kind == INTERVAL_WAITING && iv->lock)
		th->watched = true;
	if (!th->watched)
		return;
	chain_note(c, iv, row);
}

void chain_sample(struct chain *c, const struct thread *th, uint64_t ts, uint32_t row)
{
	vec_push(&c->samples, (struct note_sample){.ts = ts, .thread = th->index, .row = row});
}

static void note_inside(struct chain *c, struct interval iv)
{
	const struct timeline *t = c->timeline;

	iv.start = later(iv.start, t->from);
	iv.end = iv.end < t->to ? iv.end : t->to;
	if (iv.start < iv.end)
		chain_note(c, &iv, iv.kind == INTERVAL_WAITING ? tally_wait_row(c->tally, &iv) : 0);
}

/* Notes the open interval of a thread up to now. */
static void note_open(struct chain *c, struct thread *th)
{
	const struct timeline *t = c->timeline;
	struct life *l = th->life;
	struct interval iv = {.start = l->since,
			      .end = t->now < t->to ? t->now : t->to,
			      .thread = th,
			      .kind = l->phase,
			      .state = l->state,
			      .call = l->call,
			      .lock = l->lock};

	for (unsigned i = 0; i < l->held_n; i++)
		note_inside(c, l->held[i]);
	if (l->phase < INTERVAL_LOST)
		note_inside(c, iv);
	th->charged = iv.end > th->charged ? iv.end : th->charged;
}

static void order_votes(struct chain *c)
{
	struct sort_key *by = mem_alloc((c->votes.n + 1) * sizeof(*by));
	struct vote *sorted = mem_alloc((c->votes.n + 1) * sizeof(*sorted));

	for (uint32_t i = 0; i < c->votes.n; i++)
		by[i] = (struct sort_key){
			vote_key(c->votes.v[i].of, c->votes.v[i].row, c->votes.v[i].sample), i};
	sort_keys(by, c->votes.n);
	for (size_t i = 0; i < c->votes.n; i++)
		sorted[i] = c->votes.v[by[i].at];
	free(c->votes.v);
	c->votes.v = sorted;
	c->votes.room = c->votes.n + 1;
	free(by);
}

void chain_charge(struct chain *c, bool at_end)
{
	struct timeline *t = c->timeline;

	for (size_t i = 0; !at_end && i < t->threads.n; i++)
		if (t->threads.v[i]->watched && t->threads.v[i]->life)
			note_open(c, t->threads.v[i]);
	charge_notes(c);
	c->notes.n = c->samples.n = c->seen.n = 0;
	if (at_end)
		order_votes(c);
}
