// SPDX-License-Identifier: MIT
#include "query/grow.h"
#include "base/sort.h"

#include <stdlib.h>

/* Rows by thread: a counting sort. */
struct by_thread {
	size_t *first; /* by thread; one more than there are */
	uint32_t *rows;
};

#define SORT_ROWS(b, list, threads)                                                                \
	do {                                                                                       \
		(b)->first = mem_zalloc(((threads) + 2) * sizeof(*(b)->first));                    \
		(b)->rows = mem_alloc(((list).n + 1) * sizeof(*(b)->rows));                        \
		for (size_t i_ = 0; i_ < (list).n; i_++)                                           \
			(b)->first[(list).v[i_].thread->index + 2]++;                              \
		for (size_t i_ = 2; i_ < (threads) + 2; i_++)                                      \
			(b)->first[i_] += (b)->first[i_ - 1];                                      \
		for (uint32_t i_ = 0; i_ < (list).n; i_++)                                         \
			(b)->rows[(b)->first[(list).v[i_].thread->index + 1]++] = i_;              \
	} while (0)

struct growing {
	struct grower g;
	const struct model *m;
	const struct weights *one, *two;
};

static void grow_add_row(struct growing *k, uint32_t call, int class, uint64_t one, uint64_t two)
{
	const uint64_t value[2] = {one, two};

	if (one || two)
		tree_add(k->g.tree, grower_node(&k->g, call), class, value);
}

static void add_sample(struct growing *k, uint32_t row)
{
	grow_add_row(k, k->g.calls->of_sample[row], CLASS_RUNNING, k->one->sample[row],
		     k->two ? k->two->sample[row] : 0);
}

static void grow_add_wait(struct growing *k, uint32_t row)
{
	grow_add_row(k, k->g.calls->of_wait[row], k->m->tally.waits.v[row].verdict.reason,
		     k->one->wait[row], k->two ? k->two->wait[row] : 0);
}

static bool grow_any(const struct weights *w, const struct by_thread *samples,
		     const struct by_thread *waits, uint32_t thread)
{
	for (size_t i = samples->first[thread]; w->sample && i < samples->first[thread + 1]; i++)
		if (w->sample[samples->rows[i]])
			return true;
	for (size_t i = waits->first[thread]; w->wait && i < waits->first[thread + 1]; i++)
		if (w->wait[waits->rows[i]])
			return true;
	return false;
}

static void grow_by_thread(struct growing *k)
{
	const struct tally *t = &k->m->tally;
	size_t threads = k->m->timeline.threads.n;
	struct by_thread samples, waits;

	SORT_ROWS(&samples, t->samples, threads);
	SORT_ROWS(&waits, t->waits, threads);
	for (uint32_t th = 0; th < threads; th++) {
		if (!grow_any(k->one, &samples, &waits, th) &&
		    (!k->two || !grow_any(k->two, &samples, &waits, th)))
			continue;
		grower_group(&k->g, tree_append(k->g.tree, 0, WHAT_THREAD | th));
		for (size_t i = samples.first[th]; k->one->sample && i < samples.first[th + 1]; i++)
			add_sample(k, samples.rows[i]);
		for (size_t i = waits.first[th]; k->one->wait && i < waits.first[th + 1]; i++)
			grow_add_wait(k, waits.rows[i]);
	}
	free(samples.first);
	free(samples.rows);
	free(waits.first);
	free(waits.rows);
}

void grow_tree(struct tree *t, const struct model *m, const struct calls *c,
	       const struct weights *one, const struct weights *two, bool by_thread)
{
	struct growing k = {.m = m, .one = one, .two = two};

	t->two = two != NULL;
	grower_init(&k.g, t, c);
	if (by_thread) {
		grow_by_thread(&k);
	} else {
		for (uint32_t i = 0; one->sample && i < m->tally.samples.n; i++)
			add_sample(&k, i);
		for (uint32_t i = 0; one->wait && i < m->tally.waits.n; i++)
			grow_add_wait(&k, i);
	}
	grower_done(&k.g);
	tree_sum(t);
}

