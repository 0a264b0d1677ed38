// SPDX-License-Identifier: MIT
/* A stall in a sentence: which threads stood still, behind what, and because of whom. */
#include <inttypes.h>

#include "report/lead.h"
#include "report/words.h"

enum { TEXT = 128 };

/* ", while X was waiting for the disk in f"; of several things ", held by X in f: 51% ...". */
static void say_culprit(const struct summary *s, const struct stall *st, struct buf *b)
{
	const struct doing *one = doings_alone(&st->did);
	char name[TEXT], doing[TEXT] = "";

	words_safe(name, sizeof(name), st->culprit->name, 15);
	if (one)
		words_holding(doing, sizeof(doing), one);
	if (*doing)
		buf_printf(b, ", while %s was %s", name, doing);
	else
		buf_printf(b, ", held by %s", name);
	lead_in(b, s, st->function, st->kstack, st->ustack);
	if (!*doing)
		lead_did(b, "", &st->did);
}

void lead_stall(const struct summary *s, const struct stall *st, struct buf *b)
{
	char text[TEXT];

	if (st->circle) {
		lead_circle(s, st->circle, b);
		return;
	}
	buf_printf(b, "%" PRIu32 " threads ", st->threads);
	if (st->lock >= s->locks.n)
		buf_printf(b, "were %s", words_doing(text, sizeof(text), st->doing, st->reason));
	else
		buf_printf(b, "stood behind %s",
			   words_lock(text, sizeof(text), &s->locks.v[st->lock], 60));
	if (st->culprit) {
		say_culprit(s, st, b);
		return;
	}
	if (st->lock < s->locks.n)
		buf_printf(b, "; who held it is not known");
	lead_in(b, s, st->function, st->kstack, st->ustack);
}
