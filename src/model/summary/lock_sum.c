// SPDX-License-Identifier: MIT
/* The locks of a summary: rows of waits by lock, with waiters and holders. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/sort.h"
#include "model/charge/chain.h"
#include "model/wait/classify.h"
#include "model/summary/parts.h"

struct lock_sums {
	struct summary *s;
	const bool *chosen;
	struct map waiters;  /* lock and thread -> place in the lock's waiters */
	struct map inferred; /* by function and kind */
};

static int lock_sum_descending(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

bool lock_has_holders(const struct lock *l)
{
	return l->kind != LOCK_FUTEX && lock_kind_class(l->kind) != LOCK_CLASS_SIGNAL &&
	       !l->for_work;
}

size_t summary_lock(const struct summary *s, uint32_t lock)
{
	uint32_t i = locks_index(&s->model->locks, lock + 1);

	return s->lock_at[i] ? s->lock_at[i] - 1 : SIZE_MAX;
}

/* A futex of unknown use is taken for contended if it is used as mutexes are. */
static bool is_contended(const struct lock *l)
{
	return l->kind == LOCK_FUTEX ? l->was_two : lock_kind_contended(l->kind) && !l->for_work;
}

static struct lock_sum *lock_sum_find(struct summary *s, uint32_t lock)
{
	struct model *m = s->model;
	uint32_t i = locks_index(&m->locks, lock + 1);
	const struct lock *l = &m->locks.list.v[i];
	struct lock_sum *sum;

	if (s->lock_at[i])
		return &s->locks.v[s->lock_at[i] - 1];
	sum = vec_add(&s->locks);
	s->lock_at[i] = s->locks.n;
	sum->kind = l->kind;
	sum->evidence = l->evidence;
	sum->contended = is_contended(l);
	sum->name = lock_name(m, l, &sum->named);
	sum->shared = l->shared != 0;
	sum->address = l->addr;
	sum->pid = l->process && !sum->shared ? m->processes.list.v[l->process - 1].pid : 0;
	sum->life = l->life;
	sum->index = i;
	sum->histogram = mem_zalloc(HIST_BUCKETS * sizeof(*sum->histogram));
	sum->histogram_ns = mem_zalloc(HIST_BUCKETS * sizeof(*sum->histogram_ns));
	return sum;
}

static struct lock_waiter *waiter_of(struct lock_sums *t, size_t sum, const struct thread *th)
{
	struct lock_sum *l = &t->s->locks.v[sum];
	bool fresh;
	uint64_t *slot = map_put(&t->waiters, (uint64_t)sum << 32 | th->index, &fresh);

	if (fresh) {
		*slot = l->waiters.n;
		vec_push(&l->waiters, (struct lock_waiter){.thread = th});
	}
	return &l->waiters.v[*slot];
}

static void add_waiter(struct lock_sums *t, size_t sum, const struct lock_row *r)
{
	struct lock_waiter *w = waiter_of(t, sum, r->thread);

	w->total += r->total;
	w->count += r->count;
	w->max = r->max > w->max ? r->max : w->max;
	if (!w->kstack)
		w->kstack = r->kstack;
}

static void lock_sum_add_row(struct lock_sums *t, const struct lock_row *r)
{
	struct lock_sum *sum = lock_sum_find(t->s, r->lock);

	if (r->thread)
		add_waiter(t, (size_t)(sum - t->s->locks.v), r);
	sum->total += r->total;
	sum->count += r->count;
	sum->open += r->open;
	sum->failed += r->failed;
	if (r->max > sum->max || !sum->max_start) {
		sum->max = r->max;
		sum->max_start = r->max_start;
		sum->max_thread = r->thread;
	}
	for (size_t i = 0; i < r->hist.n; i++) {
		sum->histogram[r->hist.v[i].bucket] += r->hist.v[i].count;
		sum->histogram_ns[r->hist.v[i].bucket] += r->hist.v[i].ns;
	}
}

/* Where each waiter waited longest: the stacks of that row. */
static void add_stacks(struct lock_sums *t)
{
	const struct tally *tally = &t->s->model->tally;
	struct map best = {0};

	for (size_t i = 0; i < tally->waits.n; i++) {
		const struct wait_row *r = &tally->waits.v[i];
		size_t sum = r->lock && t->chosen[r->thread->index]
				     ? summary_lock(t->s, r->lock - 1)
				     : SIZE_MAX;
		struct lock_waiter *w;
		uint64_t *total;

		if (sum == SIZE_MAX || !r->total || !(r->kstack || r->ustack))
			continue;
		total = map_put(&best, (uint64_t)sum << 32 | r->thread->index, NULL);
		if (r->total < *total)
			continue;
		*total = r->total;
		w = waiter_of(t, sum, r->thread);
		w->kstack = r->kstack;
		w->ustack = r->ustack;
	}
	map_done(&best);
}

enum lock_kind lock_kind_on_stack(struct model *m, uint32_t kstack)
{
	const struct named_frame *f;
	size_t n = names_probed_stack(&m->names, kstack, 0, &f);

	for (size_t i = 0; i < n; i++) {
		const char *name = names_function(&m->names, f[i].function)->name;

		if (strstr(name, "mutex"))
			return strstr(name, "rt_mutex") ? LOCK_RTMUTEX : LOCK_KMUTEX;
		if (strstr(name, "percpu"))
			return LOCK_PERCPU_RWSEM;
		if (strstr(name, "rwsem") || strstr(name, "down_read") ||
		    strstr(name, "down_write"))
			return LOCK_RWSEM;
		if (!strncmp(name, "rt", 2))
			return LOCK_RTMUTEX;
	}
	return LOCK_KSEMAPHORE;
}

static void infer(struct lock_sums *t, const struct wait_row *r)
{
	struct summary *s = t->s;
	const char *by = lock_wanted_by(s->model, r->kstack);
	enum lock_kind kind = lock_kind_on_stack(s->model, r->kstack);
	struct lock_waiter *w;
	struct lock_sum *sum;
	struct buf name = {0};
	uint64_t *slot;
	bool fresh;

	if (!by)
		by = "the kernel";
	slot = map_put(&t->inferred, map_hash_bytes(by, strlen(by)) + kind, &fresh);
	if (fresh) {
		*slot = s->locks.n;
		sum = vec_add(&s->locks);
		buf_printf(&name, "%s in %s", lock_kind_words(kind), by);
		sum->name = mem_strdup(buf_cstr(&name));
		buf_done(&name);
		sum->kind = kind;
		sum->evidence = EVIDENCE_KSTACK;
		sum->named = sum->inferred = sum->contended = true;
		sum->index = UINT32_MAX;
		sum->histogram = mem_zalloc(HIST_BUCKETS * sizeof(*sum->histogram));
		sum->histogram_ns = mem_zalloc(HIST_BUCKETS * sizeof(*sum->histogram_ns));
	}
	sum = &s->locks.v[*slot];
	w = waiter_of(t, *slot, r->thread);
	w->total += r->total;
	w->count += r->count;
	w->max = r->max > w->max ? r->max : w->max;
	w->kstack = r->kstack;
	w->ustack = r->ustack;
	sum->total += r->total;
	sum->count += r->count;
	sum->open += r->open;
	if (r->max > sum->max) {
		sum->max = r->max;
		sum->max_start = r->max_start;
		sum->max_thread = r->thread;
	}
}

/*
 * Guesses lengths within a bucket: half of its waits evenly spread below their mean, and half
 * above. So waits of equal length come out right.
 */
static uint64_t in_bucket(const struct lock_sum *l, unsigned i, double part)
{
	double low = (double)hist_from(i), high = (double)hist_from(i + 1);
	double mean = (double)l->histogram_ns[i] / (double)l->histogram[i];

	high = high < (double)l->max ? high : (double)l->max;
	mean = mean > low ? (mean < high ? mean : high) : low;
	if (part <= 0.5)
		return (uint64_t)(low + (mean - low) * part * 2);
	return (uint64_t)(mean + (high > mean ? high - mean : 0) * (part - 0.5) * 2);
}

static uint64_t quantile(const struct lock_sum *l, double q)
{
	uint64_t n = 0, seen = 0, rank;

	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		n += l->histogram[i];
	rank = (uint64_t)(q * (double)n + 0.999999);
	for (unsigned i = 0; i < HIST_BUCKETS && n; i++) {
		if (seen + l->histogram[i] >= rank)
			return in_bucket(l, i, (double)(rank - seen) / (double)l->histogram[i]);
		seen += l->histogram[i];
	}
	return 0;
}

static int by_wait(const void *pa, const void *pb)
{
	const struct lock_waiter *a = pa, *b = pb;
	int c = lock_sum_descending(a->total, b->total);

	return c ? c
		 : (a->thread->index > b->thread->index) - (a->thread->index < b->thread->index);
}

static int by_blame(const void *pa, const void *pb)
{
	const struct lock_holder *a = pa, *b = pb;
	int c = (a->thread == NULL) - (b->thread == NULL);

	if (!c)
		c = lock_sum_descending(a->blamed, b->blamed);
	return c || !a->thread ? c
			       : (a->thread->index > b->thread->index) -
					 (a->thread->index < b->thread->index);
}

static int by_lock(const void *pa, const void *pb)
{
	const struct lock_sum *a = pa, *b = pb;
	int c = b->contended - a->contended;

	if (!c)
		c = lock_sum_descending(a->total, b->total);
	if (!c)
		c = (a->index > b->index) - (a->index < b->index);
	return c ? c : strcmp(a->name, b->name);
}

static void lock_sum_order(struct summary *s)
{
	sort_by(s->locks.v, s->locks.n, sizeof(*s->locks.v), by_lock);
	for (size_t i = 0; i < s->locks.n; i++) {
		struct lock_sum *l = &s->locks.v[i];

		s->contended += l->contended;
		if (!l->inferred)
			s->lock_at[l->index] = i + 1;
		sort_by(l->waiters.v, l->waiters.n, sizeof(*l->waiters.v), by_wait);
		sort_by(l->holders.v, l->holders.n, sizeof(*l->holders.v), by_blame);
		l->p50 = quantile(l, 0.5);
		l->p99 = quantile(l, 0.99);
	}
}

void summary_locks(struct summary *s, const bool *chosen)
{
	struct model *m = s->model;
	struct lock_sums t = {.s = s, .chosen = chosen};
	bool all = true;

	s->kernel_locks = m->locks.kernel || !m->facts.no_kernel_locks;
	s->lock_at = mem_zalloc((m->locks.list.n + 1) * sizeof(*s->lock_at));
	for (size_t i = 0; i < m->timeline.threads.n; i++)
		all &= chosen[i];
	for (size_t i = 0; i < m->locks.rows.n; i++) {
		const struct thread *th = m->locks.rows.v[i].thread;

		if (th ? chosen[th->index] : all)
			lock_sum_add_row(&t, &m->locks.rows.v[i]);
	}
	add_stacks(&t);
	summary_holders(s, chosen);
	for (size_t i = 0; i < m->tally.waits.n; i++) {
		const struct wait_row *r = &m->tally.waits.v[i];

		if (chosen[r->thread->index] && r->total && !r->lock &&
		    r->verdict.reason == REASON_KERNEL_LOCK &&
		    r->verdict.evidence == EVIDENCE_KSTACK)
			infer(&t, r);
	}
	lock_sum_order(s);
	map_done(&t.waiters);
	map_done(&t.inferred);
}

void summary_parts_done(struct summary *s)
{
	for (size_t i = 0; i < s->locks.n; i++) {
		free(s->locks.v[i].name);
		free(s->locks.v[i].histogram);
		free(s->locks.v[i].histogram_ns);
		vec_done(&s->locks.v[i].waiters);
		for (size_t k = 0; k < s->locks.v[i].holders.n; k++)
			doings_done(&s->locks.v[i].holders.v[k].did);
		vec_done(&s->locks.v[i].holders);
	}
	for (size_t i = 0; i < s->blame.rows.n; i++)
		vec_done(&s->blame.rows.v[i].victims);
	vec_done(&s->locks);
	vec_done(&s->blame.rows);
	free(s->blame.rows_of);
	for (size_t i = 0; i < s->blame.sums.n; i++) {
		doings_done(&s->blame.sums.v[i].did);
		vec_done(&s->blame.sums.v[i].victims);
	}
	vec_done(&s->blame.sums);
	for (size_t i = 0; i < s->stalls.list.n; i++)
		doings_done(&s->stalls.list.v[i].did);
	doings_done(&s->finding.did);
	vec_done(&s->stalls.list);
	vec_done(&s->stalls.blackouts);
	vec_done(&s->finding.victims);
	free(s->finding.group);
	free(s->lock_at);
}
