// SPDX-License-Identifier: MIT
/*
 * A comparison as a page of 80 columns: a sentence, both sides in numbers, tables of what differs,
 * and how that was decided.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "diff/shown.h"
#include "report/words.h"

enum { TEXT = 128, NAME_WIDE = 33, TOP = 10 };

static void tint(FILE *out, const struct diff_shown *v, const char *code)
{
	if (v->colour)
		fprintf(out, "\033[%sm", code);
}

static void line(FILE *out, const char *what, uint64_t a, uint64_t b)
{
	char before[TEXT], after[TEXT], change[TEXT] = "-";

	if (a)
		snprintf(change, sizeof(change), "%+.1f%%", 100 * ((double)b / (double)a - 1));
	fprintf(out, "  %-*s %8s %8s %26s\n", NAME_WIDE, what,
		units_duration(before, sizeof(before), a), units_duration(after, sizeof(after), b),
		change);
}

/* Without waits for work. */
static uint64_t waited(const struct diff_side *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->items.n; i++) {
		const struct diff_item *it = &s->items.v[i];

		if (it->kind == DIFF_WAIT && !it->idle && !reason_is_runnable(it->reason))
			sum += it->sum;
	}
	return sum;
}

static void totals(const struct diff *d, const struct diff_shown *v, FILE *out)
{
	const struct summary *a = d->a->s, *b = d->b->s;

	tint(out, v, "1");
	fprintf(out, "\n%-*s", NAME_WIDE + 2, "In all");
	tint(out, v, "0");
	fprintf(out, " %8s %8s %26s\n", "before", "after", "change");
	line(out, "time that was recorded", d->a->window, d->b->window);
	line(out, "on a CPU", (uint64_t)d->a->cpu_sum, (uint64_t)d->b->cpu_sum);
	if (!d->waits)
		return;
	line(out, "could run, but got no CPU", a->total[INTERVAL_RUNNABLE],
	     b->total[INTERVAL_RUNNABLE]);
	line(out, "waiting, but not for work", waited(d->a), waited(d->b));
}

/* The end of a long path says more than its start. */
static const char *text_place(char *out, size_t room, const char *name, size_t width)
{
	size_t n = strlen(name);
	const char *from = name;

	while (n > width && strstr(from, " > ")) {
		from = strstr(from, " > ") + 3;
		n = strlen(from) + 5;
	}
	if (from == name)
		return words_safe(out, room, name, width);
	snprintf(out, room, ".. > ");
	words_safe(out + 5, room - 5, from, width - 5);
	return out;
}

static const char *text_name_of(char *out, size_t room, const struct diff_row *r)
{
	const struct diff_item *it = diff_item_of(r);
	char path[TEXT];
	int n;

	if (r->kind == DIFF_SELF || r->kind == DIFF_TOTAL) {
		bool bare = it->name[0] == '[';

		n = bare ? snprintf(out, room, "%s in ", it->name) : 0;
		words_safe(out + n, room - (size_t)n, bare ? it->where : it->name,
			   NAME_WIDE - (size_t)n);
	} else if (r->kind == DIFF_LOCK) {
		words_safe(out, room, it->name, NAME_WIDE);
	} else {
		n = snprintf(out, room, "%s", reason_label(it->reason));
		if (*it->name)
			snprintf(out + n, room - (size_t)n, ": %s",
				 text_place(path, sizeof(path), it->name,
					    NAME_WIDE - (size_t)n - 2));
	}
	return out;
}

static void text_row(const struct diff *d, const struct diff_shown *v, const struct diff_row *r,
		     FILE *out)
{
	double change = r->r.after - r->r.before;
	char name[TEXT], before[TEXT], after[TEXT], by[TEXT], margin[TEXT], part[TEXT];

	fprintf(out, "%c %-*s %8s %8s ", r->different ? ' ' : '~', NAME_WIDE,
		text_name_of(name, sizeof(name), r),
		diff_value(before, sizeof(before), d, r->r.before),
		diff_value(after, sizeof(after), d, r->r.after));
	if (r->different)
		tint(out, v, change > 0 ? "31" : "32");
	snprintf(name, sizeof(name), "%c%s", change < 0 ? '-' : '+',
		 diff_value(by, sizeof(by), d, fabs(change)));
	fprintf(out, "%9s %8s %7s", name, diff_value(margin, sizeof(margin), d, diff_margin(d, r)),
		diff_percent(part, sizeof(part), r));
	if (r->different)
		tint(out, v, "0");
	putc('\n', out);
}

