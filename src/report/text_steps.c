// SPDX-License-Identifier: MIT
/* What thaw gave up while it recorded, when and why; nothing if it gave up nothing. */
#include <inttypes.h>

#include "base/units.h"
#include "report/steps.h"
#include "report/text.h"
#include "report/words.h"
#include "wire/step.h"

enum { TEXT = 64, WHEN_WIDE = 11 };

static void text_steps_row(const struct text_report *p, const struct model_step *s, struct buf *b)
{
	char time[TEXT];

	buf_clear(b);
	step_words(b, &s->mark);
	fprintf(p->out, "  %7s  ",
		units_duration(time, sizeof(time), s->ts - p->s->model->timeline.begin));
	words_wrap(p->out, buf_cstr(b), WHEN_WIDE, WHEN_WIDE, p->width);
}

void text_steps(const struct text_report *p)
{
	const struct model *m = p->s->model;
	struct buf b = {0};

	if (!m->steps.n)
		return;
	text_title(p, "Stepped back", 12);
	fputs("   when, since the start, and why\n", p->out);
	for (size_t i = 0; i < m->steps.n; i++)
		text_steps_row(p, &m->steps.v[i], &b);
	buf_done(&b);
}

static void say_since(const struct text_report *p, uint64_t at, const char *never,
		      const char *until, const char *what)
{
	const struct model *m = p->s->model;
	uint64_t from = model_window_start(m) - m->timeline.begin;
	char time[TEXT];

	if (at >= from + model_window_ns(m))
		return;
	if (at <= from)
		fprintf(p->out, "  %s %s\n", what, never);
	else
		fprintf(p->out, "  %s %s %s\n", what, until,
			units_duration(time, sizeof(time), at));
}

void text_until(const struct text_report *p, uint32_t step, const char *what)
{
	const struct model *m = p->s->model;
	uint64_t at = model_gave_up(m, step), gone = model_gave_up(m, STEP_DETACH);

	say_since(p, gone < at ? gone : at, "had already been given up by then", "were taken until",
		  what);
}

void text_rarer(const struct text_report *p)
{
	const struct model *m = p->s->model;
	uint64_t from = model_window_start(m) - m->timeline.begin;
	uint64_t at = model_gave_up(m, STEP_RATE);

	/* If the rate fell before the window, all samples in it weigh the same. */
	if (at > from)
		say_since(p, at, "", "are fewer (earlier time weighs more) from", "samples");
}
