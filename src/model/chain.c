// SPDX-License-Identifier: MIT
/* Taking notes while events are read; charge.c works through them. */
#include "model/chain.h"

#include <stdlib.h>

#include "model/machine.h"
#include "model/model.h"
#include "model/stalls.h"

#define PIECES_MAX (1u << 20)
#define PIECE_MIN_NS 1000000u
#define NOTES_MANY (1u << 14)

void chain_init(struct chain *c)
{
	*c = (struct chain){.notes_max = CHAIN_NOTES_MAX, .piece_min = PIECE_MIN_NS};
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
	map_done(&c->by_charge);
	map_done(&c->by_victim);
	map_done(&c->by_hold);
	map_done(&c->by_hold_victim);
	map_done(&c->by_vote);
}

static void make_room(struct model *m)
{
	struct chain *c = &m->chain;

	if (c->notes.n + c->seen.n + c->samples.n >= c->notes_max)
		chain_charge(m, false);
}

static void note_seen(struct model *m, const struct seen *seen)
{
	if (m->reasons_only)
		return;
	make_room(m);
	vec_push(&m->chain.seen, *seen);
	if (m->seen_sink)
		m->seen_sink(m->sink_arg, seen);
}

void chain_seen(struct model *m, uint32_t lock, uint64_t ts, enum seen_what what, struct thread *th)
{
	note_seen(m, &(struct seen){.ts = ts,
				    .lock = lock,
				    .thread = th ? th->index + 1 : 0,
				    .what = (uint8_t)what});
	if (th)
		th->watched = true;
}

void chain_released(struct model *m, uint32_t lock, uint64_t ts, struct thread *th,
		    struct thread *next)
{
	note_seen(m, &(struct seen){.ts = ts,
				    .lock = lock,
				    .thread = th ? th->index + 1 : 0,
				    .next = next->index + 1,
				    .what = SEEN_RELEASED});
	if (th)
		th->watched = true;
	next->watched = true;
}

uint32_t chain_hold(struct chain *c, uint32_t lock, uint32_t holder)
{
	bool fresh;
	uint64_t *slot = map_put(&c->by_hold, (uint64_t)lock << 32 | holder, &fresh);

	if (fresh) {
		*slot = c->holds.n;
		vec_push(&c->holds, (struct hold){.lock = lock, .holder = holder});
	}
	return (uint32_t)*slot;
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

/* Too many: the short ones go, until there is room again. */
void chain_piece(struct chain *c, const struct piece *p)
{
	size_t kept = 0;

	if (p->end - p->start < c->piece_min)
		return;
	while (c->pieces.n >= PIECES_MAX) {
		c->piece_min *= 2;
		kept = 0;
		for (size_t i = 0; i < c->pieces.n; i++)
			if (c->pieces.v[i].end - c->pieces.v[i].start >= c->piece_min)
				c->pieces.v[kept++] = c->pieces.v[i];
		c->pieces.n = kept;
	}
	vec_push(&c->pieces, *p);
}

/* A long wait that is none for a lock may be for what others wait for too. */
static void note_long(struct chain *c, const struct interval *iv, uint32_t row)
{
	struct piece p = {.start = iv->start,
			  .end = iv->end,
			  .victim = iv->thread->index,
			  .lock = UINT32_MAX,
			  .charge = UINT32_MAX,
			  .row = row};

	if (iv->end - iv->start < STALL_MIN_NS || iv->lock)
		return;
	if (iv->kind == INTERVAL_RUNNABLE && (iv->state & STATE_THROTTLED))
		p.reason = REASON_THROTTLED;
	else if (iv->kind != INTERVAL_WAITING || !(iv->state & ~(uint32_t)STATE_INTERRUPTIBLE) ||
		 (iv->state & STATE_NOLOAD))
		return;
	chain_piece(c, &p);
}

/* A recording with so many will have more: all that are ever kept, in large pages. */
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
			     uint64_t from, uint64_t end, uint32_t row)
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
						 .kind = (uint8_t)kind,
						 .more = start > from};
}

static void note(struct chain *c, const struct interval *iv, uint32_t row)
{
	if (iv->kind == INTERVAL_RUNNABLE)
		row = iv->state & STATE_THROTTLED ? 1 : 0;
	note_span(c, iv->thread, iv->kind, iv->start, iv->end, row);
}

void chain_did(struct chain *c, const struct thread *th, enum interval_kind kind, uint64_t start,
	       uint64_t end)
{
	note_span(c, th, kind, start, end, 0);
}

void chain_interval(struct model *m, const struct interval *iv, uint32_t row)
{
	struct chain *c = &m->chain;
	struct thread *th = (struct thread *)iv->thread;

	note_long(c, iv, row);
	if (iv->kind == INTERVAL_WAITING && iv->lock)
		th->watched = true;
	if (!th->watched)
		return;
	note(c, iv, row);
}

void chain_sample(struct model *m, const struct thread *th, uint64_t ts, uint32_t row)
{
	vec_push(&m->chain.samples,
		 (struct note_sample){.ts = ts, .thread = th->index, .row = row});
}

/* What a thread is in the middle of, as far as it goes. */
static void note_open(struct model *m, struct thread *th)
{
	const struct timeline *t = &m->timeline;
	struct life *l = th->life;
	struct interval iv = {.start = l->since,
			      .end = t->now < t->to ? t->now : t->to,
			      .thread = th,
			      .kind = l->phase,
			      .state = l->state,
			      .call = l->call,
			      .lock = l->lock};

	for (unsigned i = 0; i < l->held_n; i++) {
		const struct interval *h = &l->held[i];

		note(&m->chain, h, h->kind == INTERVAL_WAITING ? tally_wait_row(&m->tally, h) : 0);
	}
	if (l->phase < INTERVAL_LOST)
		note(&m->chain, &iv,
		     l->phase == INTERVAL_WAITING ? tally_wait_row(&m->tally, &iv) : 0);
	th->charged = iv.end > th->charged ? iv.end : th->charged;
}

static int by_voter(const void *pa, const void *pb)
{
	const struct vote *a = pa, *b = pb;

	if (a->of != b->of)
		return a->of > b->of ? 1 : -1;
	if (a->row != b->row)
		return a->row > b->row ? 1 : -1;
	return a->sample - b->sample;
}

void chain_charge(struct model *m, bool at_end)
{
	struct timeline *t = &m->timeline;
	struct chain *c = &m->chain;

	for (size_t i = 0; !at_end && i < t->threads.n; i++)
		if (t->threads.v[i]->watched && t->threads.v[i]->life)
			note_open(m, t->threads.v[i]);
	charge_notes(m);
	c->notes.n = c->samples.n = c->seen.n = 0;
	if (at_end && c->votes.n)
		qsort(c->votes.v, c->votes.n, sizeof(*c->votes.v), by_voter);
}
