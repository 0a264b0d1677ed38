// SPDX-License-Identifier: MIT
/* Matching the two sides' rows, and testing them. */
#include "diff/diff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/sort.h"
#include "base/units.h"
#include "diff/names.h"
#include "wire/unseen.h"

static const char *const per_names[] = {"auto", "pace", "wall", "cpu", "none"};

int diff_per_parse(const char *word, enum diff_per *ret)
{
	for (unsigned i = DIFF_PER_PACE; i < ARRAY_LEN(per_names); i++) {
		if (!strcmp(word, per_names[i])) {
			*ret = i;
			return 0;
		}
	}
	return err_set(-EINVAL, "--per: there is no '%s'; choose pace, wall, cpu or none", word);
}

const char *diff_per_name(enum diff_per per)
{
	return per < ARRAY_LEN(per_names) ? per_names[per] : NULL;
}

/* Ignores the program's name: it may be another build. */
static bool same_work(const struct facts *a, const struct facts *b)
{
	if (a->command.n != b->command.n)
		return false;
	for (size_t i = 1; i < a->command.n; i++)
		if (strcmp(a->command.v[i], b->command.v[i]))
			return false;
	return true;
}

/* A command recorded from start to end, however long that took. */
static bool is_whole(const struct diff_side *s)
{
	const struct model *m = s->s->model;

	if (!m->facts.command.n || !m->facts.complete || m->timeline.window_from ||
	    m->timeline.window_to || m->facts.interrupted)
		return false;
	for (size_t i = 0; i < m->timeline.threads.n; i++)
		if (!m->timeline.threads.v[i]->exit_ts)
			return false;
	return m->timeline.threads.n > 0;
}

static const struct diff_item *diff_find(const struct diff_side *s, const struct diff_item *like)
{
	uint64_t key = diff_key(like->kind, like->name, like->where), *slot;

	for (; (slot = map_get(&s->by_name, key)); key++) {
		const struct diff_item *it = &s->items.v[*slot - 1];

		if (it->kind == like->kind && !strcmp(it->name, like->name) &&
		    !strcmp(it->where, like->where))
			return it;
	}
	return NULL;
}

static bool is_function(enum diff_kind k)
{
	return k == DIFF_SELF || k == DIFF_TOTAL;
}

double diff_scale(const struct diff *d, const struct diff_side *s, enum diff_kind kind)
{
	switch (d->opts.per) {
	case DIFF_PER_WALL:
		return (double)NSEC_PER_SEC / (double)s->window;
	case DIFF_PER_CPU:
		return s->cpu_sum > 0 ? (double)NSEC_PER_SEC / s->cpu_sum : 0;
	case DIFF_PER_PACE:
		return s == d->b && is_function(kind) ? 1 / d->pace.ratio : 1;
	default:
		return 1;
	}
}

static bool has(const struct diff *d, enum diff_kind k)
{
	return k == DIFF_WAIT ? d->waits : k == DIFF_LOCK ? d->locks : d->functions;
}

/*
 * Another build of a program may have another name. A function that one side lacks is matched with
 * the one of the same name in another module, if each side has only one such.
 */
static void join_renamed(struct diff *d)
{
	struct map names = {0}; /* kind and name -> row of A + 1; UINT64_MAX: several */
	size_t n = d->rows.n;

	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < n; i++) {
			struct diff_row *r = &d->rows.v[i];
			const struct diff_item *it = diff_item_of(r);
			uint64_t key, *slot;
			bool fresh;

			if (!is_function(r->kind) || (r->a && r->b) || it->name[0] == '[' ||
			    (pass ? !r->b : !r->a))
				continue;
			/* In place of a module, the side that has the row. */
			key = diff_key(r->kind, it->name, pass ? "\1" : "");
			slot = map_put(&names, key, &fresh);
			*slot = fresh ? i + 1 : UINT64_MAX;
		}
	}
	for (size_t i = 0; i < n; i++) {
		struct diff_row *r = &d->rows.v[i];
		uint64_t *mine, *theirs;

		if (!is_function(r->kind) || !r->a || r->b || r->a->name[0] == '[')
			continue;
		mine = map_get(&names, diff_key(r->kind, r->a->name, ""));
		theirs = map_get(&names, diff_key(r->kind, r->a->name, "\1"));
		if (!mine || *mine != i + 1 || !theirs || *theirs == UINT64_MAX)
			continue;
		if (strcmp(d->rows.v[*theirs - 1].b->name, r->a->name))
			continue;
		r->b = d->rows.v[*theirs - 1].b;
		d->rows.v[*theirs - 1].b = NULL;
	}
	map_done(&names);
	n = 0;
	for (size_t i = 0; i < d->rows.n; i++)
		if (d->rows.v[i].a || d->rows.v[i].b)
			d->rows.v[n++] = d->rows.v[i];
	d->rows.n = n;
}

