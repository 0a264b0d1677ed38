// SPDX-License-Identifier: MIT
/*
 * The first sentences of the report: what is wrong, in plain words, and then what was recorded.
 *
 * A contended lock comes first, if the model found one (model/finding.h): it names what can be
 * changed. Otherwise it is what took most of the time that was not spent waiting for something to
 * do (lead_cause.c).
 */
#include "report/lead.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "report/report.h"
#include "report/words.h"

enum { TEXT = 64, TARGETS_MOST = 3 };

static uint64_t lead_wall(const struct summary *s)
{
	return s->total[INTERVAL_RUNNING] + s->total[INTERVAL_RUNNABLE] +
	       s->total[INTERVAL_WAITING] + s->total[INTERVAL_LOST];
}

void lead_group(struct buf *b, const struct finding *f)
{
	char name[TEXT];

	if (f->threads > 1)
		buf_printf(b, "%zu %s threads", f->threads,
			   words_safe(name, sizeof(name), f->group, 15));
	else
		buf_printf(b, "%s",
			   words_safe(name, sizeof(name),
				      f->victims.n ? f->victims.v[0]->name : f->group, 15));
}

void lead_say_some(struct buf *b, const struct thread *one, size_t n, size_t alike)
{
	char name[TEXT];

	words_safe(name, sizeof(name), one->name, 15);
	if (n == 1)
		buf_printf(b, "%s", name);
	else if (alike == n)
		buf_printf(b, "%zu %.*s threads", n, (int)finding_stem(name), name);
	else
		buf_printf(b, "%zu threads such as %s", n, name);
}

static void say_command(struct buf *b, const struct facts *f)
{
	char word[TEXT];

	for (size_t i = 0; i < f->command.n && b->len < 90; i++)
		buf_printf(b, "%s%s", i ? " " : " of ",
			   words_safe(word, sizeof(word), f->command.v[i], 40));
}

/* "server (4712)": the thread that has this number, by the name that it had first. */
static void say_target(struct buf *b, const struct model *m, const char *number)
{
	uint64_t id = 0;
	const struct thread *t =
		units_parse_u64(number, &id) ? NULL : timeline_thread(&m->timeline, (uint32_t)id);
	char name[TEXT];

	if (t)
		buf_printf(b, "%s (%s)", words_safe(name, sizeof(name), t->name, 15), number);
	else
		buf_printf(b, "%s", words_safe(name, sizeof(name), number, 40));
}

/* What was attached to. */
static void say_targets(struct buf *b, const struct model *m)
{
	const struct facts *f = &m->facts;
	size_t n = f->targets.n;
	char text[TEXT + 40];

	if (m->facts.command.n)
		return;
	if (f->whole_machine)
		buf_printf(b, " of all processes");
	if (!n || f->whole_machine)
		return;
	buf_printf(b, " of %s%s",
		   !strcmp(f->scope, "cgroup")	 ? "cgroup"
		   : !strcmp(f->scope, "thread") ? "thread"
						 : "process",
		   n == 1			  ? " "
		   : !strcmp(f->scope, "process") ? "es "
						  : "s ");
	for (size_t i = 0; i < n && i < TARGETS_MOST; i++) {
		buf_printf(b, "%s", i ? ", " : "");
		say_target(b, m, f->targets.v[i]);
	}
	if (n > TARGETS_MOST)
		buf_printf(b, " and %zu more", n - TARGETS_MOST);
	if (n == 1 && *f->target_command)
		buf_printf(b, ", started as %s",
			   words_safe(text, sizeof(text), f->target_command, 60));
}

/* ".449 (+3.200s)": a part of the recording, from a moment that has both forms. */
static void say_offset(struct buf *b, uint64_t unix_ns, uint64_t since)
{
	if (unix_ns)
		buf_printf(b, ".%03u", (unsigned)(unix_ns / NSEC_PER_MSEC % 1000));
	buf_printf(b, "%s+%llu.%03us%s", unix_ns ? " (" : ", from ", since / NSEC_PER_SEC,
		   (unsigned)(since / NSEC_PER_MSEC % 1000), unix_ns ? ")" : "");
}

