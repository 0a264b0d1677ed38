// SPDX-License-Identifier: MIT
#include "unwind_tables/shelves.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/search.h"
#include "unwind_tables/mutex.h"

#define RESERVED 2u /* the first words: a rule for "nothing is known" */

struct resting {
	struct shelf_part part;
	uint64_t since;
};

struct shelves {
	struct unwind_arrays a;
	pthread_mutex_t lock;
	uint32_t *at[SHELVES_MAX];
	uint32_t n, max;
	VEC(struct shelf_part) free; /* by place; neighbours on one shelf are merged */
	VEC(struct resting) resting; /* by time */
	size_t resting_head;
	size_t used;
	size_t hint; /* the part that the last piece was taken from */
};

struct shelves *shelves_new(const struct unwind_arrays *a)
{
	struct shelves *s = mem_zalloc(sizeof(*s));

	s->a = *a;
	s->max = a->max_shelves < SHELVES_MAX ? a->max_shelves : SHELVES_MAX;
	mutex_init_inheriting(&s->lock);
	return s;
}

void shelves_free(struct shelves *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	vec_done(&s->free);
	vec_done(&s->resting);
	free(s);
}

/* ---- what is free ---- */

static bool adjoin(struct shelf_part a, struct shelf_part b)
{
	return a.at + a.n == b.at && b.at % SHELF_WORDS;
}

static void free_add(struct shelves *s, struct shelf_part p)
{
	size_t lo = SEARCH(0, s->free.n, i, s->free.v[i].at < p.at);

	if (lo && adjoin(s->free.v[lo - 1], p)) {
		s->free.v[lo - 1].n += p.n;
		p = s->free.v[--lo];
	} else {
		(void)vec_add(&s->free);
		memmove(&s->free.v[lo + 1], &s->free.v[lo],
			(s->free.n - 1 - lo) * sizeof(*s->free.v));
		s->free.v[lo] = p;
	}
	if (lo + 1 < s->free.n && adjoin(p, s->free.v[lo + 1])) {
		s->free.v[lo].n += s->free.v[lo + 1].n;
		s->free.n--;
		memmove(&s->free.v[lo + 1], &s->free.v[lo + 2],
			(s->free.n - 1 - lo) * sizeof(*s->free.v));
	}
	s->hint = 0;
}

static void wake_rested(struct shelves *s, uint64_t now)
{
	while (s->resting_head < s->resting.n &&
	       now - s->resting.v[s->resting_head].since > SHELVES_REST_NS)
		free_add(s, s->resting.v[s->resting_head++].part);
	if (s->resting_head == s->resting.n)
		s->resting_head = s->resting.n = 0;
}

static bool free_take(struct shelves *s, uint32_t n, uint32_t *ret)
{
	for (size_t k = 0; k < s->free.n; k++) {
		size_t i = (s->hint + k) % s->free.n;
		struct shelf_part *p = &s->free.v[i];

		if (p->n < n)
			continue;
		*ret = p->at;
		p->at += n;
		p->n -= n;
		s->hint = i;
		if (!p->n) {
			s->free.n--;
			memmove(p, p + 1, (s->free.n - i) * sizeof(*p));
			s->hint = 0;
		}
		return true;
	}
	return false;
}

/*
 * The kernel waits for an RCU grace period, which takes seconds where its threads hardly get a CPU.
 * A thread that only asks what is left must not wait with us.
 */
static uint32_t *shelf_from_kernel(struct shelves *s)
{
	uint32_t *words;

	pthread_mutex_unlock(&s->lock);
	words = s->a.shelf(s->a.ctx, s->n);
	pthread_mutex_lock(&s->lock);
	return words;
}

static bool shelves_grow(struct shelves *s)
{
	uint32_t *words = s->n < s->max ? shelf_from_kernel(s) : NULL;
	uint32_t reserved = s->n ? 0 : RESERVED;

	if (!words) {
		/* There is less memory than expected. */
		s->max = s->n;
		return false;
	}
	s->at[s->n] = words;
	free_add(s, (struct shelf_part){s->n * SHELF_WORDS + reserved, SHELF_WORDS - reserved});
	s->n++;
	return true;
}

/* ---- tables ---- */

static uint32_t *shelves_word_at(struct shelves *s, uint32_t at)
{
	return s->at[at >> SHELF_SHIFT] + at % SHELF_WORDS;
}

