// SPDX-License-Identifier: MIT
/* What makes two recordings hard to compare, in sentences. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "diff/diff.h"
#include "report/words.h"
#include "wire/step.h"
#include "wire/unseen.h"

enum { TEXT = 128 };

__attribute__((format(printf, 2, 3))) static void note(struct diff *d, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	vec_push(&d->notes, mem_strdup(text));
}

static const char *notes_command(char *out, size_t room, const struct facts *f)
{
	struct buf b = {0};

	for (size_t i = 0; i < f->command.n; i++)
		buf_printf(&b, "%s%s", i ? " " : "", f->command.v[i]);
	words_safe(out, room, buf_cstr(&b), 60);
	buf_done(&b);
	return out;
}

static bool same_command(const struct facts *a, const struct facts *b)
{
	if (a->command.n != b->command.n)
		return false;
	for (size_t i = 0; i < a->command.n; i++)
		if (strcmp(a->command.v[i], b->command.v[i]))
			return false;
	return true;
}

static void different(struct diff *d, const char *what, const char *a, const char *b)
{
	char one[TEXT], other[TEXT];

	if (*a && *b && strcmp(a, b))
		note(d, "They are of different %s: %s and %s.", what,
		     words_safe(one, sizeof(one), a, 60), words_safe(other, sizeof(other), b, 60));
}

static void about_programs(struct diff *d, const struct facts *a, const struct facts *b)
{
	char one[TEXT], other[TEXT];

	different(d, "hosts", a->host, b->host);
	different(d, "kernels", a->kernel, b->kernel);
	if (!a->command.n != !b->command.n)
		note(d, "Only one of them recorded a command: they may not be comparable.");
	else if (!same_command(a, b))
		note(d, "They are of different commands: %s and %s.",
		     notes_command(one, sizeof(one), a), notes_command(other, sizeof(other), b));
}

/* Which of them: "a.thaw", or the only one. */
static void about_seen(struct diff *d, const struct diff_side *s)
{
	const struct facts *f = &s->s->model->facts;
	uint64_t lost = s->s->total[INTERVAL_LOST], all = 0;
	char text[TEXT];

	if (f->unseen & UNSEEN_SWITCHES)
		note(d, "The engine of %s (%s) does not see waits: only functions are compared.",
		     s->path, f->engine);
	else if (f->unseen & UNSEEN_LOCKS)
		note(d, "The engine of %s (%s) does not see locks: they are not compared.", s->path,
		     f->engine);
	if (s->period <= 0)
		note(d, "%s was recorded without samples: functions are not compared.", s->path);
	for (unsigned k = 0; k < INTERVAL_KINDS; k++)
		all += s->s->total[k];
	if (!(f->unseen & UNSEEN_SWITCHES) && lost > all / 100)
		note(d, "In %s %s of the threads' time is missing: events were lost.", s->path,
		     words_percent(text, sizeof(text), lost, all));
	if (!f->complete)
		note(d, "%s is not whole: %s.", s->path, *f->damage ? f->damage : "it was cut off");
	if (model_gave_up(s->s->model, STEP_SAMPLES) != UINT64_MAX)
		note(d,
		     "Sampling stopped while %s was recorded: its functions come from the samples "
		     "before that.",
		     s->path);
}

void diff_notes(struct diff *d)
{
	const struct facts *a = &d->a->s->model->facts, *b = &d->b->s->model->facts;
	char one[TEXT], other[TEXT];

	if (d->a->s->model != d->b->s->model)
		about_programs(d, a, b);
	about_seen(d, d->a);
	if (strcmp(d->a->path, d->b->path))
		about_seen(d, d->b);
	if (a->freq_hz && b->freq_hz && a->freq_hz != b->freq_hz)
		note(d,
		     "Samples were taken %" PRIu64 " and %" PRIu64
		     " times a second: they count by their time.",
		     a->freq_hz, b->freq_hz);
	if ((d->opts.per == DIFF_PER_NONE || d->opts.per == DIFF_PER_PACE) &&
	    (d->a->window > 2 * d->b->window || d->b->window > 2 * d->a->window))
		note(d,
		     "One lasted %s, the other %s; times are not divided by that (--per wall does "
		     "it).",
		     units_duration(one, sizeof(one), d->a->window),
		     units_duration(other, sizeof(other), d->b->window));
}
