// SPDX-License-Identifier: MIT
/*
 * The first sentences of the report: what was recorded, and the one or two facts that tell most.
 *
 * A fact is worth saying when it is large (a share of all threads' time), and a wait is worth more
 * than another when it was not for something to do.
 */
#include "view/report.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "view/frames.h"
#include "view/words.h"

enum { TEXT = 64 };

static uint64_t wall(const struct summary *s)
{
	return s->total[INTERVAL_RUNNING] + s->total[INTERVAL_RUNNABLE] +
	       s->total[INTERVAL_WAITING] + s->total[INTERVAL_LOST];
}

static void say_command(struct buf *b, const struct facts *f)
{
	char word[TEXT];

	for (size_t i = 0; i < f->command.n && b->len < 90; i++)
		buf_printf(b, "%s%s", i ? " " : " of ",
			   words_safe(word, sizeof(word), f->command.v[i], 40));
}

static void say_what(const struct summary *s, struct buf *b)
{
	const struct model *m = s->model;
	uint64_t unix_ns = model_unix_ns(m, model_window_start(m));
	time_t sec = (time_t)(unix_ns / NSEC_PER_SEC);
	char text[TEXT];
	struct tm tm;

	buf_printf(b, "%s", units_duration(text, sizeof(text), model_window_ns(m)));
	say_command(b, &m->facts);
	if (*m->facts.host)
		buf_printf(b, " on %s", words_safe(text, sizeof(text), m->facts.host, 30));
	if (unix_ns && localtime_r(&sec, &tm) && strftime(text, sizeof(text), "%F %T", &tm))
		buf_printf(b, ", from %s", text);
	buf_printf(b, ": %zu thread%s", s->threads.n, s->threads.n == 1 ? "" : "s");
	if (s->samples)
		buf_printf(b, ", %" PRIu64 " samples", s->samples);
	buf_printf(b, ".");
}

static void say_shares(const struct summary *s, struct buf *b)
{
	uint64_t all = wall(s);
	char a[TEXT], c[TEXT], d[TEXT], e[TEXT];

	if (!s->model->facts.has_switches) {
		buf_printf(b, " Switches were not recorded: the samples say where CPU time went, "
			      "not how long threads waited.");
		return;
	}
	if (!all)
		return;
	buf_printf(b, " Of %s time %s spent %s running, %s waiting for a CPU and %s waiting",
		   s->threads.n == 1 ? "its" : "their", s->threads.n == 1 ? "it" : "they",
		   words_share(a, sizeof(a), s->total[INTERVAL_RUNNING], all),
		   words_share(c, sizeof(c), s->total[INTERVAL_RUNNABLE], all),
		   words_share(d, sizeof(d), s->total[INTERVAL_WAITING], all));
	if (s->total[INTERVAL_LOST])
		buf_printf(b, "; what was done in %s was lost",
			   words_share(e, sizeof(e), s->total[INTERVAL_LOST], all));
	buf_printf(b, ".");
}

static const struct wait_place *main_place(const struct summary *s)
{
	struct names *names = &s->model->names;

	for (size_t i = 0; i < s->waits.n; i++) {
		const struct wait_place *p = &s->waits.v[i];

		if (p->reason != REASON_IDLE && !frames_idle(names, p->kstack, p->ustack))
			return p;
	}
	return NULL;
}

static void say_place(const struct summary *s, const struct wait_place *p, struct buf *b)
{
	char total[TEXT], max[TEXT], path[160], who[TEXT];

	buf_printf(b, "Most waiting in one place: %s in %s (%" PRIu64 " time%s, at worst %s)",
		   units_duration(total, sizeof(total), p->total),
		   words_path(path, sizeof(path), &s->model->names, p->kstack, p->ustack, 60),
		   p->count, p->count == 1 ? "" : "s", units_duration(max, sizeof(max), p->max));
	if (p->wakers.n)
		buf_printf(b, "; %s ended %s", words_waker(who, sizeof(who), &p->wakers.v[0], 30),
			   p->wakers.n == 1 ? (p->count == 1 ? "it" : "them") : "most of it");
	buf_printf(b, ".");
}

static void say_function(const struct summary *s, struct buf *b)
{
	const struct function_count *c = &s->functions.v[0];
	const struct function *f = names_function(&s->model->names, c->function);
	char share[TEXT], name[TEXT], module[TEXT];

	buf_printf(b, "Most CPU time: %s of the samples are in %s",
		   words_share(share, sizeof(share), c->self, s->samples),
		   words_safe(name, sizeof(name), f->name, 50));
	if (f->named)
		buf_printf(b, " (%s)", words_safe(module, sizeof(module), f->module, 30));
	buf_printf(b, ".");
}

static void say_queue(const struct summary *s, struct buf *b)
{
	const struct thread *worst = s->threads.v[0];
	char time[TEXT], name[TEXT];

	for (size_t i = 1; i < s->threads.n; i++)
		if (s->threads.v[i]->total[INTERVAL_RUNNABLE] > worst->total[INTERVAL_RUNNABLE])
			worst = s->threads.v[i];
	buf_printf(b, "There were too few CPUs: %s (%" PRIu32 ") alone could have run for %s more.",
		   words_safe(name, sizeof(name), worst->name, 15), worst->tid,
		   units_duration(time, sizeof(time), worst->total[INTERVAL_RUNNABLE]));
}

static void say_facts(const struct summary *s, struct buf *b)
{
	const struct wait_place *place = main_place(s);
	uint64_t running = s->total[INTERVAL_RUNNING], runnable = s->total[INTERVAL_RUNNABLE];
	uint64_t hot = s->samples && s->functions.n
			       ? (uint64_t)((double)running * (double)s->functions.v[0].self /
					    (double)s->samples)
			       : 0;
	bool queued = runnable > running / 4 && runnable > wall(s) / 50;
	bool hot_first = s->functions.n && s->samples && (!place || hot > place->total);
	unsigned said = 0;

	if (queued) {
		say_queue(s, b);
		said++;
	}
	for (unsigned turn = 0; turn < 2 && said < 2; turn++) {
		bool function = hot_first == !turn;

		if (function ? !s->functions.n || !s->samples : !place)
			continue;
		buf_printf(b, "%s", said++ ? " " : "");
		if (function)
			say_function(s, b);
		else
			say_place(s, place, b);
	}
}

void report_lead(const struct summary *s, FILE *out)
{
	const struct timeline *t = &s->model->timeline;
	struct buf b = {0};
	char time[TEXT];

	if (!s->threads.n) {
		if (t->end > t->begin && t->from >= t->end)
			fprintf(out, "The recording ends after %s: there is nothing behind that.\n",
				units_duration(time, sizeof(time), t->end - t->begin));
		else
			fputs("Nothing was recorded: no thread was seen in this time.\n", out);
		return;
	}
	say_what(s, &b);
	say_shares(s, &b);
	words_wrap(out, buf_cstr(&b));
	buf_clear(&b);
	say_facts(s, &b);
	if (b.len)
		words_wrap(out, buf_cstr(&b));
	buf_done(&b);
}
