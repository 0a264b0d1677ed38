// SPDX-License-Identifier: MIT
/*
 * What is wrong, if one thing is. Candidates are groups of threads of one process that are named
 * alike, and what kept them longest: one contended lock, or one reason that no thread chose (the
 * disk, page faults, too few CPUs, a CPU limit). The one that cost most time is reported; a lock
 * counts double, because something can be done about it, and because its holder can be named.
 */
#include "model/summary/finding.h"

#include <ctype.h>
#include <stdlib.h>

#include "model/summary/parts.h"

/* Less than this share of a group's time is not worth a sentence. */
#define WORTH_PERCENT 3

struct group {
	uint32_t pid;
	char *stem;
	VEC(const struct thread *) threads;
	uint64_t wall;
	uint64_t reasons[REASONS];
};

struct groups {
	VEC(struct group) v;
	struct map by_key; /* process and stem -> index */
	uint32_t *of;	   /* by thread: index + 1 */
};

size_t finding_stem(const char *name)
{
	size_t n = strlen(name), len = n;

	while (len && isdigit((unsigned char)name[len - 1]))
		len--;
	while (len && len < n && strchr("-_:/#. ", name[len - 1]))
		len--;
	return len >= 2 ? len : n;
}

static void add_thread(struct groups *g, const struct thread *th)
{
	size_t len = finding_stem(th->name);
	bool fresh;
	uint64_t *slot = map_put(&g->by_key, map_hash_bytes(th->name, len) + th->pid, &fresh);
	struct group *to;

	if (fresh) {
		*slot = g->v.n;
		to = vec_add(&g->v);
		to->pid = th->pid;
		to->stem = mem_strndup(th->name, len);
	}
	to = &g->v.v[*slot];
	vec_push(&to->threads, th);
	to->wall += thread_wall(th);
	for (unsigned r = 0; r < REASONS; r++)
		to->reasons[r] += th->waits[r];
	g->of[th->index] = (uint32_t)*slot + 1;
}

/* What kept a group: a lock, or a reason. */
struct finding_candidate {
	uint32_t group;
	size_t lock; /* SIZE_MAX: a reason */
	enum reason reason;
	uint64_t waited, weight;
};

static void finding_consider(struct finding_candidate *best, const struct groups *g,
			     struct finding_candidate c)
{
	if (c.waited * 100 < g->v.v[c.group].wall * WORTH_PERCENT)
		return;
	if (c.weight > best->weight)
		*best = c;
}

static void consider_locks(const struct summary *s, const struct groups *g,
			   struct finding_candidate *best)
{
	uint64_t *waited = mem_zalloc((g->v.n + 1) * sizeof(*waited));

	for (size_t i = 0; i < s->contended; i++) {
		const struct lock_sum *l = &s->locks.v[i];

		for (size_t j = 0; j < l->waiters.n; j++) {
			uint32_t group = g->of[l->waiters.v[j].thread->index];

			if (group)
				waited[group - 1] += l->waiters.v[j].total;
		}
		for (size_t j = 0; j < l->waiters.n; j++) {
			uint32_t group = g->of[l->waiters.v[j].thread->index];

			if (!group || !waited[group - 1])
				continue;
			finding_consider(best, g,
					 (struct finding_candidate){
						 group - 1, i, lock_kind_reason(l->kind),
						 waited[group - 1], 2 * waited[group - 1]});
			waited[group - 1] = 0;
		}
	}
	free(waited);
}

static void consider_reasons(const struct groups *g, struct finding_candidate *best)
{
	for (uint32_t i = 0; i < g->v.n; i++)
		for (enum reason r = 0; r < REASONS; r++)
			if (reason_has(r, TRAIT_LEADS))
				finding_consider(best, g,
						 (struct finding_candidate){i, SIZE_MAX, r,
									    g->v.v[i].reasons[r],
									    g->v.v[i].reasons[r]});
}

static bool in_group(const struct groups *g, const struct thread *th, uint32_t group)
{
	return g->of[th->index] == group + 1;
}

static const struct lock_holder *main_holder(const struct lock_sum *l)
{
	return l->holders.n && l->holders.v[0].thread ? &l->holders.v[0] : NULL;
}

/* What a group lost in each row that does not list all its victims; NULL: there is no such row. */
static uint64_t *crowd_losses(const struct summary *s, const struct groups *g, uint32_t group)
{
	const struct chain *c = &s->model->chain;
	size_t threads = s->model->timeline.threads.n;
	uint64_t *lost, *totals;
	bool *chosen;

	if (!c->crowds.n)
		return NULL;
	chosen = mem_zalloc(threads + 1);
	for (size_t i = 0; i < threads; i++)
		chosen[i] = g->of[i] == group + 1;
	totals = mem_zalloc((c->charges.n + 1) * sizeof(*totals));
	crowd_totals(c, chosen, totals);
	lost = mem_zalloc((s->blame.rows.n + 1) * sizeof(*lost));
	for (size_t i = 0; i < c->charges.n; i++)
		if (s->blame.rows_of[i] && s->blame.rows.v[s->blame.rows_of[i] - 1].crowd)
			lost[s->blame.rows_of[i] - 1] += totals[i];
	free(totals);
	free(chosen);
	return lost;
}