static bool shelves_take(struct shelves *s, struct shelf_parts *p, uint32_t n, uint32_t *ret)
{
	struct shelf_part *last = p->list.n ? &p->list.v[p->list.n - 1] : NULL;
	struct shelf_part got = {.n = n};

	while (!free_take(s, n, &got.at))
		if (!shelves_grow(s))
			return false;
	s->used += n;
	p->words += n;
	*ret = got.at;
	if (last && adjoin(*last, got))
		last->n += n;
	else
		vec_push(&p->list, got);
	return true;
}

static bool place_rules(struct shelves *s, const struct unwind_table *t, struct shelf_parts *p)
{
	uint32_t at;

	/* One more, because rules begin at an even word. */
	if (!shelves_take(s, p, (uint32_t)(2 * t->n_rules + 1), &at))
		return false;
	p->rules = (at + 1) / 2;
	memcpy(shelves_word_at(s, 2 * p->rules), t->rules, t->n_rules * sizeof(*t->rules));
	return true;
}

static uint32_t leaf_size(const uint32_t *leaf)
{
	return UNWIND_LEAF_HEAD + leaf[UNWIND_LEAF_BLOCKS];
}

static bool place_leaves(struct shelves *s, const struct unwind_table *t, struct shelf_parts *p)
{
	uint32_t *dir, at;

	if (!shelves_take(s, p, (uint32_t)t->n_leaves, &p->dir))
		return false;
	dir = shelves_word_at(s, p->dir);
	for (size_t i = 0; i < t->n_leaves; i++) {
		const uint32_t *leaf = t->words + t->dir[i];

		if (t->dir[i] & UNWIND_DIR_RULE) {
			dir[i] = t->dir[i];
			continue;
		}
		if (!shelves_take(s, p, leaf_size(leaf), &at))
			return false;
		memcpy(shelves_word_at(s, at), leaf, leaf_size(leaf) * sizeof(*leaf));
		dir[i] = at;
	}
	return true;
}

/* Frees parts at once, because no walk has seen them yet. */
static void take_back(struct shelves *s, struct shelf_parts *p)
{
	for (size_t i = 0; i < p->list.n; i++)
		free_add(s, p->list.v[i]);
	s->used -= p->words;
	vec_done(&p->list);
	*p = (struct shelf_parts){0};
}

int shelves_place(struct shelves *s, const struct unwind_table *t, struct shelf_parts *ret)
{
	size_t size = unwind_table_size(t);
	struct shelf_parts p = {0};
	int rc = 0;

	pthread_mutex_lock(&s->lock);
	wake_rested(s, clock_mono_ns());
	if (!place_rules(s, t, &p) || !place_leaves(s, t, &p)) {
		take_back(s, &p);
		/* A leaf may not fit into the end of a shelf, so some room stays unused. */
		rc = size > (size_t)s->max * (SHELF_WORDS / 16 * 15)
			     ? err_set(-EFBIG, "a table of %zu MiB", size >> 18)
			     : err_set(-ENOSPC, "no room for a table of %zu KiB", size >> 8);
	}
	pthread_mutex_unlock(&s->lock);
	if (!rc)
		*ret = p;
	return rc;
}

void shelves_give_back(struct shelves *s, struct shelf_parts *p, uint64_t now)
{
	pthread_mutex_lock(&s->lock);
	if (s->resting_head > s->resting.n / 2) {
		s->resting.n -= s->resting_head;
		memmove(s->resting.v, s->resting.v + s->resting_head,
			s->resting.n * sizeof(*s->resting.v));
		s->resting_head = 0;
	}
	for (size_t i = 0; i < p->list.n; i++)
		vec_push(&s->resting, (struct resting){p->list.v[i], now});
	s->used -= p->words;
	pthread_mutex_unlock(&s->lock);
	vec_done(&p->list);
	*p = (struct shelf_parts){0};
}

struct unwind_table shelves_view(struct shelves *s, const struct unwind_table *t,
				 const struct shelf_parts *p)
{
	return (struct unwind_table){.first = t->first,
				     .dir = shelves_word_at(s, p->dir),
				     .n_leaves = t->n_leaves,
				     .shelves = s->at,
				     .rules =
					     (struct unwind_rule *)shelves_word_at(s, 2 * p->rules),
				     .n_rules = t->n_rules,
				     .n_rows = t->n_rows};
}

size_t shelves_limit(struct shelves *s)
{
	size_t limit;

	pthread_mutex_lock(&s->lock);
	limit = (size_t)s->max * SHELF_WORDS;
	pthread_mutex_unlock(&s->lock);
	return limit;
}

size_t shelves_left(struct shelves *s)
{
	size_t left;

	pthread_mutex_lock(&s->lock);
	left = (size_t)s->max * SHELF_WORDS - s->used;
	pthread_mutex_unlock(&s->lock);
	return left;
}
