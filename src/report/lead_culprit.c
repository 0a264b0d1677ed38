// SPDX-License-Identifier: MIT
/* A culprit in a sentence or two: the lock that it held, what it did, and its victims. */
#include "base/units.h"
#include "report/lead.h"
#include "report/words.h"

enum { TEXT = 128 };

static void say_culprit(const struct summary *s, const struct blame_sum *r, struct buf *b)
{
	const struct doing *one = doings_alone(&r->did);
	char text[TEXT];

	buf_printf(b, "%s%s", r->deadlock ? "Deadlock: " : "",
		   words_thread(text, sizeof(text), r->culprit, 26));
	lead_in(b, s, r->function, r->kstack, r->ustack);
	buf_printf(b, " held %s",
		   r->lock < s->locks.n ? words_lock(text, sizeof(text), &s->locks.v[r->lock], 60)
					: "another lock");
	if (r->first != r->lock && r->first < s->locks.n)
		buf_printf(b, " (which held up threads that wanted %s)",
			   words_lock(text, sizeof(text), &s->locks.v[r->first], 60));
	if (one && *words_holding(text, sizeof(text), one))
		buf_printf(b, ", %s", text);
	if (!one) {
		buf_printf(b, ": ");
		words_did(b, &r->did, "");
	}
	buf_printf(b, ".");
}

static void say_victims(const struct blame_sum *r, struct buf *b)
{
	const struct blame_victim *v = r->victims.n && !r->crowd ? &r->victims.v[0] : NULL;
	char name[TEXT], share[TEXT], time[TEXT];

	if (!v)
		return;
	words_safe(name, sizeof(name), v->thread->name, 15);
	words_percent(share, sizeof(share), v->total, thread_wall(v->thread));
	if (r->victims.n == 1)
		buf_printf(b, " %s waited for that, %s of its time.", name, share);
	else
		buf_printf(b, " %zu threads waited for that, the longest %s: %s, %s of its time.",
			   r->victims.n, name, units_duration(time, sizeof(time), v->total), share);
}

void lead_culprit(const struct summary *s, const struct blame_sum *r, struct buf *b)
{
	say_culprit(s, r, b);
	say_victims(r, b);
}
