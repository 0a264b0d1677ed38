// SPDX-License-Identifier: MIT
/*
 * Where most threads have nothing to do, one that hangs does not show in any sum. So before the
 * lead says that all is well, it looks at each wait that had not ended: was it one that another
 * thread, or somebody outside, may have forgotten to end? These look like idleness, too: a lone
 * thread at a condition variable, a pool that nobody woke, a socket on which nothing comes. So the
 * lead tells them, and that it cannot tell.
 */
#include "report/lead.h"

#include <string.h>

#include "base/units.h"
#include "model/summary/parts.h"
#include "report/words.h"
#include "wire/state.h"

enum { TEXT = 128 };
/* A wait that is shorter than this, and than half of the recording, is one of many. */
#define LASTING_NS NSEC_PER_SEC

/* How much a wait looks like a hang. */
enum doubt {
	DOUBT_NONE,
	DOUBT_JOINS,  /* only the end of a thread that does not go on, either: never the first */
	DOUBT_ANSWER, /* nothing comes from outside */
	DOUBT_POOL,   /* nobody woke any of its kind */
	DOUBT_BEHIND, /* such a thread has what it wants */
	DOUBT_OPEN,
};

static bool is_lasting(const struct summary *s, const struct stuck_wait *w)
{
	uint64_t ns = w->end > w->start ? w->end - w->start : 0;

	return w->before || ns >= LASTING_NS || ns > model_window_ns(s->model) / 2;
}

/* Who waits for the end of others has chosen so; they may have been asked for nothing. */
static bool is_chosen(const struct stuck_wait *w)
{
	return reason_has(w->reason, TRAIT_CHOSEN) && !(w->state & STATE_UNINTERRUPTIBLE);
}

static enum doubt doubt_of(const struct summary *s, const struct stuck_wait *w)
{
	if (!thread_is_subject(w->thread) || !is_lasting(s, w))
		return DOUBT_NONE;
	if (w->unwoken)
		return DOUBT_POOL;
	if (reason_has(w->reason, TRAIT_ANSWER))
		return DOUBT_ANSWER;
	if (!lead_is_open(w))
		return DOUBT_NONE;
	if (w->for_stuck && !reason_has(w->for_reason, TRAIT_OUTSIDE))
		return is_chosen(w) ? DOUBT_JOINS : DOUBT_BEHIND;
	return is_chosen(w) ? DOUBT_NONE : DOUBT_OPEN;
}

static uint32_t function_of(const struct summary *s, const struct stuck_wait *w)
{
	return w->kstack || w->ustack ? where_function(&s->model->names, w->kstack, w->ustack)
				      : UINT32_MAX;
}

static bool is_same_place(const struct summary *s, const struct stuck_wait *a,
			  const struct stuck_wait *b)
{
	return a->thread->pid == b->thread->pid && stuck_in(a) == stuck_in(b) &&
	       a->before == b->before && a->with_life == b->with_life &&
	       function_of(s, a) == function_of(s, b);
}

static bool is_named_alike(const char *a, const char *b)
{
	size_t n = finding_stem(a);

	return n == finding_stem(b) && !strncmp(a, b, n);
}

/* Those that wait as the first one does, and all others: of them, pools that nobody woke. */
struct questions {
	const struct stuck_wait *first;
	size_t together, named_alike, others, pools;
};

static struct questions find_questions(const struct summary *s)
{
	const struct stuck *st = &s->stuck;
	struct questions q = {.first = NULL};
	enum doubt most = DOUBT_JOINS;

	for (size_t i = 0; i < st->waits.n; i++) {
		enum doubt d = doubt_of(s, &st->waits.v[i]);

		if (d > most) {
			most = d;
			q.first = &st->waits.v[i];
		}
	}
	for (size_t i = 0; q.first && i < st->waits.n; i++) {
		const struct stuck_wait *w = &st->waits.v[i];
		enum doubt d = doubt_of(s, w);
		bool together = d == most && is_same_place(s, w, q.first);

		if (!d)
			continue;
		q.together += together;
		q.others += !together;
		q.pools += !together && d == DOUBT_POOL;
		q.named_alike += together && is_named_alike(w->thread->name, q.first->thread->name);
	}
	return q;
}

static void say_others(const struct questions *q, struct buf *b)
{
	if (!q->others)
		return;
	if (q->pools == q->others)
		buf_printf(b, " %zu more thread%s waited as well, as it seems for work.", q->others,
			   q->others == 1 ? "" : "s");
	else
		buf_printf(b, " %zu more thread%s not go on either.", q->others,
			   q->others == 1 ? " did" : "s did");
}

static void say_doubt(const struct questions *q, struct buf *b)
{
	switch (stuck_in(q->first)) {
	case REASON_CONDVAR:
	case REASON_SEMAPHORE:
	case REASON_FUTEX:
		buf_printf(b, " Whether %s for work, thaw cannot tell.",
			   q->together == 1 ? "it waits" : "they wait");
		return;
	default:
		if (reason_has(stuck_in(q->first), TRAIT_ANSWER))
			buf_printf(b, " Whether for work or for an answer, thaw cannot tell.");
	}
}

bool lead_question(const struct summary *s, struct buf *b)
{
	struct questions q = find_questions(s);

	if (!q.first || !b)
		return q.first;
	lead_say_some(b, q.first->thread, q.together, q.named_alike);
	buf_printf(b, q.together == 1 ? " has been " : " have been ");
	lead_say_wait(s, q.first, b);
	buf_printf(b, ".");
	say_others(&q, b);
	say_doubt(&q, b);
	if (!q.others)
		buf_printf(b, " Nothing else is known to be held up.");
	return true;
}

/* Is a wait for this reason known to be for work, for time or for some event? */
static bool is_known(enum reason r)
{
	return r != REASON_UNKNOWN && reason_has(r, TRAIT_OUTSIDE) && !reason_has(r, TRAIT_ANSWER);
}

/* Less than a twentieth does not matter. */
bool lead_all_known(const struct summary *s)
{
	uint64_t known = 0;

	for (unsigned r = 0; r < REASONS; r++)
		if (is_known(r))
			known += s->reasons[r];
	return s->total[INTERVAL_WAITING] - s->total[INTERVAL_WAITING] / 20 <= known;
}

void lead_longest_unknown(const struct summary *s, struct buf *b)
{
	const struct wait_place *most = NULL;
	uint64_t unknown = s->total[INTERVAL_WAITING];
	char name[TEXT];

	for (unsigned r = 0; r < REASONS; r++)
		if (is_known(r))
			unknown -= s->reasons[r] < unknown ? s->reasons[r] : unknown;
	for (size_t i = 0; i < s->waits.n; i++) {
		const struct wait_place *p = &s->waits.v[i];

		if (!p->own && p->max_thread && thread_is_subject(p->max_thread) &&
		    p->reason != REASON_UNKNOWN && !is_known(p->reason) &&
		    (!most || p->total > most->total))
			most = p;
	}
	if (!most || most->total < unknown / 2)
		return;
	words_safe(name, sizeof(name), most->max_thread->name, 15);
	if (most->threads > 1)
		buf_printf(b, ", %u threads such as %s", most->threads, name);
	else if (s->threads.n > 1)
		buf_printf(b, ", %s", name);
	else
		buf_printf(b, ",");
	buf_printf(b, " %s", reason_words(most->reason));
	lead_in(b, s, where_function(&s->model->names, most->kstack, most->ustack), most->kstack,
		most->ustack);
	if (reason_has(most->reason, TRAIT_ANSWER))
		buf_printf(b, ". Whether for work or for an answer, thaw cannot tell");
}
