// SPDX-License-Identifier: MIT
/*
 * The first screen: 80 columns, about 40 lines, plain words. Sentences first, then threads, then
 * where CPU time went, then where threads waited, then what is missing. A table shows the rows that
 * tell most and says in one line what it leaves out.
 */
#include "view/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "view/frames.h"
#include "view/words.h"

enum { TOP_THREADS = 7, TOP_FUNCTIONS = 7, TOP_WAITS = 4, TEXT = 64 };

struct page {
	const struct summary *s;
	FILE *out;
	bool colour;
	uint64_t top;
};

static size_t rows(const struct page *p, size_t have, size_t fits)
{
	size_t most = p->top ? p->top : fits;

	return have < most ? have : most;
}

static void title(const struct page *p, const char *text)
{
	fprintf(p->out, p->colour ? "\n\033[1m%s\033[0m" : "\n%s", text);
}

static void tint(const struct page *p, const char *code)
{
	if (p->colour)
		fprintf(p->out, "\033[%sm", code);
}

static int tid_width(const struct page *p)
{
	uint32_t max = 0;
	int n = 3;

	for (size_t i = 0; i < p->s->threads.n; i++)
		if (p->s->threads.v[i]->tid > max)
			max = p->s->threads.v[i]->tid;
	for (uint32_t left = 1000; max >= left && n < 10; left *= 10)
		n++;
	return n;
}

static void thread_row(const struct page *p, const struct thread *t, int tid, bool lost)
{
	char name[TEXT], time[TEXT], run[TEXT], queue[TEXT], wait[TEXT], gone[TEXT];
	uint64_t wall = thread_wall(t);
	int left = WORDS_WIDTH - (2 + 15 + 1 + tid + 1 + 7 + 3 * 9 + (lost ? 7 : 0) + 2);

	fprintf(p->out, "  %-15s %*" PRIu32 " %7s %8s %8s %8s",
		words_safe(name, sizeof(name), t->name, 15), tid, t->tid,
		units_duration(time, sizeof(time), wall),
		words_share(run, sizeof(run), t->total[INTERVAL_RUNNING], wall),
		words_share(queue, sizeof(queue), t->total[INTERVAL_RUNNABLE], wall),
		words_share(wait, sizeof(wait), t->total[INTERVAL_WAITING], wall));
	if (lost)
		fprintf(p->out, " %6s",
			words_share(gone, sizeof(gone), t->total[INTERVAL_LOST], wall));
	if (t->total[INTERVAL_WAITING])
		fprintf(p->out, "  %.*s", left, reason_label(thread_main_reason(t)));
	putc('\n', p->out);
}

/* The threads that did nothing but wait, in one line with as many names as fit. */
static void sleepers(const struct page *p)
{
	const struct summary *s = p->s;
	size_t n = s->threads.n - s->active;
	struct buf b = {0};
	char name[TEXT];

	if (!n)
		return;
	buf_printf(&b, "  and %zu that only waited, all the time: ", n);
	for (size_t i = s->active; i < s->threads.n; i++) {
		words_safe(name, sizeof(name), s->threads.v[i]->name, 15);
		if (b.len + strlen(name) + 6 > WORDS_WIDTH) {
			buf_printf(&b, "...");
			break;
		}
		buf_printf(&b, "%s%s", name, i + 1 < s->threads.n ? ", " : "");
	}
	fprintf(p->out, "%s\n", buf_cstr(&b));
	buf_done(&b);
}

