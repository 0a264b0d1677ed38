// SPDX-License-Identifier: MIT
/* A stall in a sentence: who stood still, behind what, and who was in the way. */
#include <inttypes.h>

#include "view/lead.h"
#include "view/words.h"

enum { TEXT = 128 };

void lead_stall(const struct summary *s, const struct stall *st, struct buf *b)
{
	char text[TEXT], doing[TEXT];
	const char *in;

	words_doing(doing, sizeof(doing), st->doing, st->reason);
	buf_printf(b, "%" PRIu32 " of %" PRIu32 " threads ", st->threads, st->all);
	if (st->lock >= s->locks.n)
		buf_printf(b, "were %s", doing);
	else
		buf_printf(b, "stood behind %s",
			   words_lock(text, sizeof(text), &s->locks.v[st->lock], 60));
	if (st->culprit) {
		words_safe(text, sizeof(text), st->culprit->name, 15);
		if (*doing)
			buf_printf(b, ", while %s was %s", text, doing);
		else
			buf_printf(b, ", held by %s", text);
	} else if (st->lock < s->locks.n) {
		buf_printf(b, "; who held it is not known");
	}
	in = words_function(text, sizeof(text), &s->model->names, st->function, 40);
	if (in)
		buf_printf(b, " in %s", in);
}
