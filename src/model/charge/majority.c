// SPDX-License-Identifier: MIT
/* Boyer and Moore's vote as a tree over spans: the votes of two halves can be combined. */
#include "model/charge/majority.h"

#include "base/search.h"
#include "base/sort.h"

void majority_add(struct majority_vote *v, uint32_t key, uint64_t weight)
{
	if (v->key == key) {
		v->surplus += weight;
	} else if (v->surplus >= weight) {
		v->surplus -= weight;
	} else {
		v->surplus = weight - v->surplus;
		v->key = key;
	}
}

static uint64_t length(const struct majority *m, size_t i)
{
	return m->spans.v[i].end - m->spans.v[i].start;
}

void majority_seal(struct majority *m)
{
	size_t n = m->spans.n;
	struct sort_key *by = mem_alloc((n + 1) * sizeof(*by));

	m->tree = mem_zalloc((2 * n + 2) * sizeof(*m->tree));
	vec_reserve(&m->by_key, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		m->tree[n + i] = (struct majority_vote){length(m, i), m->spans.v[i].key};
		by[i] = (struct sort_key){m->spans.v[i].key, i};
	}
	for (size_t i = n; i-- > 1;) {
		m->tree[i] = m->tree[2 * i];
		majority_add(&m->tree[i], m->tree[2 * i + 1].key, m->tree[2 * i + 1].surplus);
	}
	sort_keys(by, n);
	for (size_t i = 0; i < n; i++)
		vec_push(&m->by_key, (struct majority_of){(uint32_t)by[i].key, by[i].at, 0});
	free(by);
	for (size_t i = 1; i < n; i++)
		if (m->by_key.v[i].key == m->by_key.v[i - 1].key)
			m->by_key.v[i].before =
				m->by_key.v[i - 1].before + length(m, m->by_key.v[i - 1].span);
}

void majority_done(struct majority *m)
{
	vec_done(&m->spans);
	vec_done(&m->by_key);
	free(m->tree);
	m->tree = NULL;
}

/* The first span that ends after that moment. */
static size_t span_at(const struct majority *m, uint64_t ts)
{
	return SEARCH(0, m->spans.n, mid, m->spans.v[mid].end <= ts);
}

/* Of a span: its part in [from, to). */
static uint64_t part(const struct majority *m, size_t i, uint64_t from, uint64_t to)
{
	const struct majority_span *s = &m->spans.v[i];
	uint64_t start = s->start > from ? s->start : from, end = s->end < to ? s->end : to;

	return start < end ? end - start : 0;
}

void majority_vote(const struct majority *m, uint64_t from, uint64_t to, struct majority_vote *v)
{
	size_t first = span_at(m, from), last = to ? span_at(m, to - 1) : 0, lo, hi;

	if (first >= m->spans.n)
		return;
	majority_add(v, m->spans.v[first].key, part(m, first, from, to));
	if (last <= first)
		return;
	if (last < m->spans.n)
		majority_add(v, m->spans.v[last].key, part(m, last, from, to));
	for (lo = first + 1 + m->spans.n, hi = last + m->spans.n; lo < hi; lo /= 2, hi /= 2) {
		if (lo & 1) {
			majority_add(v, m->tree[lo].key, m->tree[lo].surplus);
			lo++;
		}
		if (hi & 1) {
			hi--;
			majority_add(v, m->tree[hi].key, m->tree[hi].surplus);
		}
	}
}

/* The time of those with this key up to a moment. */
static uint64_t time_until(const struct majority *m, uint32_t key, uint64_t ts)
{
	const struct majority_of *of = m->by_key.v;
	size_t n =
		SEARCH(0, m->by_key.n, i,
		       of[i].key < key || (of[i].key == key && m->spans.v[of[i].span].start < ts));

	if (!n || of[n - 1].key != key)
		return 0;
	of += n - 1;
	return of->before + part(m, of->span, 0, ts);
}

uint64_t majority_time(const struct majority *m, uint32_t key, uint64_t from, uint64_t to)
{
	return time_until(m, key, to) - time_until(m, key, from);
}
