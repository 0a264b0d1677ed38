// SPDX-License-Identifier: MIT
/*
 * Threads that are stuck only on the later side. Statistics cannot find a hang: waits that never
 * end are too few, and stuck threads do less of everything else.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/sort.h"
#include "base/units.h"
#include "diff/diff.h"
#include "model/summary/parts.h"
#include "report/lead.h"
#include "report/words.h"

/* A wait that lasts to the end of its side, and covers at least 1/4 of it. */
enum { STUCK_PART = 4, NAMES_MOST = 6, TEXT = 128 };

void diff_stuck_wait(struct diff_side *s, const struct interval *iv)
{
	const struct timeline *t = &s->s->model->timeline;
	uint64_t start = iv->start - timeline_cut_before(t, iv->thread, iv->start);

	if (iv->end < s->start + s->window || iv->end - iv->start < s->window / STUCK_PART)
		return;
	vec_push(&s->stuck, (struct diff_stuck){.thread = iv->thread,
						.start = start,
						.before = start <= t->begin,
						.row = iv->row,
						.lock = iv->lock});
}

/* No recorded thread has to end such a wait, or the thread is not a subject of the recording. */
static bool is_no_question(const struct model *m, const struct diff_stuck *w)
{
	return reason_has(m->tally.waits.v[w->row].verdict.reason, TRAIT_OUTSIDE) ||
	       !thread_is_subject(w->thread);
}

static int stuck_by_start(const void *pa, const void *pb)
{
	const struct diff_stuck *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->thread->index > b->thread->index) - (a->thread->index < b->thread->index);
}

void diff_stuck_settle(struct diff_side *s)
{
	const struct model *m = s->s->model;
	size_t n = 0;

	for (size_t i = 0; i < s->stuck.n; i++) {
		struct diff_stuck w = s->stuck.v[i];

		if (is_no_question(m, &w))
			continue;
		w.reason = m->tally.waits.v[w.row].verdict.reason;
		w.at = w.lock ? summary_lock(s->s, w.lock - 1) : SIZE_MAX;
		s->stuck.v[n++] = w;
	}
	s->stuck.n = n;
	sort_by(s->stuck.v, n, sizeof(*s->stuck.v), stuck_by_start);
}

/* In one capture, the same thread; in two, one with the same name and reason. */
static uint64_t match_key(const struct diff *d, const struct diff_stuck *w)
{
	const struct thread *t = w->thread;

	if (!strcmp(d->a->path, d->b->path))
		return map_mix(map_mix(t->tid) + t->start);
	return map_hash_bytes(t->name, strlen(t->name)) + w->reason;
}

void diff_stuck_take(struct diff *d)
{
	struct map before = {0}; /* -> how many */

	for (size_t i = 0; i < d->a->stuck.n; i++)
		++*map_put(&before, match_key(d, &d->a->stuck.v[i]), NULL);
	for (size_t i = 0; i < d->b->stuck.n && d->waits; i++) {
		uint64_t *left = map_get(&before, match_key(d, &d->b->stuck.v[i]));

		if (left && *left)
			--*left;
		else
			vec_push(&d->stuck, &d->b->stuck.v[i]);
	}
	map_done(&before);
}

void diff_stuck_words(const struct diff *d, const struct diff_stuck *w, struct buf *b)
{
	const struct summary *s = d->b->s;
	const struct wait_row *r = &s->model->tally.waits.v[w->row];
	char text[TEXT];

	words_doing(text, sizeof(text), INTERVAL_WAITING, w->reason);
	buf_printf(b, "%s", text);
	if (w->at < s->locks.n && s->locks.v[w->at].named)
		buf_printf(b, " (%s)", words_safe(text, sizeof(text), s->locks.v[w->at].name, 40));
	if (r->kstack || r->ustack)
		lead_in(b, s, where_function(&s->model->names, r->kstack, r->ustack), r->kstack,
			r->ustack);
	buf_printf(b, " since %s",
		   w->before ? "before the recording began"
			     : words_moment(text, sizeof(text), s->model, w->start));
}

bool diff_stuck_lead(const struct diff *d, struct buf *b)
{
	size_t n = d->stuck.n;
	char name[TEXT];

	if (!n)
		return false;
	buf_printf(b, "%zu thread%s got stuck: ", n, n == 1 ? "" : "s");
	for (size_t i = 0; i < n && i < NAMES_MOST; i++)
		buf_printf(b, "%s%s", i ? ", " : "",
			   words_safe(name, sizeof(name), d->stuck.v[i]->thread->name, 15));
	if (n > NAMES_MOST)
		buf_printf(b, " and %zu more", n - NAMES_MOST);
	buf_printf(b, ".");
	if (d->b->s->stuck.circles) {
		buf_printf(b, " ");
		(void)lead_deadlock(d->b->s, b);
	}
	return true;
}
