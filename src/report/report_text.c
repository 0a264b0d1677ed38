// SPDX-License-Identifier: MIT
/*
 * The first screen: 80 columns, about 45 lines, plain words. Sentences first, then stalls, threads,
 * where CPU time went, where threads waited, for which locks, because of whom, and what is missing.
 * A table shows the most important rows and says in one line what it leaves out.
 */
#include "report/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "report/frames.h"
#include "report/text.h"
#include "report/words.h"
#include "wire/step.h"

/* With fewer samples, nobody can say where the time went. */
enum { SAMPLES_FEW = 20 };
/* A smaller part of a thread's time is no trouble. */
enum { IMPOSED_PERCENT = 3 };
enum { TOP_THREADS = 7, TOP_FUNCTIONS = 4, NAME_WIDE = 15, TEXT = 64 };

static int tid_width(const struct text_report *p)
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

/* With samples alone, what a thread did without a CPU is not known. */
static void sampled_row(const struct text_report *p, const struct thread *t, int tid)
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

/* The recording has no times either. */
static void counted_row(const struct text_report *p, const struct thread *t, int tid)
{
	char name[TEXT], n[TEXT], part[TEXT];

	fprintf(p->out, "  %-*s %*" PRIu32 " %7s %8s\n", NAME_WIDE,
		words_safe(name, sizeof(name), t->name, NAME_WIDE), tid, t->tid,
		units_count(n, sizeof(n), t->samples),
		words_share(part, sizeof(part), t->samples, p->s->samples));
}

/* Idle threads wait for the network too, but then the reason is idle. */
static bool is_imposed(enum reason r)
{
	return !reason_is_runnable(r) && (!reason_has(r, TRAIT_CHOSEN | TRAIT_OUTSIDE) ||
					  r == REASON_NETWORK || r == REASON_PIPE);
}

/*
 * What it mainly waits for: what it did not choose, with its share, if that matters; else what took
 * most time.
 */
static const char *mainly(char *out, size_t room, const struct thread *t, size_t width)
{
	uint64_t wall = thread_wall(t);
	enum reason most = thread_main_reason(t), imposed = REASON_UNKNOWN;
	const char *label;
	char share[TEXT / 2];

	for (unsigned r = 0; r < REASONS; r++)
		if (is_imposed(r) && t->waits[r] > t->waits[imposed])
			imposed = r;
	if (imposed == REASON_UNKNOWN || t->waits[imposed] == wall ||
	    t->waits[imposed] < wall / 100 * IMPOSED_PERCENT) {
		snprintf(out, room, "%s", reason_label(most));
		return out;
	}
	label = reason_label(imposed);
	words_percent(share, sizeof(share), t->waits[imposed], wall);
	if (strlen(label) + 1 + strlen(share) > width && imposed == REASON_KERNEL_LOCK)
		label = "lock";
	if (strlen(label) + 1 + strlen(share) > width)
		share[0] = '\0';
	snprintf(out, room, "%s%s%s", label, *share ? " " : "", share);
	return out;
}

static void thread_row(const struct text_report *p, const struct thread *t, int tid, bool lost)
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
		fprintf(p->out, "  %.*s", left, mainly(name, sizeof(name), t, (size_t)left));
	putc('\n', p->out);
}

/* The threads that did nothing but wait, in one line with as many names as fit. */
static void sleepers(const struct text_report *p)
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

void text_threads(const struct text_report *p)
{
	const struct summary *s = p->s;
	size_t n = text_rows(p, s->active, TOP_THREADS);
	bool lost = s->total[INTERVAL_LOST] > 0, sampled = !s->model->facts.has_switches;
	bool timeless = model_timeless(s->model);
	int tid = tid_width(p);

	text_title(p, "Threads", 2 + NAME_WIDE);
	if (timeless)
		fprintf(p->out, " %*s %7s %8s\n", tid, "tid", "samples", "of all");
	else if (sampled)
		fprintf(p->out, " %*s %7s %8s %8s %9s\n", tid, "tid", "time", "CPU time", "running",
			"not seen");
	else
		fprintf(p->out, " %*s %7s  running runnable  waiting%s  waits for\n", tid, "tid",
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

static void function_row(const struct text_report *p, const struct function_count *c,
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

void text_functions(const struct text_report *p)
{
	const struct summary *s = p->s;
	size_t n = text_rows(p, s->functions.n, TOP_FUNCTIONS);

	text_title(p, "Hottest functions", 2 + 42);
	if (!s->samples || !n) {
		fputs(s->samples ? " not known: the samples have no stacks\n"
				 : " no sample found a thread running\n",
		      p->out);
		text_until(p, STEP_SAMPLES, "samples");
		return;
	}
	if (s->samples < SAMPLES_FEW && !p->top) {
		fprintf(p->out, " too few samples to tell: %" PRIu64 "\n", s->samples);
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
	text_rarer(p);
	text_until(p, STEP_SAMPLES, "samples");
}

void report_text(const struct summary *s, const struct report_opts *opts, FILE *out)
{
	struct text_report p = {
		.s = s, .out = out, .colour = opts->colour, .width = WORDS_WIDTH, .top = opts->top};

	report_lead(s, opts->colour, out);
	if (s->threads.n && !s->model->facts.has_switches) {
		text_threads(&p);
		text_functions(&p);
	} else if (s->threads.n) {
		text_stalls(&p);
		text_threads(&p);
		text_functions(&p);
		text_waits(&p);
		text_locks(&p);
		text_blame(&p);
	}
	text_steps(&p);
	text_lost(&p);
}
