// SPDX-License-Identifier: MIT
#include "timeline/spans.h"

#include <stdlib.h>

#include "base/search.h"
#include "base/sort.h"

void spans_add(struct spans *s, uint32_t cpu, uint64_t start, uint64_t end)
{
	struct span_list *l = &s->every;

	if (start >= end || s->sealed)
		return;
	if (cpu != SPAN_ALL_CPUS) {
		while (s->cpu.n <= cpu)
			vec_add(&s->cpu);
		l = &s->cpu.v[cpu];
	}
	vec_push(l, (struct span){start, end});
	vec_push(&s->any, (struct span){start, end});
}

static int spans_by_start(const void *pa, const void *pb)
{
	const struct span *a = pa, *b = pb;

	return (a->start > b->start) - (a->start < b->start);
}

/* Sorts; spans that touch become one. */
static void spans_merge(struct span_list *l)
{
	size_t out = 0;

	if (!l->n)
		return;
	sort_by(l->v, l->n, sizeof(*l->v), spans_by_start);
	for (size_t i = 1; i < l->n; i++) {
		if (l->v[i].start > l->v[out].end)
			l->v[++out] = l->v[i];
		else if (l->v[i].end > l->v[out].end)
			l->v[out].end = l->v[i].end;
	}
	l->n = out + 1;
}

static int spans_by_ts(const void *pa, const void *pb)
{
	const struct span_edge *a = pa, *b = pb;

	if (a->ts != b->ts)
		return a->ts > b->ts ? 1 : -1;
	return (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

static void add_edges(struct spans *s, const struct span_list *l, uint32_t cpu)
{
	for (size_t i = 0; i < l->n; i++) {
		vec_push(&s->edges, (struct span_edge){l->v[i].start, cpu});
		vec_push(&s->edges, (struct span_edge){l->v[i].end, cpu});
	}
}

void spans_seal(struct spans *s)
{
	if (s->sealed)
		return;
	s->sealed = true;
	spans_merge(&s->every);
	spans_merge(&s->any);
	add_edges(s, &s->every, SPAN_ALL_CPUS);
	for (uint32_t c = 0; c < s->cpu.n; c++) {
		struct span_list *l = &s->cpu.v[c];

		if (!l->n)
			continue;
		for (size_t i = 0; i < s->every.n; i++)
			vec_push(l, s->every.v[i]);
		spans_merge(l);
		add_edges(s, l, c);
	}
	sort_by(s->edges.v, s->edges.n, sizeof(*s->edges.v), spans_by_ts);
}

const struct span_list *spans_of(const struct spans *s, uint32_t cpu)
{
	return cpu < s->cpu.n && s->cpu.v[cpu].n ? &s->cpu.v[cpu] : &s->every;
}

const struct span *spans_next(const struct span_list *l, uint64_t at)
{
	size_t lo = SEARCH(0, l->n, mid, l->v[mid].end <= at);

	return lo < l->n ? &l->v[lo] : NULL;
}

void spans_done(struct spans *s)
{
	for (size_t i = 0; i < s->cpu.n; i++)
		vec_done(&s->cpu.v[i]);
	vec_done(&s->cpu);
	vec_done(&s->every);
	vec_done(&s->any);
	vec_done(&s->edges);
}