uint64_t *grow_values(const struct model *m, const struct calls *c, const struct weights *w,
		      uint64_t **ret_self)
{
	uint64_t *value = mem_zalloc(c->list.n * sizeof(*value));
	uint64_t *self = mem_alloc(c->list.n * sizeof(*self));

	for (size_t i = 0; w->sample && i < m->tally.samples.n; i++)
		value[c->of_sample[i]] += w->sample[i];
	/* The reason after a wait's leaf is no call: its time belongs to the leaf. */
	for (size_t i = 0; w->wait && i < m->tally.waits.n; i++)
		value[c->list.v[c->of_wait[i]].caller] += w->wait[i];
	memcpy(self, value, c->list.n * sizeof(*self));
	for (size_t i = c->list.n; i-- > 1;)
		value[c->list.v[i].caller] += value[i];
	*ret_self = self;
	return value;
}

static int by_self(const void *pa, const void *pb)
{
	const struct function_value *a = pa, *b = pb;

	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return (a->function > b->function) - (a->function < b->function);
}

void grow_functions(struct function_values *f, const struct model *m, const struct calls *c,
		    const struct weights *w)
{
	uint64_t *self, *value = grow_values(m, c, w, &self);
	struct function_value *all = mem_zalloc((m->names.functions.n + 1) * sizeof(*all));

	*f = (struct function_values){.total = value[0]};
	for (size_t i = 1; i < c->list.n; i++) {
		const struct call *one = &c->list.v[i];
		struct function_value *to;

		if (!what_is_frame(one->what))
			continue;
		to = &all[what_function(one->what)];
		to->self += self[i];
		to->total += one->again ? 0 : value[i];
	}
	for (uint32_t i = 0; i < m->names.functions.n; i++) {
		all[i].function = i;
		if (all[i].total)
			vec_push(f, all[i]);
	}
	sort_by(f->v, f->n, sizeof(*f->v), by_self);
	free(all);
	free(self);
	free(value);
}

/* Adds a call's callers, up to the tree's depth. */
static void add_callers(struct tree *t, const struct calls *c, uint32_t call, unsigned depth,
			uint64_t value)
{
	const uint64_t values[2] = {value, 0};
	uint32_t node = 0;

	for (uint32_t i = c->list.v[call].caller; i && depth; i = c->list.v[i].caller, depth--)
		node = tree_child(t, node, c->list.v[i].what);
	tree_add(t, node, CLASS_RUNNING, values);
}

void grow_around(struct tree *callers, struct tree *callees, const struct model *m,
		 const struct calls *c, const struct weights *w, uint32_t function, unsigned depth)
{
	uint64_t *self, *value = grow_values(m, c, w, &self);
	uint32_t *node = mem_zalloc(c->list.n * sizeof(*node)); /* of callees */
	uint8_t *deep = mem_zalloc(c->list.n); /* depth in the tree, from 1; 0: not in it */

	for (uint32_t i = 1; i < c->list.n; i++) {
		const struct call *one = &c->list.v[i];
		bool is = what_is_frame(one->what) && what_function(one->what) == function;
		uint64_t add[2] = {self[i], 0};

		if (!value[i])
			continue;
		if (is && !one->again) {
			add_callers(callers, c, i, depth, value[i]);
			deep[i] = 1;
		} else if (deep[one->caller] && deep[one->caller] <= depth) {
			node[i] = tree_child(callees, node[one->caller], one->what);
			deep[i] = (uint8_t)(deep[one->caller] + 1);
		} else if (deep[one->caller]) {
			node[i] = node[one->caller];
			deep[i] = deep[one->caller];
		}
		if (deep[i])
			tree_add(callees, node[i], CLASS_RUNNING, add);
	}
	tree_sum(callers);
	tree_sum(callees);
	free(node);
	free(deep);
	free(self);
	free(value);
}
