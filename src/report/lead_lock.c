// SPDX-License-Identifier: MIT
/*
 * One sentence about the worst lock. It does not guess: an unknown holder is "not known", and one
 * that had the lock for less than 90% of the waiting "mostly" held it.
 */
#include "report/lead.h"

#include <inttypes.h>
#include <string.h>

#include "model/summary/parts.h"
#include "report/words.h"

enum { TEXT = 128, SUSPECTS_MOST = 2, SUSPECT_SAMPLES = 20 };

void lead_in(struct buf *b, const struct summary *s, uint32_t function, uint32_t kstack,
	     uint32_t ustack)
{
	struct names *names = &s->model->names;
	char text[TEXT];
	const char *in = words_function(text, sizeof(text), names, function, 40);

	if (in)
		buf_printf(b, " in %s", in);
	if (in && *words_site(text, sizeof(text), names, function, kstack, ustack))
		buf_printf(b, " (%s)", text);
}

void lead_did(struct buf *b, const char *before, const struct doings *d)
{
	const struct doing *one = doings_alone(d);
	char text[TEXT];

	if (one && *words_holding(text, sizeof(text), one))
		buf_printf(b, "%s%s", before, text);
	if (one || !doings_told(d))
		return;
	buf_printf(b, ", ");
	words_did(b, d, " of that time");
}

/* ---- a holder ---- */

static bool is_victim(const struct finding *f, const struct thread *t)
{
	for (size_t i = 0; i < f->victims.n; i++)
		if (f->victims.v[i] == t)
			return true;
	return false;
}

/* The end of a chain of locks: the culprit that held up the holder. */
static void say_chain(struct buf *b, const struct summary *s)
{
	const struct finding *f = &s->finding;
	const struct blame_sum *row = NULL;
	char text[TEXT];

	for (size_t i = 0; i < s->blame.sums.n && !row; i++)
		if (s->blame.sums.v[i].culprit == f->root && s->blame.sums.v[i].first == f->lock)
			row = &s->blame.sums.v[i];
	buf_printf(b, ", which stood behind ");
	if (row && row->lock < s->locks.n && row->lock != f->lock)
		buf_printf(b, "%s, held by ",
			   words_lock(text, sizeof(text), &s->locks.v[row->lock], 60));
	buf_printf(b, "%s", words_safe(text, sizeof(text), f->root->name, 15));
	if (row)
		lead_in(b, s, row->function, row->kstack, row->ustack);
	lead_did(b, ", which was ", &f->did);
}

/* Readers of a kernel lock leave no trace, so its holder may be unknown. */
static bool mostly_unknown(const struct lock_sum *l)
{
	return l->known < l->total / 2;
}

/*
 * "; meanwhile backtest-us and backtest-eu ran in the kernel, in load_block (quoted.c:80)": if
 * these two were found there more often than all others.
 */
static void say_suspects(struct buf *b, const struct summary *s, const struct lock_sum *l)
{
	const struct model *m = s->model;
	struct suspect who[SUSPECTS_MOST];
	uint64_t all, told = 0;
	size_t n = suspects_of(&m->suspects, &m->tally, l->index, who, SUSPECTS_MOST, &all);
	const struct sample_row *row;
	uint32_t function;
	char name[TEXT];

	while (n > 1 && who[n - 1].samples * 3 < who[0].samples)
		n--;
	for (size_t i = 0; i < n; i++)
		told += who[i].samples;
	if (told < SUSPECT_SAMPLES || told * 2 < all)
		return;
	buf_printf(b, "; meanwhile ");
	for (size_t i = 0; i < n; i++)
		buf_printf(b, "%s%s", i ? " and " : "",
			   words_safe(name, sizeof(name), who[i].thread->name, 15));
	row = &m->tally.samples.v[who[0].row];
	function = where_function(&s->model->names, row->kstack, row->ustack);
	buf_printf(b, " ran in the kernel%s", function == UINT32_MAX ? "" : ",");
	lead_in(b, s, function, row->kstack, row->ustack);
}

static void say_holder(struct buf *b, const struct summary *s, const struct lock_sum *l)
{
	const struct finding *f = &s->finding;
	char text[TEXT];

	if (!f->holder) {
		buf_printf(b, "; who held it is not known");
		say_suspects(b, s, l);
		return;
	}
	if (mostly_unknown(l)) {
		buf_printf(b, "; who held it is not known for %s of that",
			   words_percent(text, sizeof(text), l->total - l->known, l->total));
		say_suspects(b, s, l);
		return;
	}
	buf_printf(b, ", %sheld by %s", f->held < l->total / 10 * 9 ? "mostly " : "",
		   words_safe(text, sizeof(text), f->holder->name, 15));
	lead_in(b, s, f->function, f->kstack, f->ustack);
	if (f->root && f->root != f->holder)
		say_chain(b, s);
	else
		lead_did(b, ", which was ", &f->did);
}

/* Threads that hold the lock in turn: none of them is to blame, but their code is. */
static void say_peers(struct buf *b, const struct summary *s)
{
	const struct finding *f = &s->finding;

	buf_printf(b, ", longest held");
	lead_in(b, s, f->function, f->kstack, f->ustack);
	if (f->root && is_victim(f, f->root))
		lead_did(b, " while ", &f->did);
}

/*
 * Waiters of other groups: the sentence before is about one group. The holder may wait for its own
 * lock now and then, and so may others; below a hundredth of the waiting that is not worth saying.
 */
static void say_others(struct buf *b, const struct finding *f, const struct lock_sum *l)
{
	const struct lock_waiter *worst = NULL;
	double most = f->wall ? (double)f->waited / (double)f->wall : 1;
	char name[TEXT], share[TEXT];
	size_t n = 0;

	for (size_t i = 0; i < l->waiters.n; i++) {
		const struct lock_waiter *w = &l->waiters.v[i];
		uint64_t wall = thread_wall(w->thread);
		double lost = wall ? (double)w->total / (double)wall : 0;

		if (w->total < l->total / 100 || is_victim(f, w->thread))
			continue;
		n++;
		if (lost > most) {
			most = lost;
			worst = w;
		}
	}
	if (!n)
		return;
	buf_printf(b, " %zu other%s waited for it too", n, n == 1 ? "" : "s");
	if (worst)
		buf_printf(b, ", worst %s: %s of its time",
			   words_safe(name, sizeof(name), worst->thread->name, 20),
			   words_percent(share, sizeof(share), worst->total,
					 thread_wall(worst->thread)));
	buf_printf(b, ".");
}

void lead_lock(const struct summary *s, struct buf *b)
{
	const struct finding *f = &s->finding;
	const struct lock_sum *l;
	char share[TEXT], lock[TEXT];
	bool peers;

	if (lead_deadlock(s, b) || !f->found || f->lock >= s->locks.n)
		return;
	l = &s->locks.v[f->lock];
	peers = f->victims.n > 1 && f->holder && f->held < l->total / 2 &&
		is_victim(f, f->holder) && !mostly_unknown(l);
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
