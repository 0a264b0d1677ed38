// SPDX-License-Identifier: MIT
/* What is missing from a recording, by cause, and whether the file is whole. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "report/text.h"
#include "report/words.h"
#include "wire/unwind.h"

enum { TEXT = 64 };

void text_unseen(const struct text_report *p)
{
	const struct facts *f = &p->s->model->facts;
	struct buf b = {0};
	char name[TEXT];
	uint32_t left = f->unseen;

	for (size_t i = 0; i < ARRAY_LEN(unseen_rows); i++) {
		if (!(f->unseen & unseen_rows[i].bit))
			continue;
		left &= ~unseen_rows[i].bit;
		if (!b.len)
			buf_printf(&b, "The %s engine does not see ",
				   words_safe(name, sizeof(name), f->engine, 16));
		else
			buf_printf(&b, "%s", left ? ", " : " and ");
		buf_printf(&b, "%s", unseen_rows[i].words);
	}
	if (b.len) {
		buf_printf(&b, ".");
		words_wrap(p->out, buf_cstr(&b), 0, 0, p->width);
	}
	buf_done(&b);
}

static void incomplete(const struct text_report *p)
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
		text_tint(p, "31");
		words_wrap(p->out, buf_cstr(&b), 0, 0, p->width);
		text_tint(p, "0");
	}
	if (!f->has_symbols && p->s->functions.n + p->s->waits.n)
		words_wrap(p->out,
			   "The capture holds no symbols: functions are shown as places in "
			   "their files.",
			   0, 0, p->width);
	if (*f->foreign) {
		char name[TEXT];

		buf_clear(&b);
		buf_printf(
			&b,
			"It is from a machine that this version of thaw does not know (%s): thaw "
			"cannot say in which system calls threads waited, or what the words of "
			"their locks mean.",
			words_safe(name, sizeof(name), f->foreign, 16));
		words_wrap(p->out, buf_cstr(&b), 0, 0, p->width);
	}
	if (*f->not_followed) {
		buf_clear(&b);
		buf_printf(&b,
			   "Programs that could not be followed, because they are static, have "
			   "other rights or are for another machine: %s.",
			   f->not_followed);
		words_wrap(p->out, buf_cstr(&b), 0, 0, p->width);
	}
	buf_done(&b);
}

static void text_lost_row(const struct text_report *p, uint64_t n, const char *words)
{
	char count[TEXT];

	if (n)
		fprintf(p->out, "  %7s  %s\n", units_count(count, sizeof(count), n), words);
}

/* Unseen time is not lost: the threads' table shows it. */
static uint64_t lost_time(const struct text_report *p)
{
	return p->s->model->facts.has_switches ? p->s->total[INTERVAL_LOST] : 0;
}

static void causes(const struct text_report *p)
{
	const struct losses *l = &p->s->model->losses;
	uint64_t lost = lost_time(p);
	char time[TEXT];

	putc('\n', p->out);
	for (unsigned i = 0; i < LOSS_CAUSES; i++)
		text_lost_row(p, l->by_cause[i], loss_words(i));
	text_lost_row(p, l->unknown, loss_words(LOSS_CAUSES));
	text_lost_row(p, l->late, "events out of order, used as well as they could be");
	text_lost_row(p, l->odd, "switches that must have happened were not recorded");
	if (lost)
		fprintf(p->out, "  %7s  of the threads' time, in all\n",
			units_duration(time, sizeof(time), lost));
}

/* Silent unless at least one stack in a hundred ends too early. */
static void stack_ends(const struct text_report *p)
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
	words_wrap(p->out, buf_cstr(&b), 0, 0, p->width);
	buf_done(&b);
}

/* Shown however few there are: a guess may be wrong, and looks like any other caller. */
static void guesses(const struct text_report *p)
{
	const struct stack_ends *e = &p->s->model->ends;
	uint64_t all = 0, guessed = 0;
	struct buf b = {0};
	char share[TEXT];

	for (unsigned u = 0; u < STACK_USES; u++) {
		guessed += e->guessed[u];
		for (unsigned i = 1; i < UNWIND_STOPS; i++)
			all += e->by_stop[u][i];
	}
	if (!guessed)
		return;
	buf_printf(&b,
		   "%s of the user stacks have a guessed caller, after " UNWIND_GUESS_NAME
		   ": it called code without unwind information, and was found by searching the "
		   "stack.",
		   words_percent(share, sizeof(share), guessed, all));
	words_wrap(p->out, buf_cstr(&b), 0, 0, p->width);
	buf_done(&b);
}

/* The guard's findings: why the recording holds less than it could. */
static void guarded(const struct text_report *p)
{
	const struct guarded *g = &p->s->model->facts.guard;
	char safe[512], id[16];
	struct buf b = {0};

	if (!guarded_matters(g))
		return;
	for (size_t i = 0; i < g->passed_over.n; i++) {
		words_safe(safe, sizeof(safe), g->passed_over.v[i], sizeof(safe) - 1);
		buf_clear(&b);
		buf_printf(&b, "Not recorded with %.*s.", (int)strcspn(safe, "."), safe);
		words_wrap(p->out, buf_cstr(&b), 0, 0, p->width);
	}
	for (size_t i = 0; i < g->findings.n; i++) {
		const struct guarded_finding *f = &g->findings.v[i];

		if (!f->title[0] || !strcmp(f->action, "note"))
			continue;
		buf_clear(&b);
		buf_printf(&b, "%s%s: %s.", words_safe(id, sizeof(id), f->id, sizeof(id) - 1),
			   strcmp(f->action, "accept") ? "" : " was accepted",
			   words_safe(safe, sizeof(safe), f->title, 200));
		words_wrap(p->out, buf_cstr(&b), 0, 0, p->width);
	}
	buf_done(&b);
}

void text_lost(const struct text_report *p)
{
	const struct losses *l = &p->s->model->losses;
	bool any = l->unknown || l->late || l->odd || lost_time(p);

	for (unsigned i = 0; i < LOSS_CAUSES; i++)
		any |= l->by_cause[i] > 0;
	text_title(p, "Lost", 4);
	if (any)
		causes(p);
	else
		fputs(p->s->model->facts.complete ? "   nothing was lost\n"
						  : "   nothing in what could be read\n",
		      p->out);
	incomplete(p);
	stack_ends(p);
	guesses(p);
	guarded(p);
	text_unseen(p);
}