static void diff_join_sides(struct diff *d)
{
	for (size_t i = 0; i < d->a->items.n; i++) {
		const struct diff_item *it = &d->a->items.v[i];
		struct diff_row r = {.kind = it->kind, .a = it, .b = diff_find(d->b, it), .p = 1};

		if (has(d, it->kind))
			vec_push(&d->rows, r);
	}
	for (size_t i = 0; i < d->b->items.n; i++) {
		const struct diff_item *it = &d->b->items.v[i];
		struct diff_row r = {.kind = it->kind, .b = it, .p = 1};

		if (has(d, it->kind) && !diff_find(d->a, it))
			vec_push(&d->rows, r);
	}
	join_renamed(d);
}

static double period_of(const struct diff_side *s, enum diff_kind k)
{
	return is_function(k) ? s->period : 1;
}

/*
 * A function's time is its share of the CPU time, which is known: only the share has an error. Per
 * second of wall time, the CPU time itself varies too.
 */
static const double *divisor(const struct diff *d, const struct diff_side *s, enum diff_kind kind)
{
	if (is_function(kind))
		return d->opts.per == DIFF_PER_WALL ? NULL : s->samples;
	return d->opts.per == DIFF_PER_CPU ? s->cpu : NULL;
}

void diff_sum(const struct diff *d, const struct diff_side *s, enum diff_kind kind,
	      const struct diff_item *it, double least, struct stats_sum *ret)
{
	double x[DIFF_BLOCKS_MAX] = {0};

	for (size_t i = 0; it && i < s->blocks; i++)
		x[i] = (double)it->blocks[i];
	stats_blocks(x, divisor(d, s, kind), s->blocks, ret);
	if (ret->var < least)
		ret->var = least;
}

static uint64_t diff_sum_of(const struct diff_item *it)
{
	return it ? it->sum : 0;
}

static uint64_t count_of(const struct diff_item *it)
{
	return it ? it->count : 0;
}

/*
 * How much values vary from one run to the next. A small function varies more, since a system call
 * finds the caches warm or cold: so a share of all functions' time is added.
 */
static struct stats_doubt doubt_of(const struct diff *d, enum diff_kind kind, double unit_a,
				   double unit_b)
{
	struct stats_doubt doubt = {.noise = d->opts.noise};

	if (is_function(kind)) {
		double share = d->opts.noise * DIFF_NOISE_OF_ALL;

		doubt.unit = d->pace.error;
		doubt.before = share * (double)d->a->s->samples * unit_a;
		doubt.after = share * (double)d->b->s->samples * unit_b;
	}
	return doubt;
}

static void compare(const struct diff *d, struct diff_row *r)
{
	double pa = period_of(d->a, r->kind), pb = period_of(d->b, r->kind);
	struct stats_side a = {.unit = pa * diff_scale(d, d->a, r->kind)};
	struct stats_side b = {.unit = pb * diff_scale(d, d->b, r->kind)};
	struct stats_doubt doubt = doubt_of(d, r->kind, a.unit, b.unit);
	uint64_t na = count_of(r->a), nb = count_of(r->b), n = na + nb;
	double share = a.unit + b.unit > 0 ? b.unit / (a.unit + b.unit) : 0.5;
	double least_a, least_b, p;

	if (is_function(r->kind)) {
		least_a = stats_floor((double)n * share);
		least_b = stats_floor((double)n * (1 - share));
	} else {
		/* One wait more or less. */
		double mean = n ? (double)(diff_sum_of(r->a) + diff_sum_of(r->b)) / (double)n : 0;

		least_a = least_b = mean * mean;
	}
	diff_sum(d, d->a, r->kind, r->a, least_a, &a.s);
	diff_sum(d, d->b, r->kind, r->b, least_b, &b.s);
	stats_compare(&a, &b, &doubt, &r->r);
	if (is_function(r->kind) && n < 100) {
		p = stats_counts(na, nb, share);
		r->r.p = p > r->r.p ? p : r->r.p;
	}
	r->ns_a = (double)diff_sum_of(r->a) * pa;
	r->ns_b = (double)diff_sum_of(r->b) * pb;
}

