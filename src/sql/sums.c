// SPDX-License-Identifier: MIT
/*
 * The tables interval_sums and wait_sums. Most questions only add up and need no intervals: sums
 * cost next to nothing while the capture is read. The reason of a wait is known only at the end,
 * for its row of the tally: until then waits are added up by row.
 */
#include "sql/private.h"

static void sums_add(struct sum *s, const struct sum *with)
{
	s->shortest = s->n && s->shortest < with->shortest ? s->shortest : with->shortest;
	s->longest = s->longest > with->longest ? s->longest : with->longest;
	s->n += with->n;
	s->ns += with->ns;
}

static void add_ns(struct sum *s, uint64_t ns)
{
	sums_add(s, &(struct sum){1, ns, ns, ns});
}

/* An interval without length is none, as in lanes. */
static bool sums_counts(struct sums *s, const struct interval *iv)
{
	if (iv->start >= iv->end)
		return false;
	if (iv->start < s->first)
		s->first = iv->start;
	return true;
}

void sums_on_kind(void *arg, const struct interval *iv)
{
	struct sums *s = arg;
	size_t i = (size_t)iv->thread->index * INTERVAL_KINDS + iv->kind;

	if (!sums_counts(s, iv))
		return;
	while (s->by_kind.n <= i)
		vec_add(&s->by_kind);
	add_ns(&s->by_kind.v[i], iv->end - iv->start);
}

void sums_on_reason(void *arg, const struct interval *iv)
{
	struct sums *s = arg;

	sums_on_kind(s, iv);
	if (iv->kind != INTERVAL_WAITING || iv->start >= iv->end)
		return;
	while (s->by_row.n <= iv->row)
		vec_add(&s->by_row);
	add_ns(&s->by_row.v[iv->row], iv->end - iv->start);
}

void sums_clear(void *arg)
{
	struct sums *s = arg;

	s->kinds.n = s->reasons.n = s->by_kind.n = s->by_row.n = 0;
	s->first = UINT64_MAX;
}

/* Merges rows of the tally that turned out to have the same reason. */
static void add_reasons(struct sums *s, const struct model *m)
{
	struct map by = {0};

	for (size_t i = 0; i < s->by_row.n; i++) {
		const struct wait_row *r = &m->tally.waits.v[i];
		uint8_t reason = r->verdict.reason;
		uint64_t *slot;
		bool fresh;

		if (!s->by_row.v[i].n)
			continue;
		slot = map_put(&by, (uint64_t)r->thread->index << 8 | reason, &fresh);
		if (fresh) {
			*slot = s->reasons.n;
			vec_push(&s->reasons,
				 (struct sum_row){r->thread->index, reason, s->by_row.v[i]});
		} else {
			sums_add(&s->reasons.v[*slot].sum, &s->by_row.v[i]);
		}
	}
	map_done(&by);
}

static void add_kind(struct sums *s, size_t thread, unsigned kind, const struct sum *sum)
{
	if (sum->n)
		vec_push(&s->kinds, (struct sum_row){(uint32_t)thread, (uint8_t)kind, *sum});
}

void sums_finish(struct sums *s, const struct model *m)
{
	s->kinds.n = s->reasons.n = 0;
	if (m->facts.has_switches) {
		for (size_t i = 0; i < s->by_kind.n; i++)
			add_kind(s, i / INTERVAL_KINDS, i % INTERVAL_KINDS, &s->by_kind.v[i]);
		add_reasons(s, m);
	}
	s->by_kind.n = s->by_row.n = 0;
}

static void add_lane(struct sums *s, size_t thread, const struct lane *l)
{
	struct sum kinds[INTERVAL_KINDS] = {0}, reasons[SLOTS] = {0};

	for (size_t i = 0; i < l->n; i++) {
		unsigned class = lane_class(l, i);
		uint64_t ns = lane_end(l, i) - lane_start(l, i);

		if (class_slot(class) == SLOT_GONE)
			continue;
		add_ns(&kinds[class_kind(class)], ns);
		if (class_kind(class) == INTERVAL_WAITING)
			add_ns(&reasons[class_slot(class)], ns);
	}
	for (unsigned k = 0; k < INTERVAL_KINDS; k++)
		add_kind(s, thread, k, &kinds[k]);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		if (reasons[slot].n)
			vec_push(&s->reasons,
				 (struct sum_row){(uint32_t)thread, (uint8_t)slot_class(slot),
						  reasons[slot]});
}

void sums_from_lanes(struct sums *s, const struct columns *c, const struct model *m)
{
	s->kinds.n = s->reasons.n = 0;
	for (size_t t = 0; m->facts.has_switches && t < c->threads.n; t++)
		add_lane(s, t, &c->threads.v[t]);
}

size_t sums_rows(const struct sums *s, enum table t)
{
	return t == TABLE_WAIT_SUMS ? s->reasons.n : s->kinds.n;
}

/* Both tables have their columns in the same order. */
void sums_cell(const struct sums *s, const struct model *m, enum table t, size_t row,
	       unsigned column, struct cell *ret)
{
	const struct sum_row *r = t == TABLE_WAIT_SUMS ? &s->reasons.v[row] : &s->kinds.v[row];
	const struct thread *th = m->timeline.threads.v[r->thread];

	_Static_assert(COL(INTERVAL_SUMS, max_ns) == COL(WAIT_SUMS, max_ns), "one order");
	switch (column) {
	case COL(WAIT_SUMS, thread_id):
		return cell_int(ret, th->index);
	case COL(WAIT_SUMS, tid):
		return cell_int(ret, th->tid);
	case COL(WAIT_SUMS, pid):
		return cell_id(ret, th->pid);
	case COL(WAIT_SUMS, reason):
		return cell_word(ret, t == TABLE_WAIT_SUMS ? reason_name(r->key)
							   : interval_kind_name(r->key));
	case COL(WAIT_SUMS, waits):
		return cell_int(ret, r->sum.n);
	case COL(WAIT_SUMS, total_ns):
		return cell_int(ret, r->sum.ns);
	case COL(WAIT_SUMS, min_ns):
		return cell_int(ret, r->sum.shortest);
	default:
		return cell_int(ret, r->sum.longest);
	}
}

void sums_done(struct sums *s)
{
	vec_done(&s->kinds);
	vec_done(&s->reasons);
	vec_done(&s->by_kind);
	vec_done(&s->by_row);
}