static void threads(const struct page *p)
{
	const struct summary *s = p->s;
	size_t n = rows(p, s->active, TOP_THREADS);
	bool lost = s->total[INTERVAL_LOST] > 0;
	int tid = tid_width(p);

	title(p, "Threads");
	fputs("   (running: on a CPU; runnable: could run, but no CPU was free)\n", p->out);
	if (n)
		fprintf(p->out, "  %-15s %*s %7s  running runnable  waiting%s  mostly waits\n",
			"name", tid, "tid", "time", lost ? "   lost" : "");
	for (size_t i = 0; i < n; i++)
		thread_row(p, s->threads.v[i], tid, lost);
	if (n < s->active) {
		uint64_t run = 0;
		char time[TEXT];

		for (size_t i = n; i < s->active; i++)
			run += s->threads.v[i]->total[INTERVAL_RUNNING];
		fprintf(p->out, "  and %zu more, which ran for %s in all (--top shows them)\n",
			s->active - n, units_duration(time, sizeof(time), run));
	}
	sleepers(p);
}

static void function_row(const struct page *p, const struct function_count *c,
			 const struct function *f)
{
	char self[TEXT], total[TEXT], name[TEXT], module[TEXT];

	fprintf(p->out, "  %7s %7s  ", words_share(self, sizeof(self), c->self, p->s->samples),
		words_share(total, sizeof(total), c->total, p->s->samples));
	if (f->named)
		fprintf(p->out, "%-42s %s\n", words_safe(name, sizeof(name), f->name, 42),
			words_safe(module, sizeof(module), f->module, 18));
	else
		fprintf(p->out, "%s\n", words_safe(name, sizeof(name), f->name, 60));
}

static void functions(const struct page *p)
{
	const struct summary *s = p->s;
	size_t n = rows(p, s->functions.n, TOP_FUNCTIONS);

	title(p, "Hottest functions");
	if (!s->samples || !n) {
		fputs(s->samples ? "   not known: the samples have no stacks\n"
				 : "   none: no sample found a thread running\n",
		      p->out);
		return;
	}
	fputs("   (self: in the function itself; total: or in what it called)\n", p->out);
	fprintf(p->out, "  %7s %7s  %-42s %s\n", "self", "total", "function", "module");
	for (size_t i = 0; i < s->functions.n && n; i++) {
		const struct function_count *c = &s->functions.v[i];
		const struct function *f = names_function(&s->model->names, c->function);

		if (!c->self && frames_plain(f->name))
			continue;
		function_row(p, c, f);
		n--;
	}
}

static void wait_row(const struct page *p, const struct wait_place *w)
{
	char total[TEXT], count[TEXT], max[TEXT], at[TEXT], who[TEXT] = "", path[160];

	if (w->wakers.n)
		words_waker(who, sizeof(who), &w->wakers.v[0], 26);
	else if (w->open == w->count)
		snprintf(who, sizeof(who), "nobody so far");
	fprintf(p->out, "  %7s %6s %8s  %-12s  %-11s  %s\n",
		units_duration(total, sizeof(total), w->total),
		units_count(count, sizeof(count), w->count),
		units_duration(max, sizeof(max), w->max),
		words_clock(at, sizeof(at), p->s->model, w->max_start), reason_label(w->reason),
		who);
	fprintf(p->out, "          %s\n",
		words_path(path, sizeof(path), &p->s->model->names, w->kstack, w->ustack, 68));
}

static void waits(const struct page *p)
{
	const struct summary *s = p->s;
	size_t n = rows(p, s->waits.n, TOP_WAITS);
	uint64_t rest = 0, count = 0;
	char time[TEXT], times[TEXT];

	title(p, "Longest waits");
	if (n) {
		fputs("   (by place; longest: the worst single one, and when it began)\n", p->out);
		fprintf(p->out, "  %7s %6s %8s  %-12s  %-11s  %s\n", "total", "times", "longest",
			"at", "for", "mostly woken by");
	}
	for (size_t i = 0; i < n; i++)
		wait_row(p, &s->waits.v[i]);
	for (size_t i = n; i < s->waits.n; i++) {
		rest += s->waits.v[i].total;
		count += s->waits.v[i].count;
	}
	for (unsigned r = 0; r < REASONS; r++) {
		rest += s->placeless[r].total;
		count += s->placeless[r].count;
	}
	if (!n && !count)
		fputs("   none\n", p->out);
	else if (count)
		fprintf(p->out, "%s  %7s %6s %s\n", n ? "" : "\n",
			units_duration(time, sizeof(time), rest),
			units_count(times, sizeof(times), count),
			"  elsewhere, in short waits, or in waits that did not end");
}

