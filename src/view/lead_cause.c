// SPDX-License-Identifier: MIT
/*
 * Where no lock is to blame: what else took the time. The finding may be a reason that is nobody's
 * choice (the disk, too few CPUs, a CPU limit); otherwise, or where it weighs more, it is the
 * function that used most CPU time; and where nothing was held up and little ran, that is said.
 */
#include "view/lead.h"

#include <inttypes.h>

#include "view/words.h"

enum { TEXT = 128 };

static uint64_t wall(const struct summary *s)
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
	lead_in(b, s, f->function);
	buf_printf(b, ".");
}

static uint64_t hottest_ns(const struct summary *s)
{
	if (!s->samples || !s->functions.n)
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

	words_percent(share, sizeof(share), s->total[INTERVAL_WAITING], wall(s));
	/* Whoever sees no locks cannot say that nobody stood behind one. */
	if (facts->unseen & (UNSEEN_LOCKS | UNSEEN_WAIT_STACKS)) {
		buf_printf(b, "%s waited %s of the time; for what, the %s engine does not see.",
			   one ? "The thread" : "The threads", share, facts->engine);
		return;
	}
	buf_printf(b, "Nothing was held up: %s %s %s of the time for something to do.",
		   one ? "the thread" : "the threads", "waited", share);
}

void lead_cause(const struct summary *s, struct buf *b)
{
	const struct finding *f = &s->finding;
	uint64_t hot = hottest_ns(s);
	uint64_t ran = s->total[INTERVAL_RUNNING] + s->total[INTERVAL_RUNNABLE];
	bool reason = f->found && f->lock >= s->locks.n;

	/* Without switches nobody knows what they did otherwise. */
	if (!reason && s->model->facts.has_switches && wall(s) && ran < wall(s) / 20)
		say_idle(s, b);
	if (hot && (!reason || hot > f->waited)) {
		buf_printf(b, "%s", b->len ? " " : "");
		say_function(s, b);
	}
	if (reason) {
		buf_printf(b, "%s", b->len ? " " : "");
		say_reason(s, b);
	}
}
