// SPDX-License-Identifier: MIT
/* The report's sections on locks: when many stood still, what they waited for, and who is to blame.
 */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "view/page.h"
#include "view/lead.h"
#include "view/words.h"

enum { TOP_STALLS = 3, TOP_LOCKS = 5, TOP_BLAME = 2, NAME_WIDE = 23, TEXT = 128 };

/* ---- stalls ---- */

static void stall_row(const struct page *p, uint64_t start, uint64_t ns, const char *words)
{
	char time[TEXT], at[TEXT];
	int n = fprintf(p->out, "  %7s  %-12s  ", units_duration(time, sizeof(time), ns),
			words_clock(at, sizeof(at), p->s->model, start));

	words_wrap(p->out, words, (size_t)n, (size_t)n, p->width);
}

static void blackout_row(const struct page *p, const struct blackout *o)
{
	char text[TEXT];

	snprintf(text, sizeof(text),
		 "blackout: nothing came from any CPU, with threads on %" PRIu32
		 "; the kernel or the virtual machine stood still",
		 o->running);
	stall_row(p, o->start, o->ns, text);
}

/* Behind the same holder of the same lock, or for the same cause without one. */
static bool alike(const struct summary *s, const struct stall *a, const struct stall *b)
{
	return a->lock == b->lock && a->culprit == b->culprit &&
	       (a->lock < s->locks.n || a->reason == b->reason);
}

/* A stall that comes again and again is told once, at its longest; --top tells them one by one. */
static void say_like_it(const struct page *p, size_t i, struct buf *b)
{
	const struct stalls *st = &p->s->stalls;
	uint64_t total = 0;
	size_t n = 0;
	char time[TEXT];

	for (size_t k = i + 1; k < st->list.n && !p->top; k++) {
		if (!alike(p->s, &st->list.v[i], &st->list.v[k]))
			continue;
		total += st->list.v[k].ns;
		n++;
	}
	if (n)
		buf_printf(b, "; %zu more like it, %s in all", n,
			   units_duration(time, sizeof(time), total));
}

static bool told(const struct page *p, size_t i)
{
	for (size_t k = 0; k < i && !p->top; k++)
		if (alike(p->s, &p->s->stalls.list.v[k], &p->s->stalls.list.v[i]))
			return true;
	return false;
}

void page_stalls(const struct page *p)
{
	const struct stalls *st = &p->s->stalls;
	size_t all = st->list.n + st->blackouts.n, n = page_rows(p, all, TOP_STALLS);
	size_t i = 0, o = 0, rest = 0;
	struct buf b = {0};
	char time[TEXT];

	if (!all)
		return;
	page_title(p, "Stalls", 6);
	if (st->list.n)
		fprintf(p->out, "   many threads stood still for one cause: %s in all",
			units_duration(time, sizeof(time), st->total));
	putc('\n', p->out);
	while (i + o < all) {
		bool stall = i < st->list.n &&
			     (o == st->blackouts.n || st->list.v[i].ns >= st->blackouts.v[o].ns);

		if (stall && told(p, i)) {
			i++;
		} else if (!n) {
			rest++;
			*(stall ? &i : &o) += 1;
		} else if (stall) {
			buf_clear(&b);
			lead_stall(p->s, &st->list.v[i], &b);
			say_like_it(p, i, &b);
			stall_row(p, st->list.v[i].start, st->list.v[i].ns, buf_cstr(&b));
			i++;
			n--;
		} else {
			blackout_row(p, &st->blackouts.v[o++]);
			n--;
		}
	}
	rest += st->count > st->list.n ? st->count - st->list.n : 0;
	if (rest)
		fprintf(p->out, "  and %zu shorter\n", rest);
	buf_done(&b);
}

/* ---- locks ---- */

static void lock_row(const struct page *p, const struct lock_sum *l)
{
	char name[TEXT], total[TEXT], waits[TEXT], max[TEXT], holder[TEXT];
	const struct thread *h = l->holders.n ? l->holders.v[0].thread : NULL;

	fprintf(p->out, "  %-*s %7s %6s %8s  %-12s  %s\n", NAME_WIDE,
		words_safe(name, sizeof(name), l->name, NAME_WIDE),
		units_duration(total, sizeof(total), l->total),
		units_count(waits, sizeof(waits), l->count),
		units_duration(max, sizeof(max), l->max),
		l->inferred ? "inferred" : lock_kind_name(l->kind),
		h ? words_safe(holder, sizeof(holder), h->name, 15) : "not known");
}

/* Stacks tell that it was a lock; which one takes a record of futexes and contention. */
static bool waited_for_some(const struct summary *s)
{
	return s->reasons[REASON_MUTEX] || s->reasons[REASON_RWLOCK] ||
	       s->reasons[REASON_KERNEL_LOCK];
}