/* A function that calls nothing: its total is its self, which is tested already. */
static bool is_repeated(const struct diff *d, const struct diff_row *r)
{
	struct diff_item like;

	if (r->kind != DIFF_TOTAL)
		return false;
	for (unsigned side = 0; side < 2; side++) {
		const struct diff_item *it = side ? r->b : r->a, *self;

		if (!it)
			continue;
		like = *it;
		like.kind = DIFF_SELF;
		self = diff_find(side ? d->b : d->a, &like);
		if (!self || self->sum != it->sum)
			return false;
	}
	return true;
}

/*
 * Chooses rows to test by the sum of both sides, so that the choice does not depend on the
 * difference.
 */
static void test(struct diff *d)
{
	double all[DIFF_KINDS] = {0}, *p = mem_alloc((d->rows.n + 1) * sizeof(*p));
	size_t n = 0;

	for (size_t i = 0; i < d->rows.n; i++) {
		struct diff_row *r = &d->rows.v[i];

		compare(d, r);
		all[r->kind] += diff_item_of(r)->idle ? 0 : r->r.before + r->r.after;
	}
	all[DIFF_TOTAL] = all[DIFF_SELF];
	for (size_t i = 0; i < d->rows.n; i++) {
		struct diff_row *r = &d->rows.v[i];
		bool few = count_of(r->a) + count_of(r->b) < DIFF_FEW ||
			   r->r.before + r->r.after < DIFF_SMALL * all[r->kind];

		r->tested = !few && !is_repeated(d, r);
		d->small += few;
		if (r->tested)
			p[n++] = r->r.p;
	}
	stats_holm(p, n);
	d->tested = n;
	n = 0;
	for (size_t i = 0; i < d->rows.n; i++) {
		struct diff_row *r = &d->rows.v[i];

		if (!r->tested)
			continue;
		r->p = p[n++];
		r->different = r->p <= d->opts.alpha;
		d->differ += r->different;
	}
	free(p);
}

static int by_change(const void *pa, const void *pb)
{
	const struct diff_row *a = pa, *b = pb;
	double ca = fabs(a->r.after - a->r.before), cb = fabs(b->r.after - b->r.before);
	const struct diff_item *ia = diff_item_of(a), *ib = diff_item_of(b);
	int c = (int)a->kind - (int)b->kind;

	if (!c)
		c = ia->idle - ib->idle;
	if (!c)
		c = (ca < cb) - (ca > cb);
	if (!c)
		c = strcmp(ia->name, ib->name);
	return c ? c : strcmp(ia->where, ib->where);
}

struct diff *diff_new(const struct diff_side *a, const struct diff_side *b,
		      const struct diff_opts *opts)
{
	uint32_t unseen = a->s->model->facts.unseen | b->s->model->facts.unseen;
	struct diff *d = mem_zalloc(sizeof(*d));

	d->a = a;
	d->b = b;
	d->opts = *opts;
	if (unseen & UNSEEN_TIMES)
		d->opts.per = DIFF_PER_NONE;
	else if (opts->per == DIFF_PER_AUTO)
		d->opts.per = is_whole(a) && is_whole(b) &&
					      same_work(&a->s->model->facts, &b->s->model->facts)
				      ? DIFF_PER_PACE
				      : DIFF_PER_WALL;
	d->pace.ratio = 1;
	d->functions = a->period > 0 && b->period > 0;
	d->waits = !(unseen & UNSEEN_SWITCHES);
	d->locks = !(unseen & (UNSEEN_SWITCHES | UNSEEN_LOCKS));
	diff_join_sides(d);
	if (d->opts.per == DIFF_PER_PACE)
		diff_pace_take(d);
	test(d);
	sort_by(d->rows.v, d->rows.n, sizeof(*d->rows.v), by_change);
	diff_stuck_take(d);
	diff_notes(d);
	return d;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->notes.n; i++)
		free(d->notes.v[i]);
	vec_done(&d->notes);
	vec_done(&d->rows);
	vec_done(&d->stuck);
	free(d);
}
