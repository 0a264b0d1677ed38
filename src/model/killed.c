// SPDX-License-Identifier: MIT
#include "model/killed.h"

#include "model/model.h"

/* A thread that another one joins wakes it by its end, in no call on the futex. */
static bool killed_perhaps(const struct model *m, const struct interval *iv)
{
	const struct waker *w = &iv->waker;
	const struct lock *l = iv->lock ? &m->locks.list.v[iv->lock - 1] : NULL;

	return l && !l->kernel && !iv->open && w->known && w->ctx == WAKE_TASK && !w->release &&
	       l->of != w->tid;
}

/* A thread that ends may wait once more, still in the call: for its process's core dump, say. */
static bool killed_still(const struct last_wait *last, const struct interval *iv)
{
	return !iv->lock && iv->call == last->call;
}

void killed_waited(struct model *m, const struct interval *iv, uint32_t row)
{
	const struct thread *th = iv->thread;
	const struct timeline *t = &m->timeline;
	bool perhaps = killed_perhaps(m, iv);
	struct last_wait *last;

	if (!perhaps && th->index >= m->last_waits.n)
		return;
	while (m->last_waits.n <= th->index)
		vec_push(&m->last_waits, (struct last_wait){0});
	last = &m->last_waits.v[th->index];
	if (!perhaps) {
		if (last->thread && !killed_still(last, iv))
			last->thread = NULL;
		return;
	}
	*last = (struct last_wait){.thread = th,
				   .start = iv->start - timeline_cut_before(t, th, iv->start),
				   .end = iv->end + timeline_cut_after(t, th, iv->end),
				   .ns = iv->end - iv->start,
				   .lock = iv->lock,
				   .row = row,
				   .call = iv->call,
				   .waker = iv->waker};
}

void killed_settle(struct model *m)
{
	for (size_t i = 0; i < m->last_waits.n; i++) {
		const struct last_wait *w = &m->last_waits.v[i];

		if (!w->thread || !w->thread->exit_ts)
			continue;
		tally_not_woken(&m->tally, w->row, &w->waker, w->ns);
		if (w->end - w->start >= m->locks.min_wait)
			locks_row(&m->locks, w->lock - 1, w->thread)->open++;
		vec_push(&m->open, (struct open_wait){.thread = w->thread,
						      .start = w->start,
						      .end = w->end,
						      .lock = w->lock,
						      .row = w->row});
	}
}
