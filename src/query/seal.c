// SPDX-License-Identifier: MIT
/*
 * Adds what is known only at the end of a recording: when it really began, the reason of each wait,
 * what a CPU did when no thread ran on it, and which locks were one and the same.
 */
#include "base/parallel.h"
#include "base/sort.h"
#include "query/columns.h"

static uint64_t seal_duration(const struct model *m)
{
	return m->timeline.end - m->timeline.begin;
}

/* From the base of the columns to the start of the recording. */
static uint64_t moved(const struct columns *c, const struct model *m, uint64_t ts)
{
	uint64_t begin = m->timeline.begin, abs = ts + c->base;

	return abs <= begin ? 0 : abs - begin < LANE_TIME_MAX ? abs - begin : LANE_TIME_MAX;
}

static void seal_settle(struct columns *c, const struct model *m, struct lane *l)
{
	uint64_t slots = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct stretch *s = lane_at(l, i);
		unsigned class = s->at & 0xff;

		if (class == CLASS_WAIT)
			class = m->tally.waits.v[s->row].verdict.reason;
		s->at = moved(c, m, s->at >> 8) << 8 | class;
		slots |= 1ull << class_slot(class);
	}
	l->slots = slots;
	l->end = moved(c, m, l->end);
}

static int seal_by_ts(const void *pa, const void *pb)
{
	const struct sample *a = pa, *b = pb;

	return (a->ts > b->ts) - (a->ts < b->ts);
}

static void settle_samples(struct columns *c, const struct model *m, struct sample_list *l)
{
	bool sorted = true;

	for (size_t i = 0; i < l->n; i++) {
		l->v[i].ts = moved(c, m, l->v[i].ts);
		sorted &= !i || l->v[i - 1].ts <= l->v[i].ts;
	}
	if (!sorted)
		sort_by(l->v, l->n, sizeof(*l->v), seal_by_ts);
}

/* Places one period for each sample within [from, to), in order and without overlap. */
static void seal_place(const struct sample_list *l, uint64_t period, uint64_t from, uint64_t to,
		       uint64_t *starts)
{
	uint64_t at = from, limit = to;

	for (size_t i = 0; i < l->n; i++) {
		uint64_t want = l->v[i].ts > period ? l->v[i].ts - period : 0;

		starts[i] = want > at ? want : at;
		at = starts[i] + period;
	}
	for (size_t i = l->n; i-- > 0;) {
		if (starts[i] + period <= limit)
			break;
		starts[i] = limit > from + period ? limit - period : from;
		limit = starts[i];
	}
}

/* A thread of which only samples are known. */
static void run_samples(struct columns *c, size_t thread, uint64_t period)
{
	struct lane *old = &c->threads.v[thread], with = {0};
	const struct sample_list *l = &c->samples.v[thread];
	uint64_t at, *starts;

	if (!l->n || !old->n || !period)
		return;
	starts = mem_alloc(l->n * sizeof(*starts));
	at = lane_start(old, 0);
	seal_place(l, period, at, old->end, starts);
	for (size_t i = 0; i < l->n; i++) {
		uint64_t until = starts[i] + period < old->end ? starts[i] + period : old->end;

		if (at < starts[i])
			lane_push(&with, &c->arena, at, starts[i], CLASS_LOST, 0, 0);
		lane_push(&with, &c->arena, starts[i], until, CLASS_RUNNING, l->v[i].cpu, 0);
		at = until > at ? until : at;
	}
	lane_push(&with, &c->arena, at, old->end, CLASS_LOST, 0, 0);
	free(starts);
	lane_done(old);
	*old = with;
}

struct ran {
	uint64_t start, end;
	uint32_t thread, cpu;
};

