// SPDX-License-Identifier: MIT
/* What is missing from a recording, by cause, and whether the file is whole. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "view/page.h"
#include "view/words.h"

enum { TEXT = 64 };

void page_unseen(const struct page *p)
{
	static const struct {
		uint32_t bit;
		const char *words;
	} rows[] = {
#define UNSEEN(bit, UPPER, name, words) {UNSEEN_##UPPER, words},
#include "wire/unseen.def"
	};
	const struct facts *f = &p->s->model->facts;
	struct buf b = {0};
	char name[TEXT];
	uint32_t left = f->unseen;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!(f->unseen & rows[i].bit))
			continue;
		left &= ~rows[i].bit;
		if (!b.len)
			buf_printf(&b, "The %s engine does not see ",
				   words_safe(name, sizeof(name), f->engine, 16));
		else
			buf_printf(&b, "%s", left ? ", " : " and ");
		buf_printf(&b, "%s", rows[i].words);
	}
	if (b.len) {
		buf_printf(&b, ".");
		words_wrap(p->out, buf_cstr(&b), 0, 0, p->width);
	}
	buf_done(&b);
}

static void incomplete(const struct page *p)
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
		page_tint(p, "31");
		words_wrap(p->out, buf_cstr(&b), 0, 0, p->width);
		page_tint(p, "0");
	}
	if (!f->has_symbols && p->s->functions.n + p->s->waits.n)
		words_wrap(p->out,
			   "The capture holds no symbols: functions are shown as places in "
			   "their files.",
			   0, 0, p->width);
	if (*f->not_followed) {
		buf_clear(&b);
		buf_printf(&b,
			   "Programs that could not be followed, being static, or having other "
			   "rights or another machine: %s.",
			   f->not_followed);
		words_wrap(p->out, buf_cstr(&b), 0, 0, p->width);
	}
	buf_done(&b);
}

static void row(const struct page *p, uint64_t n, const char *words)
{
	char count[TEXT];

	if (n)
		fprintf(p->out, "  %7s  %s\n", units_count(count, sizeof(count), n), words);
}

/* What an engine cannot see is not lost: the threads' table tells of it. */
static uint64_t lost_time(const struct page *p)
{
	return p->s->model->facts.has_switches ? p->s->total[INTERVAL_LOST] : 0;
}

static void causes(const struct page *p)
{
	const struct losses *l = &p->s->model->losses;
	uint64_t lost = lost_time(p);
	char time[TEXT];

	putc('\n', p->out);
	for (unsigned i = 0; i < LOSS_CAUSES; i++)
		row(p, l->by_cause[i], loss_words(i));
	row(p, l->unknown, loss_words(LOSS_CAUSES));
	row(p, l->late, "events out of order, used as well as they could be");
	row(p, l->odd, "switches that must have happened are not in the record");
	if (lost)
		fprintf(p->out, "  %7s  of the threads' time, in all\n",
			units_duration(time, sizeof(time), lost));
}

/* Only when it matters: a stack in a hundred that ends too early. */
static void stack_ends(const struct page *p)
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

/* Why there is less in it than there could be, by the guard's findings. */
static void guarded(const struct page *p)
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

void page_lost(const struct page *p)
{
	const struct losses *l = &p->s->model->losses;
	bool any = l->unknown || l->late || l->odd || lost_time(p);

	for (unsigned i = 0; i < LOSS_CAUSES; i++)
		any |= l->by_cause[i] > 0;
	page_title(p, "Lost", 4);
	if (any)
		causes(p);
	else
		fputs(p->s->model->facts.complete ? "   nothing was lost\n"
						  : "   nothing in what could be read\n",
		      p->out);
	incomplete(p);
	stack_ends(p);
	guarded(p);
	page_unseen(p);
}
