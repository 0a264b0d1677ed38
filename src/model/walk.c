// SPDX-License-Identifier: MIT
/*
 * The model is deterministic: fed again with the same events, the n-th thread, row and lock are the
 * same as before, so an index is all that has to be carried over.
 */
#include "model/walk.h"

#include "base/err.h"
#include "model/load.h"

enum { WALK_STEP = 1 << 16 };

struct walking {
	struct model *m; /* the finished one */
	const struct walk *w;
	int rc; /* the first failure */
};

static const struct thread *same_thread(const struct walking *k, const struct thread *th)
{
	return th ? k->m->timeline.threads.v[th->index] : NULL;
}

static void walk_on_event(void *arg, const struct event *ev)
{
	struct walking *k = arg;
	const struct timeline *t = &k->m->timeline;

	if (!k->rc)
		k->rc = k->w->event(k->w->arg, ev, ev->ts >= t->from && ev->ts < t->to);
}

static void walk_on_interval(void *arg, const struct interval *iv)
{
	struct walking *k = arg;
	struct interval with = *iv;

	if (k->rc || !k->w->interval)
		return;
	with.thread = same_thread(k, iv->thread);
	with.waker.thread = same_thread(k, iv->waker.thread);
	if (iv->lock)
		with.lock = locks_index(&k->m->locks, iv->lock) + 1;
	k->rc = k->w->interval(k->w->arg, &with);
}

static void walk_on_sample(void *arg, const struct thread *th, uint64_t ts, uint32_t cpu,
			   uint32_t row)
{
	struct walking *k = arg;

	if (!k->rc && k->w->sample)
		k->rc = k->w->sample(k->w->arg, same_thread(k, th), ts, cpu, row);
}

static void walk_on_seen(void *arg, const struct seen *seen)
{
	struct walking *k = arg;
	struct seen with = *seen;

	if (k->rc || !k->w->seen)
		return;
	with.lock = locks_index(&k->m->locks, seen->lock + 1);
	k->rc = k->w->seen(k->w->arg, &with);
}

static void on_klocked(void *arg, uint32_t lock, const struct thread *th, uint64_t ts, uint64_t ns,
		       uint32_t n)
{
	struct walking *k = arg;

	if (!k->rc && k->w->klocked)
		k->rc = k->w->klocked(k->w->arg, locks_index(&k->m->locks, lock + 1),
				      same_thread(k, th), ts, ns, n);
}

int model_walk(struct model *m, struct reader *r, const struct walk *w)
{
	struct walking k = {.m = m, .w = w};
	struct model_opts opts = {
		.from = m->timeline.window_from,
		.to = m->timeline.window_to,
		.min_lock_wait = m->locks.min_wait,
		.event_sink = w->event ? walk_on_event : NULL,
		.sink = walk_on_interval,
		.sample_sink = walk_on_sample,
		.seen_sink = walk_on_seen,
		.klocked_sink = on_klocked,
		.sink_arg = &k,
		.scan_first = m->scanned,
	};
	struct loading *l = loading_new(r, &opts);
	int rc;

	while ((rc = loading_step(l, WALK_STEP)) > 0 && !k.rc)
		if (w->progress)
			w->progress(w->progress_arg, loading_progress(l));
	/* Hands out what is still open at the end. */
	if (!rc && !k.rc)
		model_free(loading_finish(l, m->facts.path));
	else
		loading_free(l);
	return k.rc ? k.rc : rc;
}