static void say_what(const struct summary *s, struct buf *b)
{
	const struct model *m = s->model;
	uint64_t start = model_window_start(m), unix_ns = model_unix_ns(m, start);
	time_t sec = (time_t)(unix_ns / NSEC_PER_SEC);
	char text[TEXT];
	struct tm tm;

	if (model_timeless(m))
		buf_printf(b, "No times were recorded");
	else
		buf_printf(b, "%s", units_duration(text, sizeof(text), model_window_ns(m)));
	say_command(b, &m->facts);
	say_targets(b, m);
	if (*m->facts.host)
		buf_printf(b, " on %s", words_safe(text, sizeof(text), m->facts.host, 30));
	if (unix_ns && localtime_r(&sec, &tm) && strftime(text, sizeof(text), "%F %T", &tm))
		buf_printf(b, ", from %s", text);
	if (!model_timeless(m) && start > m->timeline.begin)
		say_offset(b, unix_ns, start - m->timeline.begin);
	buf_printf(b, ": %zu thread%s", s->threads.n, s->threads.n == 1 ? "" : "s");
	if (s->samples)
		buf_printf(b, ", %" PRIu64 " samples", s->samples);
	buf_printf(b, ".");
}

static void say_shares(const struct summary *s, struct buf *b)
{
	uint64_t all = lead_wall(s);
	char a[TEXT], c[TEXT], d[TEXT], e[TEXT];

	if (!s->model->facts.has_switches) {
		buf_printf(b,
			   " The %s engine sees only threads that use a CPU: the samples say "
			   "where CPU time went. Whether threads waited, and for what, was not "
			   "seen.",
			   *s->model->facts.engine ? s->model->facts.engine : "sampling");
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
		buf_printf(b, "; the records of %s are lost",
			   words_share(e, sizeof(e), s->total[INTERVAL_LOST], all));
	buf_printf(b, ".");
}

void lead_sentence(const struct summary *s, struct buf *b)
{
	size_t lock;

	if (!s->stuck.circles && lead_standstill(s, b, &lock))
		return;
	lead_lock(s, b);
	if (!b->len && s->threads.n)
		lead_cause(s, b);
	else if (!s->stuck.circles)
		(void)lead_stuck_file(s, b);
}

void lead_about(const struct summary *s, struct lead_about *ret)
{
	const struct finding *f = &s->finding;
	bool lock = f->found && f->lock < s->locks.n;

	*ret = (struct lead_about){.lock = SIZE_MAX};
	if (s->stuck.circles) {
		ret->what = "deadlock";
		ret->wait = true;
		ret->lock = s->stuck.waits.v[0].lock;
	} else if (lead_standstill(s, NULL, &ret->lock)) {
		ret->what = "stuck";
		ret->wait = true;
	} else if (lock) {
		ret->what = "lock";
		ret->wait = true;
		ret->lock = f->lock;
	} else if (s->threads.n) {
		ret->what = lead_cause_about(s);
		ret->wait = lead_cause_waits(s);
	}
}

void report_lead(const struct summary *s, bool colour, FILE *out)
{
	const struct timeline *t = &s->model->timeline;
	struct buf b = {0};
	char time[TEXT];

	if (!s->threads.n) {
		if (t->end > t->begin && t->from >= t->end)
			fprintf(out,
				"The recording is only %s long, and this range begins after its "
				"end.\n",
				units_duration(time, sizeof(time), t->end - t->begin));
		else
			fputs("Nothing was recorded: no thread was seen in this time.\n", out);
		return;
	}
	lead_sentence(s, &b);
	if (b.len) {
		fputs(colour ? "\033[1m" : "", out);
		words_wrap(out, buf_cstr(&b), 0, 0, WORDS_WIDTH);
		fputs(colour ? "\033[0m" : "", out);
	}
	buf_clear(&b);
	say_what(s, &b);
	say_shares(s, &b);
	words_wrap(out, buf_cstr(&b), 0, 0, WORDS_WIDTH);
	buf_done(&b);
}