static bool is_shown(const struct diff_shown *v, const struct diff_row *r)
{
	return r->different || (v->all && r->tested);
}

static void text_table(const struct diff *d, const struct diff_shown *v, enum diff_kind kind,
		       const char *title, FILE *out)
{
	size_t have = 0, most = v->top ? v->top : TOP, shown = 0;

	for (size_t i = 0; i < d->rows.n; i++)
		have += d->rows.v[i].kind == kind && is_shown(v, &d->rows.v[i]);
	if (!have)
		return;
	tint(out, v, "1");
	fprintf(out, "\n%-*s", NAME_WIDE + 2, title);
	tint(out, v, "0");
	fprintf(out, " %8s %8s %9s %8s\n", "before", "after", "change", "+-");
	/* What differs comes first. */
	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < d->rows.n && shown < most; i++) {
			const struct diff_row *r = &d->rows.v[i];

			if (r->kind != kind || !is_shown(v, r) || r->different != !pass)
				continue;
			text_row(d, v, r, out);
			shown++;
		}
	if (shown < have)
		fprintf(out, "  and %zu more (--top shows them)\n", have - shown);
}

static void stuck(const struct diff *d, const struct diff_shown *v, FILE *out)
{
	size_t most = v->top ? v->top : TOP, n = d->stuck.n < most ? d->stuck.n : most;
	struct buf b = {0};
	char who[TEXT];

	if (!n)
		return;
	tint(out, v, "1");
	fputs("\nGot stuck\n", out);
	tint(out, v, "0");
	for (size_t i = 0; i < n; i++) {
		int at = fprintf(out, "  %-25s ",
				 words_thread(who, sizeof(who), d->stuck.v[i]->thread, 25));

		buf_clear(&b);
		diff_stuck_words(d, d->stuck.v[i], &b);
		words_wrap(out, buf_cstr(&b), (size_t)at, (size_t)at, WORDS_WIDTH);
	}
	if (n < d->stuck.n)
		fprintf(out, "  and %zu more (--top shows them)\n", d->stuck.n - n);
	buf_done(&b);
}

static void method(const struct diff *d, const struct diff_shown *v, FILE *out)
{
	static const char *const per[] = {
		[DIFF_PER_PACE] = "Times are as recorded, except that CPU times of the second side "
				  "are scaled to the pace of the first (--per pace).",
		[DIFF_PER_WALL] = "Times are for each second of the recording (--per wall).",
		[DIFF_PER_CPU] = "Times are shares of the time on a CPU (--per cpu).",
		[DIFF_PER_NONE] = "Times are as recorded (--per none).",
	};
	struct buf b = {0};

	buf_printf(&b,
		   "%s \"+-\" is the error at %g%%, from %zu blocks of time before and %zu after, "
		   "and %g%% of noise between two runs (--noise). %zu rows were tested; the chance "
		   "that any of them is wrongly called different is %g%% (--alpha).",
		   per[d->opts.per], d->opts.alpha * 100, d->a->blocks, d->b->blocks,
		   d->opts.noise * 100, d->tested, d->opts.alpha * 100);
	if (d->small)
		buf_printf(&b, " %zu more %s too little time for that.", d->small,
			   d->small > 1 ? "have" : "has");
	if (v->all)
		buf_printf(&b, " Chance explains the rows with ~.");
	else if (d->tested > d->differ)
		buf_printf(&b, " --all shows those that chance explains.");
	putc('\n', out);
	words_wrap(out, buf_cstr(&b), 0, 0, WORDS_WIDTH);
	buf_done(&b);
}

void diff_text(const struct diff *d, const struct diff_shown *v, FILE *out)
{
	struct buf b = {0};

	diff_lead(d, &b);
	tint(out, v, "1");
	words_wrap(out, buf_cstr(&b), 0, 0, WORDS_WIDTH);
	tint(out, v, "0");
	for (size_t i = 0; i < d->notes.n; i++)
		words_wrap(out, d->notes.v[i], 0, 0, WORDS_WIDTH);
	stuck(d, v, out);
	totals(d, v, out);
	text_table(d, v, DIFF_SELF, "Functions, themselves", out);
	text_table(d, v, DIFF_TOTAL, "Functions, with what they call", out);
	text_table(d, v, DIFF_WAIT, "Waits", out);
	text_table(d, v, DIFF_LOCK, "Locks", out);
	method(d, v, out);
	buf_done(&b);
}
