// SPDX-License-Identifier: MIT
/*
 * What took the time where no lock is to blame. That may be the finding's reason (the disk, too few
 * CPUs, a CPU limit); otherwise, or where it weighs more, the function that used most CPU time.
 * Where nothing was held up and little ran, the lead says so.
 */
#include "report/lead.h"

#include <inttypes.h>

#include "report/words.h"

enum { TEXT = 128 };

static uint64_t lead_cause_wall(const struct summary *s)
{
	return s->total[INTERVAL_RUNNING] + s->total[INTERVAL_RUNNABLE] +
	       s->total[INTERVAL_WAITING] + s->total[INTERVAL_LOST];
}

static void say_reason(const struct summary *s, struct buf *b)
{
	const struct finding *f = &s->finding;
	char text[TEXT];

	if (f->reason == REASON_RUN_QUEUE)
		buf_printf(b, "There were too few CPUs: ");
	lead_group(b, f);
	buf_printf(b, " spent %s of %s time", words_percent(text, sizeof(text), f->waited, f->wall),
		   f->threads == 1 ? "its" : "their");
	buf_printf(b, " %s", words_doing(text, sizeof(text), f->doing, f->reason));
	lead_in(b, s, f->function, f->kstack, f->ustack);
	lead_file_of(s, f, b);
	if (f->reason == REASON_PIPE_FULL)
		lead_finding_wakers(s, b);
	buf_printf(b, ".");
}

/* 0 too where so little ran, less than a tenth of one CPU, that nothing can be made faster. */
static uint64_t hottest_ns(const struct summary *s)
{
	if (!s->samples || !s->functions.n ||
	    (s->model->facts.has_switches &&
	     s->total[INTERVAL_RUNNING] < model_window_ns(s->model) / 10))
		return 0;
	return (uint64_t)((double)s->total[INTERVAL_RUNNING] * (double)s->functions.v[0].self /
			  (double)s->samples);
}

static void say_function(const struct summary *s, struct buf *b)
{
	const struct function_count *c = &s->functions.v[0];
	const struct function *f = names_function(&s->model->names, c->function);
	char share[TEXT], name[TEXT], module[TEXT];

	buf_printf(b, "Most CPU time: %s of the samples are in %s",
		   words_percent(share, sizeof(share), c->self, s->samples),
		   words_safe(name, sizeof(name), f->name, 50));
	if (f->named)
		buf_printf(b, " (%s)", words_safe(module, sizeof(module), f->module, 30));
	buf_printf(b, ".");
}

static void say_idle(const struct summary *s, struct buf *b)
{
	const struct facts *facts = &s->model->facts;
	bool one = s->threads.n == 1;
	char share[TEXT];

	words_percent(share, sizeof(share), s->total[INTERVAL_WAITING], lead_cause_wall(s));
	/* An engine that sees no locks cannot say that no thread waited for one. */
	if (facts->unseen & (UNSEEN_LOCKS | UNSEEN_WAIT_STACKS)) {
		buf_printf(b, "%s waited %s of the time; for what, the %s engine does not see.",
			   one ? "The thread" : "The threads", share, facts->engine);
		return;
	}
	if (lead_open_question(s, b))
		return;
	if (lead_pool(s, b) || lead_question(s, b))
		return;
	if (!lead_all_known(s)) {
		buf_printf(b, "Nothing is known to be held up: %s waited %s of the time",
			   one ? "the thread" : "the threads", share);
		lead_longest_unknown(s, b);
		buf_printf(b, ".");
		return;
	}
	if (s->reasons[REASON_SLEEP] > s->total[INTERVAL_WAITING] / 2) {
		buf_printf(b, "Nothing held %s up: %s waited %s of the time, mostly asleep on %s.",
			   one ? "the thread" : "the threads", one ? "it" : "they", share,
			   one ? "a timer of its own" : "timers of their own");
		return;
	}
	buf_printf(b, "Nothing was held up: %s waited %s of the time for something to do.",
		   one ? "the thread" : "the threads", share);
}

/* Without switches it is not known what threads did when they did not run. */
static bool is_quiet(const struct summary *s)
{
	uint64_t ran = s->total[INTERVAL_RUNNING] + s->total[INTERVAL_RUNNABLE];

	return s->model->facts.has_switches && lead_cause_wall(s) && ran < lead_cause_wall(s) / 20;
}

/* A thread stuck on a file tells more than a finding about disks, or than silence. */
static bool is_about_file(const struct summary *s)
{
	const struct finding *f = &s->finding;

	if (!lead_stuck_file(s, NULL))
		return false;
	if (!f->found)
		return is_quiet(s);
	return f->reason == REASON_DISK || f->reason == REASON_FILE_SERVER;
}

/* The sentence about too few CPUs tells what ran on them, not a wait. */
bool lead_cause_waits(const struct summary *s)
{
	const struct finding *f = &s->finding;

	if (is_about_file(s))
		return true;
	if (f->found)
		return f->doing == INTERVAL_WAITING && hottest_ns(s) <= f->waited;
	return is_quiet(s) && (!lead_all_known(s) || lead_pool(s, NULL) || lead_question(s, NULL));
}

static const char *about_idle(const struct summary *s)
{
	struct buf b = {0};
	bool open;

	if (s->model->facts.unseen & (UNSEEN_LOCKS | UNSEEN_WAIT_STACKS))
		return "idle";
	open = lead_open_question(s, &b);
	buf_done(&b);
	if (open)
		return "stuck";
	return lead_pool(s, NULL) ? "pool" : lead_question(s, NULL) ? "stuck" : "idle";
}

const char *lead_cause_about(const struct summary *s)
{
	bool reason = s->finding.found && s->finding.lock >= s->locks.n;
	uint64_t hot = hottest_ns(s);

	if (is_about_file(s))
		return "stuck";
	if (!reason && is_quiet(s))
		return about_idle(s);
	if (hot && (!reason || hot > s->finding.waited))
		return "function";
	if (reason)
		return "reason";
	return lead_stuck_file(s, NULL) ? "stuck" : NULL;
}

void lead_cause(const struct summary *s, struct buf *b)
{
	const struct finding *f = &s->finding;
	bool reason = f->found && f->lock >= s->locks.n, file = is_about_file(s);
	uint64_t hot = hottest_ns(s);

	if (file)
		(void)lead_stuck_file(s, b);
	else if (!reason && is_quiet(s))
		say_idle(s, b);
	if (hot && (!reason || hot > f->waited)) {
		buf_printf(b, "%s", b->len ? " " : "");
		say_function(s, b);
	}
	if (reason && !file) {
		buf_printf(b, "%s", b->len ? " " : "");
		say_reason(s, b);
	}
	if (!file)
		(void)lead_stuck_file(s, b);
}
