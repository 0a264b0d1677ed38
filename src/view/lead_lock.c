// SPDX-License-Identifier: MIT
/*
 * One sentence about the worst lock. What is not known is not guessed: a holder that nobody could
 * tell is "not known", one that had it only for a part "mostly" held it.
 */
#include "view/lead.h"

#include <inttypes.h>
#include <string.h>

#include "view/words.h"

enum { TEXT = 128, CIRCLE_MOST = 3 };

void lead_in(struct buf *b, const struct summary *s, uint32_t function)
{
	char text[TEXT];
	const char *in = words_function(text, sizeof(text), &s->model->names, function, 40);

	if (in)
		buf_printf(b, " in %s", in);
}

static void say_doing(struct buf *b, const char *before, enum interval_kind kind,
		      enum reason reason)
{
	char text[TEXT];

	if (*words_doing(text, sizeof(text), kind, reason))
		buf_printf(b, "%s%s", before, text);
}

/* ---- a circle ---- */

/* The row of blame in which this thread waits for a lock of the circle, and still did at the end.
 */
static const struct blame_row *stuck_in(const struct summary *s, const struct thread *t)
{
	for (size_t i = 0; i < s->blame.rows.n; i++) {
		const struct blame_row *r = &s->blame.rows.v[i];

		if (!r->deadlock || r->first >= s->locks.n || !s->locks.v[r->first].open)
			continue;
		for (size_t k = 0; k < r->victims.n; k++)
			if (r->victims.v[k].thread == t)
				return r;
	}
	return NULL;
}

/* Whoever is to blame in a circle is one of it; its other victims only stand behind it. */
static bool say_deadlock(struct buf *b, const struct summary *s)
{
	const struct thread *said[CIRCLE_MOST];
	char name[TEXT], lock[TEXT];
	size_t n = 0;

	for (size_t i = 0; i < s->blame.rows.n && n < CIRCLE_MOST; i++) {
		const struct thread *t = s->blame.rows.v[i].culprit;
		const struct blame_row *r = s->blame.rows.v[i].deadlock ? stuck_in(s, t) : NULL;
		bool again = false;

		for (size_t k = 0; k < n; k++)
			again |= said[k] == t;
		if (!r || again)
			continue;
		said[n++] = t;
		buf_printf(b, "%s%s waits for %s", n == 1 ? "A deadlock: " : ", ",
			   words_safe(name, sizeof(name), t->name, 15),
			   words_lock(lock, sizeof(lock), &s->locks.v[r->first], 60));
	}
	if (n)
		buf_printf(b, "; each holds what another needs.");
	return n;
}

/* ---- a holder ---- */

static bool is_victim(const struct finding *f, const struct thread *t)
{
	for (size_t i = 0; i < f->victims.n; i++)
		if (f->victims.v[i] == t)
			return true;
	return false;
}

/* The end of a chain of locks: who stood in the way of the holder. */
static void say_chain(struct buf *b, const struct summary *s)
{
	const struct finding *f = &s->finding;
	const struct blame_row *row = NULL;
	char text[TEXT];

	for (size_t i = 0; i < s->blame.rows.n && !row; i++)
		if (s->blame.rows.v[i].culprit == f->root && s->blame.rows.v[i].first == f->lock &&
		    s->blame.rows.v[i].doing == f->doing && s->blame.rows.v[i].reason == f->reason)
			row = &s->blame.rows.v[i];
	buf_printf(b, ", which stood behind ");
	if (row && row->lock < s->locks.n && row->lock != f->lock)
		buf_printf(b, "%s, held by ",
			   words_lock(text, sizeof(text), &s->locks.v[row->lock], 60));
	buf_printf(b, "%s", words_safe(text, sizeof(text), f->root->name, 15));
	if (row)
		lead_in(b, s, row->function);
	say_doing(b, ", which was ", f->doing, f->reason);
}

static void say_holder(struct buf *b, const struct summary *s, const struct lock_sum *l)
{
	const struct finding *f = &s->finding;
	char text[TEXT];

	if (!f->holder) {
		buf_printf(b, "; who held it is not known");
		return;
	}
	buf_printf(b, ", %sheld by %s", f->held < l->total / 10 * 9 ? "mostly " : "",
		   words_safe(text, sizeof(text), f->holder->name, 15));
	lead_in(b, s, f->function);
	if (f->root && f->root != f->holder)
		say_chain(b, s);
	else
		say_doing(b, ", which was ", f->doing, f->reason);
}

/* Threads that hold it by turns: none of them is the culprit, the code is. */
static void say_peers(struct buf *b, const struct summary *s)
{
	const struct finding *f = &s->finding;

	buf_printf(b, ", longest held");
	lead_in(b, s, f->function);
	if (f->root && is_victim(f, f->root))
		say_doing(b, " while ", f->doing, f->reason);
}

/* Of other groups: the sentence is about one. */
static void say_others(struct buf *b, const struct finding *f, const struct lock_sum *l)
{
	size_t n = l->waiters.n > f->victims.n ? l->waiters.n - f->victims.n : 0;

	if (n)
		buf_printf(b, " %zu other%s waited for it too.", n, n == 1 ? "" : "s");
}

void lead_lock(const struct summary *s, struct buf *b)
{
	const struct finding *f = &s->finding;
	const struct lock_sum *l;
	char share[TEXT], lock[TEXT];
	bool peers;

	if (say_deadlock(b, s) || !f->found || f->lock >= s->locks.n)
		return;
	l = &s->locks.v[f->lock];
	peers = f->victims.n > 1 && f->holder && f->held < l->total / 2 && is_victim(f, f->holder);
	lead_group(b, f);
	buf_printf(b, " spent %s of %s time waiting for %s%s",
		   words_percent(share, sizeof(share), f->waited, f->wall),
		   f->threads == 1 ? "its" : "their", peers ? "each other at " : "",
		   words_lock(lock, sizeof(lock), l, 60));
	if (peers)
		say_peers(b, s);
	else
		say_holder(b, s, l);
	buf_printf(b, ".");
	say_others(b, f, l);
}