void page_locks(const struct page *p)
{
	const struct summary *s = p->s;
	size_t n = page_rows(p, s->contended, TOP_LOCKS);
	char time[TEXT];
	uint64_t rest = 0;

	/* Next to one that cost a second, microseconds tell nothing. */
	while (!p->top && n > 1 && s->locks.v[n - 1].total < s->locks.v[0].total / 200)
		n--;
	if (!n) {
		page_title(p, "Locks", 5);
		if (s->model->facts.unseen & UNSEEN_LOCKS)
			fprintf(p->out, "   the %s engine does not see them\n",
				words_safe(time, sizeof(time), s->model->facts.engine, 16));
		else
			fputs(waited_for_some(s) ? "   which ones was not recorded\n"
						 : "   nobody waited for one\n",
			      p->out);
	} else {
		page_title(p, "Locks", 2 + NAME_WIDE);
		fprintf(p->out, " %7s %6s %8s  %-12s  %s\n", "total", "waits", "longest", "kind",
			"mostly held by");
	}
	for (size_t i = 0; i < n; i++)
		lock_row(p, &s->locks.v[i]);
	for (size_t i = n; i < s->contended; i++)
		rest += s->locks.v[i].total;
	if (n < s->contended)
		fprintf(p->out, "  and %zu more, %s in all (thaw locks shows them)\n",
			s->contended - n, units_duration(time, sizeof(time), rest));
	if (!s->kernel_locks && (n || !(s->model->facts.unseen & UNSEEN_LOCKS)))
		fputs("  Locks of the kernel were not recorded; what stacks tell is "
		      "\"inferred\".\n",
		      p->out);
}

/* ---- blame ---- */

static void say_culprit(const struct summary *s, const struct blame_row *r, struct buf *b)
{
	char text[TEXT];
	const char *in;

	buf_printf(b, "%s", words_thread(text, sizeof(text), r->culprit, 26));
	in = words_function(text, sizeof(text), &s->model->names, r->function, 40);
	if (in)
		buf_printf(b, " in %s", in);
	if (*words_doing(text, sizeof(text), r->doing, r->reason))
		buf_printf(b, ", %s", text);
	if (r->lock < s->locks.n)
		buf_printf(b, ", held %s",
			   words_lock(text, sizeof(text), &s->locks.v[r->lock], 60));
	if (r->first != r->lock && r->first < s->locks.n)
		buf_printf(b, " and so %s",
			   words_lock(text, sizeof(text), &s->locks.v[r->first], 60));
	buf_printf(b, "%s", r->deadlock ? ": a deadlock." : ".");
}

static void say_gain(const struct blame_row *r, struct buf *b)
{
	const struct blame_victim *v = r->victims.n ? &r->victims.v[0] : NULL;
	char name[TEXT], share[TEXT], time[TEXT];

	if (!v)
		return;
	words_safe(name, sizeof(name), v->thread->name, 15);
	units_duration(time, sizeof(time), r->max);
	words_percent(share, sizeof(share), r->max, thread_wall(v->thread));
	if (r->victims.n == 1)
		buf_printf(b, " Without it %s would gain at most %s (%s of its time).", name, time,
			   share);
	else
		buf_printf(b,
			   " Without it %zu threads would gain at most that, %s most: %s (%s of "
			   "its time).",
			   r->victims.n, name, time, share);
}

/*
 * On the first screen a holder is told once for a lock and a place, whatever else it did there, and
 * what is small beside the first tells nothing.
 */
static bool worth(const struct page *p, size_t i)
{
	const struct blame_row *rows = p->s->blame.rows.v;

	if (p->top)
		return true;
	for (size_t k = 0; k < i; k++)
		if (rows[k].culprit == rows[i].culprit && rows[k].lock == rows[i].lock &&
		    rows[k].function == rows[i].function)
			return false;
	return rows[i].total >= rows[0].total / 10;
}

void page_blame(const struct page *p)
{
	const struct summary *s = p->s;
	size_t n = page_rows(p, s->blame.rows.n, TOP_BLAME);
	struct buf b = {0};
	char time[TEXT];

	if (!n)
		return;
	page_title(p, "Who kept others waiting", 23);
	putc('\n', p->out);
	for (size_t i = 0; i < s->blame.rows.n && n; i++) {
		const struct blame_row *r = &s->blame.rows.v[i];
		int at;

		if (!worth(p, i))
			continue;
		at = fprintf(p->out, "  %7s  ", units_duration(time, sizeof(time), r->total));
		buf_clear(&b);
		say_culprit(s, r, &b);
		say_gain(r, &b);
		words_wrap(p->out, buf_cstr(&b), (size_t)at, (size_t)at, p->width);
		n--;
	}
	if (s->blame.unknown > s->blame.waited / 50)
		fprintf(p->out, "  %7s  behind locks whose holder is not known\n",
			units_duration(time, sizeof(time), s->blame.unknown));
	buf_done(&b);
}