static void incomplete(const struct page *p)
{
	const struct facts *f = &p->s->model->facts;
	struct buf b = {0};

	if (*f->damage)
		buf_printf(&b, "The file is incomplete: %s. What could be read is shown.",
			   f->damage);
	else if (f->no_space)
		buf_printf(&b,
			   "The disk was full: the recording ends earlier than it was meant to.");
	else if (f->failed)
		buf_printf(&b, "The recording ended with an error: its last part is missing.");
	else if (!f->complete)
		buf_printf(&b, "The file has no end: the recorder was killed, or still runs.");
	if (b.len) {
		tint(p, "31");
		words_wrap(p->out, buf_cstr(&b));
		tint(p, "0");
	}
	if (!f->has_symbols && p->s->functions.n + p->s->waits.n)
		words_wrap(p->out, "The capture holds no symbols: functions are shown as places in "
				   "their files.");
	buf_done(&b);
}

static void losses(const struct page *p)
{
	const struct losses *l = &p->s->model->losses;
	bool any = l->unknown || l->late || l->odd || p->s->total[INTERVAL_LOST];
	char count[TEXT];

	for (unsigned i = 0; i < LOSS_CAUSES; i++)
		any |= l->by_cause[i] > 0;
	title(p, "Lost");
	if (!any) {
		fputs(p->s->model->facts.complete ? "   nothing was lost\n"
						  : "   nothing in what could be read\n",
		      p->out);
		incomplete(p);
		return;
	}
	putc('\n', p->out);
	for (unsigned i = 0; i < LOSS_CAUSES; i++)
		if (l->by_cause[i])
			fprintf(p->out, "  %7s  %s\n",
				units_count(count, sizeof(count), l->by_cause[i]), loss_words(i));
	if (l->unknown)
		fprintf(p->out, "  %7s  %s\n", units_count(count, sizeof(count), l->unknown),
			loss_words(LOSS_CAUSES));
	if (l->late)
		fprintf(p->out, "  %7s  events out of order, used as well as they could be\n",
			units_count(count, sizeof(count), l->late));
	if (l->odd)
		fprintf(p->out, "  %7s  switches that must have happened are not in the record\n",
			units_count(count, sizeof(count), l->odd));
	if (p->s->total[INTERVAL_LOST])
		fprintf(p->out, "  %7s  of the threads' time, in all\n",
			units_duration(count, sizeof(count), p->s->total[INTERVAL_LOST]));
	incomplete(p);
}

/* Only when it matters: a stack in a hundred that ends too early. */
static void stack_ends(const struct page *p)
{
	const struct stack_ends *e = &p->s->model->ends;
	uint64_t all = 0, broken = 0, worst = 0;
	unsigned why = 0;
	struct buf b = {0};

	for (unsigned i = 1; i < UNWIND_STOPS; i++) {
		uint64_t n = 0;

		for (unsigned u = 0; u < STACK_USES; u++)
			n += e->by_stop[u][i];
		all += n;
		if (model_stop_whole(i))
			continue;
		broken += n;
		if (n > worst) {
			worst = n;
			why = i;
		}
	}
	if (!broken || broken * 100 < all)
		return;
	buf_printf(&b, "%.0f%% of the user stacks end early, mostly because %s.",
		   100.0 * (double)broken / (double)all, model_stop_words(why));
	words_wrap(p->out, buf_cstr(&b));
	buf_done(&b);
}

void report_text(const struct summary *s, const struct report_opts *opts, FILE *out)
{
	struct page p = {.s = s, .out = out, .colour = opts->colour, .top = opts->top};

	report_lead(s, out);
	if (s->threads.n) {
		threads(&p);
		functions(&p);
		waits(&p);
	}
	losses(&p);
	stack_ends(&p);
}
