// SPDX-License-Identifier: MIT
/*
 * The statements that are asked most only add up: SELECT kind, count(*), sum(ns) FROM intervals
 * GROUP BY kind. They need no intervals, only their sums by thread, kind and reason, which cost
 * next to nothing to make while the capture is read. What a wait was for is known in the end, and
 * by its row of the tally: until then waits are added up by these.
 *
 * rewrite.c finds the statements, sums_table.c is the table of what is made here.
 */
#include "sql/private.h"

#include "wire/state.h"

/* Kinds, and the runnable ones twice. */
enum { KIND_THROTTLED = INTERVAL_KINDS, SUM_KINDS };

static const uint8_t classes[SUM_KINDS] = {
	[INTERVAL_RUNNING] = CLASS_RUNNING,  [INTERVAL_RUNNABLE] = REASON_RUN_QUEUE,
	[INTERVAL_WAITING] = REASON_UNKNOWN, [INTERVAL_LOST] = CLASS_LOST,
	[KIND_THROTTLED] = REASON_THROTTLED,
};

static void add(struct sum *s, const struct sum *with)
{
	s->shortest = s->n && s->shortest < with->shortest ? s->shortest : with->shortest;
	s->longest = s->longest > with->longest ? s->longest : with->longest;
	s->n += with->n;
	s->ns += with->ns;
}

static void add_ns(struct sum *s, uint64_t ns)
{
	add(s, &(struct sum){1, ns, ns, ns});
}

/* An interval without length is none, as in lanes. */
static bool counts(struct sums *s, const struct interval *iv)
{
	if (iv->start >= iv->end)
		return false;
	if (iv->start < s->first)
		s->first = iv->start;
	return true;
}

static void add_kind(struct sums *s, const struct interval *iv, unsigned kind)
{
	size_t i = (size_t)iv->thread->index * SUM_KINDS + kind;

	while (s->kinds.n <= i)
		vec_add(&s->kinds);
	add_ns(&s->kinds.v[i], iv->end - iv->start);
}

void sums_on_kind(void *arg, const struct interval *iv)
{
	if (counts(arg, iv))
		add_kind(arg, iv, iv->kind);
}

void sums_on_reason(void *arg, const struct interval *iv)
{
	struct sums *s = arg;
	bool throttled = iv->kind == INTERVAL_RUNNABLE && iv->state & STATE_THROTTLED;

	if (!counts(s, iv))
		return;
	if (iv->kind != INTERVAL_WAITING) {
		add_kind(s, iv, throttled ? KIND_THROTTLED : iv->kind);
		return;
	}
	while (s->waits.n <= iv->row)
		vec_add(&s->waits);
	add_ns(&s->waits.v[iv->row], iv->end - iv->start);
}

void sums_clear(void *arg)
{
	struct sums *s = arg;

	s->rows.n = s->kinds.n = s->waits.n = 0;
	s->first = UINT64_MAX;
}

static void push(struct sums *s, size_t thread, unsigned class, const struct sum *sum)
{
	if (sum->n)
		vec_push(&s->rows, (struct sum_row){(uint32_t)thread, (uint8_t) class, *sum});
}

/* Rows of the tally that turned out to be for one reason are one row here. */
static void push_waits(struct sums *s, const struct model *m)
{
	struct map by = {0};

	for (size_t i = 0; i < s->waits.n; i++) {
		const struct wait_row *r = &m->tally.waits.v[i];
		uint8_t reason = r->verdict.reason;
		uint64_t *slot;
		bool fresh;

		if (!s->waits.v[i].n)
			continue;
		slot = map_put(&by, (uint64_t)r->thread->index << 8 | reason, &fresh);
		if (fresh) {
			*slot = s->rows.n;
			push(s, r->thread->index, reason, &s->waits.v[i]);
		} else {
			add(&s->rows.v[*slot].sum, &s->waits.v[i]);
		}
	}
	map_done(&by);
}

void sums_finish(struct sums *s, const struct model *m)
{
	s->rows.n = 0;
	for (size_t i = 0; m->facts.has_switches && i < s->kinds.n; i++)
		push(s, i / SUM_KINDS, classes[i % SUM_KINDS], &s->kinds.v[i]);
	if (m->facts.has_switches)
		push_waits(s, m);
	s->kinds.n = s->waits.n = 0;
}

void sums_from_lanes(struct sums *s, const struct columns *c, const struct model *m)
{
	s->rows.n = 0;
	for (size_t t = 0; m->facts.has_switches && t < c->threads.n; t++) {
		const struct lane *l = &c->threads.v[t];
		struct sum by[SLOTS] = {0};

		for (size_t i = 0; i < l->n; i++)
			add_ns(&by[class_slot(lane_class(l, i))],
			       lane_end(l, i) - lane_start(l, i));
		by[SLOT_GONE].n = 0;
		for (unsigned slot = 0; slot < SLOTS; slot++)
			push(s, t, slot_class(slot), &by[slot]);
	}
}

void sums_done(struct sums *s)
{
	vec_done(&s->rows);
	vec_done(&s->kinds);
	vec_done(&s->waits);
}
