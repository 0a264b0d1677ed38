// SPDX-License-Identifier: MIT
#include "query/sums.h"

#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"

/*
 * Stretches from sum to sum. Many rows need more: sums take at most 1/8 of the stretches'
 * memory.
 */
#define STEP 4096
#define STEP_ROWS 4

/* Stretches [i, end) of a lane, cut to [from, to): block by block. */
static void scan(const struct lane *l, size_t i, size_t end, uint64_t from, uint64_t to,
		 uint64_t *out)
{
	while (i < end) {
		const struct stretch *block = l->blocks[i / LANE_BLOCK];
		size_t k = i % LANE_BLOCK,
		       n = end - (i - k) < LANE_BLOCK ? end - (i - k) : LANE_BLOCK;
		uint64_t start = block[k].at >> 8, until;

		for (; k < n; k++, i++, start = until) {
			until = k + 1 < n ? block[k + 1].at >> 8 : lane_end(l, i);
			if (class_is_wait(block[k].at & 0xff) && start < to && until > from)
				out[block[k].row] +=
					(until < to ? until : to) - (start > from ? start : from);
		}
	}
}

static void make_steps(struct row_sums *s, struct thread_sums *t, const struct lane *l)
{
	size_t step = t->n * STEP_ROWS > STEP ? t->n * STEP_ROWS : STEP;
	uint64_t *now, *at;

	step = (step + LANE_BLOCK - 1) / LANE_BLOCK * LANE_BLOCK;
	if (!t->n || l->n < 2 * step)
		return;
	t->step = step;
	t->at = at = mem_alloc(l->n / step * t->n * sizeof(*t->at));
	now = mem_zalloc(t->n * sizeof(*now));
	for (size_t i = 0; i < l->n / step * step; i++) {
		const struct stretch *one = lane_at(l, i);

		if (class_is_wait(one->at & 0xff))
			now[s->place[one->row]] += lane_end(l, i) - lane_start(l, i);
		if ((i + 1) % step)
			continue;
		memcpy(at, now, t->n * sizeof(*at));
		at += t->n;
	}
	free(now);
}

struct sums_making {
	struct row_sums *sums;
	const struct columns *c;
};

static void steps_of_one(void *arg, size_t i)
{
	const struct sums_making *k = arg;

	make_steps(k->sums, &k->sums->threads[i], &k->c->threads.v[i]);
}

struct row_sums *sums_new(const struct model *m, const struct columns *c)
{
	size_t n = c->threads.n, rows = m->tally.waits.n, first = 0;
	struct row_sums *s = mem_zalloc(sizeof(*s));

	s->n = n;
	s->threads = mem_zalloc((n + 1) * sizeof(*s->threads));
	s->rows = mem_alloc((rows + 1) * sizeof(*s->rows));
	s->place = mem_alloc((rows + 1) * sizeof(*s->place));
	for (size_t i = 0; i < rows; i++)
		s->place[i] = (uint32_t)s->threads[m->tally.waits.v[i].thread->index].n++;
	for (size_t i = 0; i < n; i++) {
		s->threads[i].first = first;
		first += s->threads[i].n;
	}
	for (uint32_t i = 0; i < rows; i++) {
		size_t thread = m->tally.waits.v[i].thread->index;

		s->rows[s->threads[thread].first + s->place[i]] = i;
	}
	parallel(n, steps_of_one, &(struct sums_making){s, c});
	return s;
}

void sums_free(struct row_sums *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free(s->threads[i].at);
	free(s->threads);
	free(s->rows);
	free(s->place);
	free(s);
}

/* The first stretch that ends after a moment. */
static size_t stretch_at(const struct lane *l, uint64_t ts)
{
	size_t i = lane_find(l, ts);

	return i != SIZE_MAX ? i : ts < lane_start(l, 0) ? 0 : l->n;
}

void sums_waits(const struct row_sums *s, const struct model *m, const struct columns *c,
		uint32_t thread, uint64_t from, uint64_t to, uint64_t *out)
{
	const struct thread_sums *t = &s->threads[thread];
	const struct lane *l = &c->threads.v[thread];
	const uint32_t *rows = s->rows + t->first;
	size_t first, end, low, high;

	if (!l->n || !t->n || from >= to)
		return;
	if (from <= lane_start(l, 0) && to >= l->end) {
		for (size_t i = 0; i < t->n; i++)
			out[rows[i]] += m->tally.waits.v[rows[i]].total;
		return;
	}
	first = stretch_at(l, from);
	end = stretch_at(l, to);
	end += end < l->n;
	low = t->step ? (first + t->step) / t->step : 0;
	high = t->step ? (end - (end > 0)) / t->step : 0;
	if (low >= high) {
		scan(l, first, end, from, to, out);
		return;
	}
	scan(l, first, low * t->step, from, to, out);
	for (size_t i = 0; i < t->n; i++)
		out[rows[i]] += t->at[(high - 1) * t->n + i] - t->at[(low - 1) * t->n + i];
	scan(l, high * t->step, end, from, to, out);
}
