// SPDX-License-Identifier: MIT
/*
 * A scan over the samples and stretches of a range; if it is more than half of the recording, over
 * what is not in it, and that is taken away from the sums that the tally has of the whole.
 */
#include "query/weights.h"

#include <stdlib.h>

static void scan_samples(uint64_t *out, const struct columns *c, uint32_t thread, uint64_t from,
			 uint64_t to, uint64_t each)
{
	size_t n;
	const struct sample *s = columns_samples(c, thread, from, to, &n);

	for (size_t i = 0; i < n; i++)
		out[s[i].row] += each;
}

static void scan_waits(uint64_t *out, const struct lane *l, uint64_t from, uint64_t to, bool minus)
{
	size_t i = l->n && from < to ? lane_find(l, from) : l->n;

	if (i == SIZE_MAX)
		i = from < lane_start(l, 0) ? 0 : l->n;
	for (; i < l->n && lane_start(l, i) < to; i++) {
		const struct stretch *s = lane_at(l, i);
		uint64_t start = lane_start(l, i), end = lane_end(l, i);

		if (!class_is_wait(s->at & 0xff))
			continue;
		start = start > from ? start : from;
		end = end < to ? end : to;
		out[s->row] += minus ? start - end : end - start;
	}
}

static void scan(struct weights *w, const struct columns *c, const struct pick *p, uint64_t from,
		 uint64_t to, bool minus)
{
	for (uint32_t i = 0; i < c->threads.n; i++) {
		if (p->threads && !p->threads[i])
			continue;
		if (p->samples)
			scan_samples(w->sample, c, i, from, to,
				     minus ? -p->sample_ns : p->sample_ns);
		if (p->waits)
			scan_waits(w->wait, &c->threads.v[i], from, to, minus);
	}
}

static void take_whole(struct weights *w, const struct tally *t, const struct pick *p)
{
	for (size_t i = 0; p->samples && i < t->samples.n; i++)
		if (!p->threads || p->threads[t->samples.v[i].thread->index])
			w->sample[i] = t->samples.v[i].count * p->sample_ns;
	for (size_t i = 0; p->waits && i < t->waits.n; i++)
		if (!p->threads || p->threads[t->waits.v[i].thread->index])
			w->wait[i] = t->waits.v[i].total;
}

void weights_take(struct weights *w, const struct model *m, const struct columns *c,
		  const struct pick *p)
{
	const struct tally *t = &m->tally;
	uint64_t all = m->timeline.end - m->timeline.begin;
	uint64_t to = p->to < all ? p->to : all, from = p->from < to ? p->from : to;

	*w = (struct weights){0};
	if (p->samples)
		w->sample = mem_zalloc((t->samples.n + 1) * sizeof(*w->sample));
	if (p->waits)
		w->wait = mem_zalloc((t->waits.n + 1) * sizeof(*w->wait));
	if (to - from > all / 2) {
		take_whole(w, t, p);
		scan(w, c, p, 0, from, true);
		if (p->to <= all)
			scan(w, c, p, p->to, UINT64_MAX, true);
	} else {
		scan(w, c, p, from, p->to, false);
	}
	for (size_t i = 0; p->waits && i < t->waits.n; i++)
		if (!(p->reasons >> t->waits.v[i].verdict.reason & 1))
			w->wait[i] = 0;
}

void weights_done(struct weights *w)
{
	free(w->sample);
	free(w->wait);
}