/* What a row cost the group. */
static uint64_t row_cost(const struct blame_row *r, const struct groups *g, uint32_t group,
			 uint64_t lost)
{
	uint64_t sum = lost;

	for (size_t i = 0; i < r->victims.n; i++)
		if (in_group(g, r->victims.v[i].thread, group))
			sum += r->victims.v[i].total;
	return sum;
}

/* Finds the culprit that cost the group most, and what it did. */
static void take_root(const struct summary *s, const struct groups *g,
		      const struct finding_candidate *c, struct finding *f)
{
	uint64_t *lost = crowd_losses(s, g, c->group);
	struct map sums = {0};
	uint64_t most = 0;

	for (size_t i = 0; i < s->blame.rows.n; i++) {
		const struct blame_row *r = &s->blame.rows.v[i];
		uint64_t *sum;

		if (r->first != c->lock)
			continue;
		sum = map_put(&sums, r->culprit->index, NULL);
		*sum += row_cost(r, g, c->group, lost ? lost[i] : 0);
		if (*sum <= most)
			continue;
		most = *sum;
		f->root = r->culprit;
	}
	for (size_t i = 0; i < s->blame.rows.n; i++) {
		const struct blame_row *r = &s->blame.rows.v[i];

		if (r->first == c->lock && r->culprit == f->root)
			doings_add(&f->did, r->doing, r->reason,
				   row_cost(r, g, c->group, lost ? lost[i] : 0));
	}
	doings_order(&f->did);
	if (f->did.n) {
		f->doing = f->did.v[0].kind;
		f->reason = f->did.v[0].reason;
	}
	map_done(&sums);
	free(lost);
}

static void take_lock(const struct summary *s, const struct groups *g,
		      const struct finding_candidate *c, struct finding *f)
{
	const struct lock_sum *l = &s->locks.v[c->lock];
	const struct lock_holder *h = main_holder(l);

	for (size_t i = 0; i < l->waiters.n; i++)
		if (in_group(g, l->waiters.v[i].thread, c->group))
			vec_push(&f->victims, l->waiters.v[i].thread);
	f->doing = INTERVAL_LOST;
	take_root(s, g, c, f);
	if (!h)
		return;
	f->holder = h->thread;
	f->held = h->blamed;
	if (!h->kstack && !h->ustack)
		return;
	f->function = where_function(&s->model->names, h->kstack, h->ustack);
	f->kstack = h->kstack;
	f->ustack = h->ustack;
}

static void take_reason(const struct summary *s, const struct groups *g,
			const struct finding_candidate *c, struct finding *f)
{
	const struct tally *t = &s->model->tally;
	const struct group *group = &g->v.v[c->group];
	struct map by_function = {0};
	uint64_t most = 0;

	for (size_t i = 0; i < group->threads.n; i++)
		if (group->threads.v[i]->waits[c->reason])
			vec_push(&f->victims, group->threads.v[i]);
	f->doing = reason_is_runnable(c->reason) ? INTERVAL_RUNNABLE : INTERVAL_WAITING;
	f->reason = c->reason;
	for (size_t i = 0; i < t->waits.n && f->doing == INTERVAL_WAITING; i++) {
		const struct wait_row *r = &t->waits.v[i];
		uint32_t function;
		uint64_t *sum;

		if (r->verdict.reason != c->reason || !in_group(g, r->thread, c->group) ||
		    !(r->kstack || r->ustack))
			continue;
		function = where_function(&s->model->names, r->kstack, r->ustack);
		sum = map_put(&by_function, function, NULL);
		*sum += r->total;
		if (*sum > most && function != UINT32_MAX) {
			most = *sum;
			f->function = function;
			f->kstack = r->kstack;
			f->ustack = r->ustack;
		}
	}
	map_done(&by_function);
}

void summary_finding(struct summary *s)
{
	struct finding *f = &s->finding;
	struct finding_candidate best = {0};
	struct groups g = {0};

	f->lock = SIZE_MAX;
	f->function = UINT32_MAX;
	g.of = mem_zalloc((s->model->timeline.threads.n + 1) * sizeof(*g.of));
	for (size_t i = 0; i < s->threads.n; i++)
		if (thread_is_subject(s->threads.v[i]))
			add_thread(&g, s->threads.v[i]);
	consider_locks(s, &g, &best);
	consider_reasons(&g, &best);
	if (best.weight) {
		f->found = true;
		f->lock = best.lock;
		f->group = mem_strdup(g.v.v[best.group].stem);
		f->waited = best.waited;
		f->threads = g.v.v[best.group].threads.n;
		f->wall = g.v.v[best.group].wall;
		if (best.lock != SIZE_MAX)
			take_lock(s, &g, &best, f);
		else
			take_reason(s, &g, &best, f);
	}
	for (size_t i = 0; i < g.v.n; i++) {
		free(g.v.v[i].stem);
		vec_done(&g.v.v[i].threads);
	}
	vec_done(&g.v);
	map_done(&g.by_key);
	free(g.of);
}
