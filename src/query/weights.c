// SPDX-License-Identifier: MIT
#include "query/weights.h"

#include <stdlib.h>

static void take_samples(struct weights *w, const struct columns *c, uint32_t thread,
			 const struct pick *p)
{
	size_t n;
	const struct sample *s = columns_samples(c, thread, p->from, p->to, &n);

	for (size_t i = 0; i < n; i++)
		w->sample[s[i].row] += p->sample_ns;
}

void weights_take(struct weights *w, const struct model *m, const struct columns *c,
		  const struct row_sums *s, const struct pick *p)
{
	const struct tally *t = &m->tally;

	*w = (struct weights){0};
	if (p->samples)
		w->sample = mem_zalloc((t->samples.n + 1) * sizeof(*w->sample));
	if (p->waits)
		w->wait = mem_zalloc((t->waits.n + 1) * sizeof(*w->wait));
	for (uint32_t i = 0; i < c->threads.n; i++) {
		if (p->threads && !p->threads[i])
			continue;
		if (p->samples)
			take_samples(w, c, i, p);
		if (p->waits)
			sums_waits(s, m, c, i, p->from, p->to, w->wait);
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
