// SPDX-License-Identifier: MIT
/*
 * The first screen: 80 columns, about 45 lines, plain words. Sentences first, then stalls, threads,
 * where CPU time went, where threads waited, for which locks, because of whom, and what is missing.
 * A table shows the rows that tell most and says in one line what it leaves out.
 */
#include "view/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "view/frames.h"
#include "view/page.h"
#include "view/words.h"
#include "wire/step.h"

enum { TOP_THREADS = 7, TOP_FUNCTIONS = 4, NAME_WIDE = 15, TEXT = 64 };

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

/* Where only samples tell of time, what a thread did without a CPU is not known. */
static void sampled_row(const struct page *p, const struct thread *t, int tid)
{
	char name[TEXT], time[TEXT], ran[TEXT], run[TEXT], rest[TEXT];
	uint64_t wall = thread_wall(t);

	fprintf(p->out, "  %-*s %*" PRIu32 " %7s %8s %8s %9s\n", NAME_WIDE,
		words_safe(name, sizeof(name), t->name, NAME_WIDE), tid, t->tid,
		units_duration(time, sizeof(time), wall),
		units_duration(ran, sizeof(ran), t->total[INTERVAL_RUNNING]),
		words_share(run, sizeof(run), t->total[INTERVAL_RUNNING], wall),
		words_share(rest, sizeof(rest), t->total[INTERVAL_LOST], wall));
}

/* Where there are no times either. */
static void counted_row(const struct page *p, const struct thread *t, int tid)
{
	char name[TEXT], n[TEXT], part[TEXT];

	fprintf(p->out, "  %-*s %*" PRIu32 " %7s %8s\n", NAME_WIDE,
		words_safe(name, sizeof(name), t->name, NAME_WIDE), tid, t->tid,
		units_count(n, sizeof(n), t->samples),
		words_share(part, sizeof(part), t->samples, p->s->samples));
}

static void thread_row(const struct page *p, const struct thread *t, int tid, bool lost)
{
	char name[TEXT], time[TEXT], run[TEXT], queue[TEXT], wait[TEXT], gone[TEXT];
	uint64_t wall = thread_wall(t);
	int left = WORDS_WIDTH - (2 + NAME_WIDE + 1 + tid + 1 + 7 + 3 * 9 + (lost ? 7 : 0) + 2);

	fprintf(p->out, "  %-*s %*" PRIu32 " %7s %8s %8s %8s", NAME_WIDE,
		words_safe(name, sizeof(name), t->name, NAME_WIDE), tid, t->tid,
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
	buf_printf(&b,
		   s->model->facts.has_switches ? "  and %zu that only waited, all the time: "
						: "  and %zu without a sample: ",
		   n);
	for (size_t i = s->active; i < s->threads.n; i++) {
		words_safe(name, sizeof(name), s->threads.v[i]->name, NAME_WIDE);
		if (b.len + strlen(name) + 6 > WORDS_WIDTH) {
			buf_printf(&b, "...");
			break;
		}
		buf_printf(&b, "%s%s", name, i + 1 < s->threads.n ? ", " : "");
	}
	fprintf(p->out, "%s\n", buf_cstr(&b));
	buf_done(&b);
}

void page_threads(const struct page *p)
{
	const struct summary *s = p->s;
	size_t n = page_rows(p, s->active, TOP_THREADS);
	bool lost = s->total[INTERVAL_LOST] > 0, sampled = !s->model->facts.has_switches;
	bool timeless = model_timeless(s->model);
	int tid = tid_width(p);

	page_title(p, "Threads", 2 + NAME_WIDE);
	if (timeless)
		fprintf(p->out, " %*s %7s %8s\n", tid, "tid", "samples", "of all");
	else if (sampled)
		fprintf(p->out, " %*s %7s %8s %8s %9s\n", tid, "tid", "time", "CPU time", "running",
			"not seen");
	else
		fprintf(p->out, " %*s %7s  running runnable  waiting%s  mostly waits\n", tid, "tid",
			"time", lost ? "   lost" : "");
	for (size_t i = 0; i < n; i++)
		if (timeless)
			counted_row(p, s->threads.v[i], tid);
		else if (sampled)
			sampled_row(p, s->threads.v[i], tid);
		else
			thread_row(p, s->threads.v[i], tid, lost);
	if (n < s->active && timeless) {
		fprintf(p->out, "  and %zu more (--top shows them)\n", s->active - n);
	} else if (n < s->active) {
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

	fprintf(p->out, "  %-42s %7s %7s", words_safe(name, sizeof(name), f->name, 42),
		words_share(self, sizeof(self), c->self, p->s->samples),
		words_share(total, sizeof(total), c->total, p->s->samples));
	if (f->named)
		fprintf(p->out, "  %s", words_safe(module, sizeof(module), f->module, 18));
	putc('\n', p->out);
}

void page_functions(const struct page *p)
{
	const struct summary *s = p->s;
	size_t n = page_rows(p, s->functions.n, TOP_FUNCTIONS);

	page_title(p, "Hottest functions", 2 + 42);
	if (!s->samples || !n) {
		fputs(s->samples ? " not known: the samples have no stacks\n"
				 : " no sample found a thread running\n",
		      p->out);
		page_until(p, STEP_SAMPLES, "samples");
		return;
	}
	fprintf(p->out, " %7s %7s  %s\n", "self", "total", "module");
	for (size_t i = 0; i < s->functions.n && n; i++) {
		const struct function_count *c = &s->functions.v[i];
		const struct function *f = names_function(&s->model->names, c->function);

		if (!c->self && frames_plain(f->name))
			continue;
		function_row(p, c, f);
		n--;
	}
	page_rarer(p);
	page_until(p, STEP_SAMPLES, "samples");
}

void report_text(const struct summary *s, const struct report_opts *opts, FILE *out)
{
	struct page p = {
		.s = s, .out = out, .colour = opts->colour, .width = WORDS_WIDTH, .top = opts->top};

	report_lead(s, opts->colour, out);
	if (s->threads.n && !s->model->facts.has_switches) {
		page_threads(&p);
		page_functions(&p);
	} else if (s->threads.n) {
		page_stalls(&p);
		page_threads(&p);
		page_functions(&p);
		page_waits(&p);
		page_locks(&p);
		page_blame(&p);
	}
	page_steps(&p);
	page_lost(&p);
}