static int by_cpu(const void *pa, const void *pb)
{
	const struct ran *a = pa, *b = pb;

	if (a->cpu != b->cpu)
		return a->cpu > b->cpu ? 1 : -1;
	if (a->start != b->start)
		return a->start > b->start ? 1 : -1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

static void run_sampled_cpus(struct columns *c)
{
	VEC(struct ran) all = {0};

	for (size_t t = 0; t < c->threads.n; t++) {
		const struct lane *l = &c->threads.v[t];

		for (size_t i = 0; i < l->n; i++)
			if (lane_class(l, i) == CLASS_RUNNING)
				vec_push(&all, (struct ran){lane_start(l, i), lane_end(l, i),
							    (uint32_t)t, lane_at(l, i)->row});
	}
	sort_by(all.v, all.n, sizeof(*all.v), by_cpu);
	for (size_t i = 0; i < all.n; i++) {
		const struct ran *r = &all.v[i];

		while (c->cpus.n <= r->cpu)
			vec_add(&c->cpus);
		if (!c->cpus.v[r->cpu].n)
			lane_push(&c->cpus.v[r->cpu], &c->arena, 0, r->start, CLASS_GONE, 0, 0);
		lane_push(&c->cpus.v[r->cpu], &c->arena, r->start, r->end, CLASS_RUNNING, r->thread,
			  0);
	}
	vec_done(&all);
}

/* Fills time in which no recorded thread ran on the CPU: CLASS_LOST, or `otherwise`. */
static void seal_fill(struct lane *l, struct arena *a, const struct model *m,
		      const struct span_list *lost, uint64_t from, uint64_t to, unsigned otherwise)
{
	uint64_t begin = m->timeline.begin;

	while (from < to) {
		const struct span *s = spans_next(lost, begin + from);
		uint64_t start = s && s->start > begin ? s->start - begin : s ? 0 : to;
		uint64_t end = s && s->end > begin ? s->end - begin : to;

		if (start > from)
			lane_push(l, a, from, start < to ? start : to, otherwise, 0, 0);
		if (start < to)
			lane_push(l, a, start, end < to ? end : to, CLASS_LOST, 0, 0);
		from = end < to && end > from ? end : to;
	}
}

static void fill_cpu(struct columns *c, const struct model *m, size_t cpu)
{
	const struct span_list *lost = spans_of(&m->timeline.spans, (uint32_t)cpu);
	unsigned otherwise = m->facts.whole_machine ? CLASS_IDLE : CLASS_GONE;
	struct lane *l = &c->cpus.v[cpu], with = {0};

	for (size_t i = 0; i < l->n; i++) {
		if (lane_class(l, i) == CLASS_GONE)
			seal_fill(&with, &c->arena, m, lost, lane_start(l, i), lane_end(l, i),
				  otherwise);
		else
			lane_push(&with, &c->arena, lane_start(l, i), lane_end(l, i),
				  lane_class(l, i), lane_at(l, i)->row, 0);
	}
	seal_fill(&with, &c->arena, m, lost, l->end, seal_duration(m), otherwise);
	lane_done(l);
	*l = with;
}

/*
 * What the holes in a CPU's lane were is known only now. Where nothing was lost, all get the same
 * class; otherwise the lane is rebuilt.
 */
static void name_holes(struct columns *c, const struct model *m, size_t cpu)
{
	struct lane *l = &c->cpus.v[cpu];
	unsigned otherwise = m->facts.whole_machine ? CLASS_IDLE : CLASS_GONE;

	if (spans_of(&m->timeline.spans, (uint32_t)cpu)->n) {
		fill_cpu(c, m, cpu);
		return;
	}
	for (size_t i = 0; otherwise != CLASS_GONE && i < l->n; i++) {
		struct stretch *s = lane_at(l, i);

		if ((s->at & 0xff) == CLASS_GONE)
			s->at = (s->at & ~0xffull) | otherwise;
	}
	l->slots |= 1ull << class_slot(otherwise);
	lane_push(l, &c->arena, l->end, seal_duration(m), otherwise, 0, 0);
}

static void seal_seen(struct columns *c, const struct model *m)
{
	size_t locks = m->locks.list.n, n = c->seen.n;
	struct seen *sorted = mem_alloc((n + 1) * sizeof(*sorted));
	size_t *of = mem_zalloc((locks + 2) * sizeof(*of));

	for (size_t i = 0; i < n; i++) {
		struct seen *s = &c->seen.v[i];

		s->ts = moved(c, m, s->ts);
		s->lock = locks_index(&m->locks, s->lock + 1);
		of[s->lock + 2]++;
	}
	for (size_t i = 1; i < locks + 2; i++)
		of[i] += of[i - 1];
	for (size_t i = 0; i < n; i++)
		sorted[of[c->seen.v[i].lock + 1]++] = c->seen.v[i];
	vec_done(&c->seen);
	c->seen.v = sorted;
	c->seen.n = n;
	c->seen.room = n + 1;
	c->seen_of = of;
	c->locks = locks;
}

struct sealing {
	struct columns *c;
	const struct model *m;
};

/* Lanes by number: the threads', then the CPUs'. */
static struct lane *lane_of(const struct columns *c, size_t i)
{
	return i < c->threads.n ? &c->threads.v[i] : &c->cpus.v[i - c->threads.n];
}

static void settle_one(void *arg, size_t i)
{
	const struct sealing *s = arg;

	seal_settle(s->c, s->m, lane_of(s->c, i));
	if (i < s->c->samples.n)
		settle_samples(s->c, s->m, &s->c->samples.v[i]);
}

static void seal_one(void *arg, size_t i)
{
	const struct sealing *s = arg;

	lane_seal(lane_of(s->c, i));
}

void columns_seal(struct columns *c, const struct model *m)
{
	struct sealing s = {c, m};
	size_t threads = m->timeline.threads.n;

	while (c->threads.n < threads)
		vec_add(&c->threads);
	while (c->samples.n < threads)
		vec_add(&c->samples);
	while (m->facts.whole_machine && c->cpus.n < m->timeline.cpus.n)
		vec_add(&c->cpus);
	parallel(c->threads.n + c->cpus.n, settle_one, &s);
	for (size_t i = 0; !m->facts.has_switches && i < c->threads.n; i++)
		run_samples(c, i, m->timeline.sample_ns);
	if (!m->facts.has_switches)
		run_sampled_cpus(c);
	for (size_t i = 0; i < c->cpus.n; i++)
		name_holes(c, m, i);
	parallel(c->threads.n + c->cpus.n, seal_one, &s);
	seal_seen(c, m);
	map_done(&c->by_waker);
}
