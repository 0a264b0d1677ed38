// SPDX-License-Identifier: MIT
/* What thaw gave up while it recorded, when and why: only if there was something. */
#include <inttypes.h>

#include "base/units.h"
#include "view/page.h"
#include "view/steps.h"
#include "view/words.h"
#include "wire/step.h"

enum { TEXT = 64, WHEN_WIDE = 11 };

static void row(const struct page *p, const struct model_step *s, struct buf *b)
{
	char time[TEXT];

	buf_clear(b);
	step_words(b, &s->mark);
	fprintf(p->out, "  %7s  ",
		units_duration(time, sizeof(time), s->ts - p->s->model->timeline.begin));
	words_wrap(p->out, buf_cstr(b), WHEN_WIDE, WHEN_WIDE, p->width);
}

void page_steps(const struct page *p)
{
	const struct model *m = p->s->model;
	struct buf b = {0};

	if (!m->steps.n)
		return;
	page_title(p, "Stepped back", 12);
	fputs("   when, from the begin, and why\n", p->out);
	for (size_t i = 0; i < m->steps.n; i++)
		row(p, &m->steps.v[i], &b);
	buf_done(&b);
}

static void say_since(const struct page *p, uint64_t at, const char *never, const char *until,
		      const char *what)
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

void page_until(const struct page *p, uint32_t step, const char *what)
{
	const struct model *m = p->s->model;
	uint64_t at = model_gave_up(m, step), gone = model_gave_up(m, STEP_DETACH);

	say_since(p, gone < at ? gone : at, "were not taken at this time any more",
		  "were taken until", what);
}

void page_rarer(const struct page *p)
{
	const struct model *m = p->s->model;
	uint64_t from = model_window_start(m) - m->timeline.begin;
	uint64_t at = model_gave_up(m, STEP_RATE);

	/* Where all of them are rare, they count alike. */
	if (at > from)
		say_since(p, at, "", "are rarer, and those before count for more, from", "samples");
}
