// SPDX-License-Identifier: MIT
/*
 * Orders. "Telling" puts first the threads that used, wanted or were kept from a CPU: what counts
 * is time running, runnable, lost, and in waits that they did not choose; among equals, the longer
 * wait. thaw's own threads come after these. Threads that only waited come last: there may be
 * thousands.
 */
#include "model/summary/summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sort.h"
#include "model/summary/parts.h"

static const char *const order_words[] = {"telling", "running", "runnable",
					  "waiting", "wall",	"name"};

const char *thread_order_word(size_t i)
{
	return i < ARRAY_LEN(order_words) ? order_words[i] : NULL;
}

int thread_order_parse(const char *word, enum thread_order *ret)
{
	for (unsigned i = 0; i < ARRAY_LEN(order_words); i++) {
		if (!strcmp(word, order_words[i])) {
			*ret = i;
			return 0;
		}
	}
	return err_set(-EINVAL,
		       "--sort: there is no order '%s'; "
		       "choose telling, running, runnable, waiting, wall or name",
		       word);
}

enum reason thread_main_reason(const struct thread *t)
{
	enum reason best = REASON_UNKNOWN;

	for (unsigned r = 0; r < REASONS; r++)
		if (t->waits[r] > t->waits[best])
			best = r;
	return best;
}

static bool is_active(const struct thread *t)
{
	return t->total[INTERVAL_RUNNING] || t->total[INTERVAL_RUNNABLE] || t->samples;
}

static uint64_t quiet_time(const struct thread *t)
{
	uint64_t sum = 0;

	for (unsigned r = 0; r < REASONS; r++)
		sum += reason_has(r, TRAIT_QUIET) ? t->waits[r] : 0;
	return sum;
}

static uint64_t summary_weight(const struct thread *t, enum thread_order order)
{
	switch (order) {
	case ORDER_TELLING:
		return thread_wall(t) - quiet_time(t);
	case ORDER_RUNNING:
		return t->total[INTERVAL_RUNNING];
	case ORDER_RUNNABLE:
		return t->total[INTERVAL_RUNNABLE];
	case ORDER_WAITING:
		return t->total[INTERVAL_WAITING];
	case ORDER_WALL:
		return thread_wall(t);
	case ORDER_NAME:
		break;
	}
	return 0;
}

