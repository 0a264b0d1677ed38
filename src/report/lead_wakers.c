// SPDX-License-Identifier: MIT
/*
 * Who ends the waits that a sentence is about, what that thread does meanwhile, and who ends its
 * waits in turn: the pool behind a queue, the writer behind the reader of its pipe.
 */
#include "report/lead.h"

#include "model/summary/parts.h"
#include "report/words.h"

enum { TEXT = 128, WAKERS_MOST = 3 };

/* The thread whose wakes ended most of this waiting time. */
const struct thread *lead_waker(const struct summary *s, lead_waits_fn *among, const void *arg)
{
	const struct tally *t = &s->model->tally;
	const struct thread *waker = NULL;
	struct map sums = {0};
	uint64_t most = 0;

	for (size_t i = 0; i < t->wakers.n; i++) {
		const struct waker_row *w = &t->wakers.v[i];
		uint64_t *sum;

		if (w->interrupt || !w->thread || !thread_is_subject(w->thread) ||
		    !among(s, arg, &t->waits.v[w->wait]))
			continue;
		sum = map_put(&sums, w->thread->index, NULL);
		*sum += w->total;
		if (*sum > most) {
			most = *sum;
			waker = w->thread;
		}
	}
	map_done(&sums);
	return waker;
}

/* What a thread did for most of its time. */
struct habit {
	const struct thread *thread;
	enum interval_kind kind;
	enum reason reason;
};

static struct habit habit_of(const struct thread *th)
{
	struct habit h = {th, INTERVAL_RUNNING, REASON_UNKNOWN};
	uint64_t most = th->total[INTERVAL_RUNNING];

	for (unsigned r = 0; r < REASONS; r++) {
		if (th->waits[r] <= most)
			continue;
		most = th->waits[r];
		h.reason = r;
		h.kind = reason_is_runnable(r) ? INTERVAL_RUNNABLE : INTERVAL_WAITING;
	}
	return h;
}

static bool in_habit(const struct summary *s, const void *arg, const struct wait_row *r)
{
	const struct habit *h = arg;

	return r->thread == h->thread && r->verdict.reason == h->reason && (r->kstack || r->ustack);
}

static const struct wait_row *longest_in(const struct summary *s, const struct habit *h)
{
	const struct tally *t = &s->model->tally;
	const struct wait_row *row = NULL;

	for (size_t i = 0; i < t->waits.n && h->kind == INTERVAL_WAITING; i++)
		if (in_habit(s, h, &t->waits.v[i]) && (!row || t->waits.v[i].total > row->total))
			row = &t->waits.v[i];
	return row;
}

/* The waker, what it does and where, and its own waker. */
void lead_say_wakers(const struct summary *s, const struct thread *waker, struct buf *b)
{
	const struct thread *told[WAKERS_MOST] = {NULL};
	char text[TEXT];

	for (size_t n = 0; waker && n < WAKERS_MOST; n++) {
		struct habit h = habit_of(waker);
		const struct wait_row *row = longest_in(s, &h);

		for (size_t i = 0; i < n; i++)
			if (told[i] == waker)
				return;
		told[n] = waker;
		buf_printf(b, ", mostly woken by %s",
			   words_safe(text, sizeof(text), waker->name, 15));
		buf_printf(b, ", which was mostly %s",
			   words_doing(text, sizeof(text), h.kind, h.reason));
		if (row)
			lead_in(b, s, where_function(&s->model->names, row->kstack, row->ustack),
				row->kstack, row->ustack);
		waker = row && h.reason != REASON_SLEEP && h.reason != REASON_IDLE
				? lead_waker(s, in_habit, &h)
				: NULL;
	}
}

/* Is it a wait of the threads that the finding is about, for its reason? */
static bool in_finding(const struct summary *s, const void *arg, const struct wait_row *r)
{
	const struct finding *f = arg;

	if (r->verdict.reason != f->reason)
		return false;
	for (size_t i = 0; i < f->victims.n; i++)
		if (f->victims.v[i] == r->thread)
			return true;
	return false;
}

void lead_finding_wakers(const struct summary *s, struct buf *b)
{
	lead_say_wakers(s, lead_waker(s, in_finding, &s->finding), b);
}
