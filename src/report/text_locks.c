// SPDX-License-Identifier: MIT
/* The report's sections on stalls, locks and culprits. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "report/lead.h"
#include "report/text.h"
#include "report/words.h"

enum { TOP_STALLS = 3, TOP_LOCKS = 5, TOP_BLAME = 2, NAME_WIDE = 23, TEXT = 128 };

/* ---- stalls ---- */

static void stall_row(const struct text_report *p, uint64_t start, uint64_t ns, const char *words)
{
	char time[TEXT], at[TEXT];
	int n = fprintf(p->out, "  %7s  %-22s  ", units_duration(time, sizeof(time), ns),
			words_moment(at, sizeof(at), p->s->model, start));

	words_wrap(p->out, words, (size_t)n, (size_t)n, p->width);
}

static void blackout_row(const struct text_report *p, const struct blackout *o)
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
	return !a->circle && !b->circle && a->lock == b->lock && a->culprit == b->culprit &&
	       (a->lock < s->locks.n || a->reason == b->reason);
}

/* A stall that recurs is shown once, at its longest; --top shows each. */
static void say_like_it(const struct text_report *p, size_t i, struct buf *b)
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

static bool text_locks_told(const struct text_report *p, size_t i)
{
	for (size_t k = 0; k < i && !p->top; k++)
		if (alike(p->s, &p->s->stalls.list.v[k], &p->s->stalls.list.v[i]))
			return true;
	return false;
}

void text_stalls(const struct text_report *p)
{
	const struct stalls *st = &p->s->stalls;
	size_t all = st->list.n + st->blackouts.n, n = text_rows(p, all, TOP_STALLS);
	size_t i = 0, o = 0, rest = 0;
	uint64_t shorter = 0;
	struct buf b = {0};
	char time[TEXT];

	if (!all)
		return;
	text_title(p, "Stalls", 6);
	if (st->list.n)
		fprintf(p->out, "   many threads stood still for one cause: %s in all",
			units_duration(time, sizeof(time), st->total));
	putc('\n', p->out);
	while (i + o < all) {
		bool stall = i < st->list.n &&
			     (o == st->blackouts.n || st->list.v[i].ns >= st->blackouts.v[o].ns);

		if (stall && text_locks_told(p, i)) {
			i++;
		} else if (!n) {
			rest++;
			shorter += stall ? st->list.v[i].ns : st->blackouts.v[o].ns;
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
		fprintf(p->out, "  and %zu shorter, %s in all (--top shows them)\n", rest,
			units_duration(time, sizeof(time), shorter));
	buf_done(&b);
}

/* ---- locks ---- */

static void lock_row(const struct text_report *p, const struct lock_sum *l)
{
	char name[TEXT], total[TEXT], waits[TEXT], max[TEXT], holder[TEXT];
	const struct thread *h = words_main_holder(l);

	fprintf(p->out, "  %-*s %7s %6s %8s  %-12s  %s\n", NAME_WIDE,
		words_safe(name, sizeof(name), l->name, NAME_WIDE),
		units_duration(total, sizeof(total), l->total),
		units_count(waits, sizeof(waits), l->count),
		units_duration(max, sizeof(max), l->max),
		l->inferred ? "inferred" : lock_kind_name(l->kind),
		h ? words_safe(holder, sizeof(holder), h->name, 15) : "not known");
}

/* Stacks show that threads waited for locks; only records of futexes and contention show which. */
static bool waited_for_some(const struct summary *s)
{
	for (unsigned r = 0; r < REASONS; r++)
		if (s->reasons[r] && reason_has(r, TRAIT_HELD))
			return true;
	return false;
}

void text_locks(const struct text_report *p)
{
	const struct summary *s = p->s;
	size_t n = text_rows(p, s->contended, TOP_LOCKS);
	char time[TEXT];
	uint64_t rest = 0;

	/* Beside a lock that cost a second, microseconds do not matter. */
	while (!p->top && n > 1 && s->locks.v[n - 1].total < s->locks.v[0].total / 200)
		n--;
	if (!n) {
		text_title(p, "Locks", 5);
		if (s->model->facts.unseen & UNSEEN_LOCKS)
			fprintf(p->out, "   the %s engine does not see them\n",
				words_safe(time, sizeof(time), s->model->facts.engine, 16));
		else
			fputs(waited_for_some(s) ? "   threads waited for some, but which ones was "
						   "not recorded\n"
						 : "   nobody waited for one\n",
			      p->out);
	} else {
		text_title(p, "Locks", 2 + NAME_WIDE);
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
		fputs("  Locks of the kernel were not recorded; \"inferred\" ones were seen on "
		      "stacks.\n",
		      p->out);
}

/* ---- blame ---- */

void text_blame(const struct text_report *p)
{
	const struct summary *s = p->s;
	size_t all = s->blame.sums.n, n = text_rows(p, all, TOP_BLAME), i;
	struct buf b = {0};
	uint64_t rest = 0;
	char time[TEXT];

	if (!n)
		return;
	text_title(p, "Who kept others waiting", 23);
	putc('\n', p->out);
	for (i = 0; i < n; i++) {
		const struct blame_sum *r = &s->blame.sums.v[i];
		int at;

		if (!p->top && r->total < s->blame.sums.v[0].total / 10)
			break; /* and so are all after it */
		at = fprintf(p->out, "  %7s  ", units_duration(time, sizeof(time), r->total));
		buf_clear(&b);
		lead_culprit(s, r, &b);
		words_wrap(p->out, buf_cstr(&b), (size_t)at, (size_t)at, p->width);
	}
	for (size_t k = i; k < all; k++)
		rest += s->blame.sums.v[k].total;
	if (i < all)
		fprintf(p->out, "  %7s  by %zu more (--top shows them)\n",
			units_duration(time, sizeof(time), rest), all - i);
	if (s->blame.unknown > s->blame.waited / 50)
		fprintf(p->out, "  %7s  behind locks whose holder is not known\n",
			units_duration(time, sizeof(time), s->blame.unknown));
	buf_done(&b);
}