static int summary_descending(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

/* A thread, and what a comparison would otherwise ask of it again and again. */
struct ranked {
	const struct thread *thread;
	uint64_t weight;
	bool active;
};

static int by_order(const void *pa, const void *pb, void *arg)
{
	const struct ranked *ra = pa, *rb = pb;
	const struct thread *a = ra->thread, *b = rb->thread;
	enum thread_order order = *(enum thread_order *)arg;
	int c = summary_descending(ra->active, rb->active);

	if (!c && order == ORDER_TELLING)
		c = !!(a->flags & THREAD_OWN) - !!(b->flags & THREAD_OWN);
	if (!c && order == ORDER_NAME)
		c = strcmp(a->name, b->name);
	if (!c)
		c = summary_descending(ra->weight, rb->weight);
	if (!c)
		c = summary_descending(a->total[INTERVAL_WAITING], b->total[INTERVAL_WAITING]);
	return c ? c : (a->index > b->index) - (a->index < b->index);
}

static void sort_threads(struct summary *s, enum thread_order order)
{
	struct ranked *ranks = mem_alloc(s->threads.n * sizeof(*ranks));

	for (size_t i = 0; i < s->threads.n; i++) {
		const struct thread *t = s->threads.v[i];

		ranks[i] = (struct ranked){t, summary_weight(t, order), is_active(t)};
	}
	sort_with(ranks, s->threads.n, sizeof(*ranks), by_order, &order);
	for (size_t i = 0; i < s->threads.n; i++)
		s->threads.v[i] = ranks[i].thread;
	free(ranks);
}

static void take_threads(struct summary *s, const struct summary_opts *opts, bool *chosen)
{
	const struct timeline *t = &s->model->timeline;

	for (size_t i = 0; i < t->threads.n; i++) {
		const struct thread *th = t->threads.v[i];

		chosen[i] = !opts->thread || thread_matches(th, opts->thread);
		if (!chosen[i] || (!thread_wall(th) && !th->samples))
			continue;
		vec_push(&s->threads, th);
		s->active += is_active(th);
		s->samples += th->samples;
		for (unsigned k = 0; k < INTERVAL_KINDS; k++)
			s->total[k] += th->total[k];
		for (unsigned r = 0; r < REASONS; r++)
			s->reasons[r] += th->waits[r];
	}
	if (s->threads.n)
		sort_threads(s, opts->order);
}

static int by_self(const void *pa, const void *pb)
{
	const struct function_count *a = pa, *b = pb;
	int c = summary_descending(a->self, b->self);

	if (!c)
		c = summary_descending(a->total, b->total);
	return c ? c : (a->function > b->function) - (a->function < b->function);
}

/* A function counts once a sample however often it is on the stack: `last` remembers the row. */
static void take_functions(struct summary *s, const bool *chosen)
{
	struct names *names = &s->model->names;
	const struct tally *t = &s->model->tally;
	VEC(struct function_count) counts = {0};
	VEC(size_t) last = {0};

	for (size_t i = 0; i < t->samples.n; i++) {
		const struct sample_row *r = &t->samples.v[i];
		const struct named_frame *f;
		size_t n =
			chosen[r->thread->index] ? names_stack(names, r->kstack, r->ustack, &f) : 0;

		while (counts.n < names->functions.n) {
			struct function_count fresh = {.function = (uint32_t)counts.n};

			vec_push(&counts, fresh);
			vec_push(&last, 0);
		}
		for (size_t j = 0; j < n; j++) {
			struct function_count *c = &counts.v[f[j].function];

			c->self += j ? 0 : r->count;
			c->total += last.v[f[j].function] == i + 1 ? 0 : r->count;
			last.v[f[j].function] = i + 1;
		}
	}
	for (size_t i = 0; i < counts.n; i++)
		if (counts.v[i].total)
			vec_push(&s->functions, counts.v[i]);
	sort_by(s->functions.v, s->functions.n, sizeof(*s->functions.v), by_self);
	vec_done(&counts);
	vec_done(&last);
}

/* `wakers`: place and waker -> place in the place's wakers. */
static void add_waker(struct summary *s, struct map *wakers, size_t place,
		      const struct waker_row *r)
{
	struct wait_place *p = &s->waits.v[place];
	uint64_t who = r->thread ? (uint64_t)r->thread->index + 1 : 0;
	uint64_t key = map_mix(map_mix((uint64_t)place << 1 | r->interrupt) + who) + r->tid, *slot;
	struct waker_sum *w;
	bool fresh;

	for (;; key++) {
		slot = map_put(wakers, key, &fresh);
		if (fresh)
			*slot = (uint64_t)place << 32 | p->wakers.n;
		if (*slot >> 32 != place)
			continue;
		if (fresh)
			break;
		w = &p->wakers.v[(uint32_t)*slot];
		if (w->thread == r->thread && w->tid == r->tid && w->interrupt == r->interrupt)
			break;
	}
	if (fresh)
		vec_push(&p->wakers, (struct waker_sum){.thread = r->thread,
							.tid = r->tid,
							.interrupt = r->interrupt,
							.kstack = r->kstack,
							.ustack = r->ustack});
	w = &p->wakers.v[(uint32_t)*slot];
	w->total += r->total;
	w->count += r->count;
}

static void summary_add_wait(struct wait_place *p, const struct wait_row *r, size_t lock,
			     const struct waited_file *file)
{
	if (!p->total)
		p->lock = lock;
	else if (p->lock != lock)
		p->lock = SIZE_MAX;
	if (r->total >= p->sort_total) {
		p->sort_total = r->total;
		p->kstack = r->kstack;
		p->ustack = r->ustack;
		p->evidence = r->verdict.evidence;
		p->in = r->in;
	}
	if (r->max > p->max) {
		p->max = r->max;
		p->max_start = r->max_start;
		p->max_thread = r->thread;
	}
	if (file && p->file && file != p->file)
		p->more_files = true;
	else if (file)
		p->file = file;
	p->reason = r->verdict.reason;
	p->total += r->total;
	p->count += r->count;
	p->open += r->open;
}

static int by_total(const void *pa, const void *pb)
{
	const struct wait_place *a = pa, *b = pb;
	int c = (a->reason == REASON_IDLE) - (b->reason == REASON_IDLE);

	if (!c)
		c = summary_descending(a->total, b->total);
	if (!c)
		c = summary_descending(a->max, b->max);
	if (!c)
		c = (a->max_start > b->max_start) - (a->max_start < b->max_start);
	if (!c)
		c = (a->kstack > b->kstack) - (a->kstack < b->kstack);
	return c ? c : (a->ustack > b->ustack) - (a->ustack < b->ustack);
}

static int by_waker_total(const void *pa, const void *pb)
{
	const struct waker_sum *a = pa, *b = pb;
	int c = summary_descending(a->total, b->total);

	return c ? c : (a->tid > b->tid) - (a->tid < b->tid);
}

static size_t summary_place_of(struct summary *s, struct map *places, const struct wait_row *r)
{
	uint64_t place = classify_place(&s->model->classify, r->kstack, r->ustack), *slot;
	bool fresh, own = thread_was_own(r->thread, r->last);

	if (!place)
		return SIZE_MAX;
	slot = map_put(places, map_mix(place ^ own) + r->verdict.reason, &fresh);
	if (fresh) {
		vec_add(&s->waits)->own = own;
		*slot = s->waits.n - 1;
	}
	return *slot;
}

/*
 * How many threads waited in each place. A key is place * threads + thread; the first REASONS
 * places stand for waits without a stack.
 */
static void count_threads(struct summary *s, struct sort_key *seen, size_t n)
{
	size_t threads = s->model->timeline.threads.n;

	sort_keys(seen, n);
	for (size_t i = 0; i < n; i++) {
		size_t where = seen[i].key / threads;

		if (i && seen[i].key == seen[i - 1].key)
			continue;
		++*(where < REASONS ? &s->placeless[where].threads
				    : &s->waits.v[where - REASONS].threads);
	}
}

static void take_waits(struct summary *s, const bool *chosen)
{
	const struct tally *t = &s->model->tally;
	size_t *place = mem_zalloc(t->waits.n * sizeof(*place));
	struct sort_key *seen = mem_alloc((t->waits.n + 1) * sizeof(*seen));
	struct map places = {0}, wakers = {0};
	size_t n = 0;

	for (size_t i = 0; i < t->waits.n; i++) {
		const struct wait_row *r = &t->waits.v[i];
		struct wait_place *p;
		uint64_t where;

		if (!chosen[r->thread->index] || !r->total)
			continue;
		place[i] = summary_place_of(s, &places, r);
		p = place[i] == SIZE_MAX ? &s->placeless[r->verdict.reason] : &s->waits.v[place[i]];
		summary_add_wait(p, r, r->lock ? summary_lock(s, r->lock - 1) : SIZE_MAX,
				 waited_file_at(&s->model->files, r->file));
		where = place[i] == SIZE_MAX ? r->verdict.reason : REASONS + place[i];
		seen[n++].key = where * s->model->timeline.threads.n + r->thread->index;
	}
	count_threads(s, seen, n);
	for (size_t i = 0; i < t->wakers.n; i++) {
		size_t w = t->wakers.v[i].wait;

		if (chosen[t->waits.v[w].thread->index] && t->wakers.v[i].total &&
		    place[w] != SIZE_MAX)
			add_waker(s, &wakers, place[w], &t->wakers.v[i]);
	}
	for (size_t i = 0; i < s->waits.n; i++)
		sort_by(s->waits.v[i].wakers.v, s->waits.v[i].wakers.n,
			sizeof(*s->waits.v[i].wakers.v), by_waker_total);
	sort_by(s->waits.v, s->waits.n, sizeof(*s->waits.v), by_total);
	map_done(&places);
	map_done(&wakers);
	free(seen);
	free(place);
}

enum { NAMES_TOLD = 8 };

/* No thread matches: the message lists some that there are. */
static int nobody(const struct model *m, const char *spec)
{
	struct buf b = {0};
	struct map told = {0};
	bool fresh;
	int rc;

	for (size_t i = 0; i < m->timeline.threads.n; i++) {
		const char *name = m->timeline.threads.v[i]->name;

		map_put(&told, map_hash_bytes(name, strlen(name)), &fresh);
		if (fresh && told.n <= NAMES_TOLD)
			buf_printf(&b, "%s%s", told.n > 1 ? ", " : "", name);
	}
	if (told.n > NAMES_TOLD)
		buf_printf(&b, " and %zu more", told.n - NAMES_TOLD);
	rc = err_set(-ENOENT, "no thread has the tid or name '%s'; there are: %s", spec,
		     told.n ? buf_cstr(&b) : "none");
	map_done(&told);
	buf_done(&b);
	return rc;
}

/* Of threads that did nothing but wait, too. */
static void deadlocked_first(struct summary *s)
{
	const struct stuck *st = &s->stuck;
	size_t active = 0, asleep = s->active;

	for (size_t i = 0; i < st->waits.n && st->waits.v[i].circle == 1; i++) {
		const struct thread *t = st->waits.v[i].thread;
		size_t *to = is_active(t) ? &active : &asleep, at = *to;

		while (at < s->threads.n && s->threads.v[at] != t)
			at++;
		if (at == s->threads.n)
			continue;
		for (; at > *to; at--)
			s->threads.v[at] = s->threads.v[at - 1];
		s->threads.v[(*to)++] = t;
	}
}

int summary_new(struct model *m, const struct summary_opts *opts, struct summary **ret)
{
	struct summary *s = mem_zalloc(sizeof(*s));
	bool *chosen = mem_zalloc(m->timeline.threads.n);
	bool any = !opts->thread;

	s->model = m;
	take_threads(s, opts, chosen);
	for (size_t i = 0; i < m->timeline.threads.n; i++)
		any |= chosen[i];
	if (!any) {
		free(chosen);
		summary_free(s);
		return nobody(m, opts->thread);
	}
	take_functions(s, chosen);
	crowd_sums_init(&s->crowds, &m->chain, chosen);
	summary_locks(s, chosen);
	take_waits(s, chosen);
	summary_blame(s, chosen);
	summary_stuck(s, chosen);
	summary_stalls(s, chosen);
	summary_finding(s);
	if (opts->order == ORDER_TELLING)
		deadlocked_first(s);
	crowd_sums_done(&s->crowds);
	free(chosen);
	*ret = s;
	return 0;
}

void summary_free(struct summary *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->waits.n; i++)
		vec_done(&s->waits.v[i].wakers);
	vec_done(&s->waits);
	summary_parts_done(s);
	vec_done(&s->functions);
	vec_done(&s->threads);
	vec_done(&s->stuck.waits);
	free(s);
}
