// SPDX-License-Identifier: MIT
/* The first sentences: what changed most, and whether anything else did. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "diff/shown.h"
#include "export/export.h"
#include "report/words.h"

enum { TEXT = 128 };

const char *diff_value(char *out, size_t room, const struct diff *d, double ns)
{
	char time[32];

	if (d->opts.per == DIFF_PER_CPU)
		snprintf(out, room, "%.*f%%", ns < 1e8 ? 2 : 1, ns / 1e7);
	else
		snprintf(out, room, "%s%s",
			 units_duration(time, sizeof(time), (uint64_t)(ns + 0.5)),
			 d->opts.per == DIFF_PER_WALL ? "/s" : "");
	return out;
}

const char *diff_percent(char *out, size_t room, const struct diff_row *r)
{
	double change = r->r.before > 0 ? 100 * (r->r.after / r->r.before - 1) : 0;

	if (!(r->r.before > 0))
		snprintf(out, room, "new");
	else if (!(r->r.after > 0))
		snprintf(out, room, "gone");
	else if (change >= 999.5)
		snprintf(out, room, "x%.*f", change < 9900 ? 1 : 0, r->r.after / r->r.before);
	else
		snprintf(out, room, "%+.*f%%", fabs(change) < 99.95 ? 1 : 0, change);
	return out;
}

/* "3.50s instead of 3.33s" */
static void put_values(const struct diff *d, const struct diff_row *r, struct buf *b)
{
	char one[TEXT], other[TEXT];

	diff_value(one, sizeof(one), d, r->r.after);
	diff_value(other, sizeof(other), d, r->r.before);
	if (!(r->r.before > 0))
		buf_printf(b, "%s instead of none", one);
	else if (!(r->r.after > 0))
		buf_printf(b, "none instead of %s", other);
	else
		buf_printf(b, "%s instead of %s", one, other);
}

/* "5.1% more", "20% less", "12 times as much"; "more", if there was none */
static void put_change(const struct diff_row *r, struct buf *b)
{
	bool more = r->r.after > r->r.before;
	double part = r->r.before > 0 ? fabs(r->r.after / r->r.before - 1) : 0;

	if (!(r->r.before > 0))
		buf_printf(b, "more");
	else if (part >= 9.995)
		buf_printf(b, "%.0f times as much", part + 1);
	else
		buf_printf(b, "%.*f%% %s", part < 0.0995 ? 1 : 0, part * 100,
			   more ? "more" : "less");
}

static void put_row(const struct diff *d, const struct diff_row *r, struct buf *b)
{
	const struct diff_item *it = diff_item_of(r);
	const char *last = strrchr(it->name, '>');
	char name[TEXT], doing[TEXT];

	if ((r->kind == DIFF_SELF || r->kind == DIFF_TOTAL) && it->name[0] == '[')
		snprintf(name, sizeof(name), "Code without a symbol in %s",
			 words_safe(doing, sizeof(doing), it->where, 40));
	else
		words_safe(name, sizeof(name), r->kind == DIFF_WAIT && last ? last + 2 : it->name,
			   60);
	switch (r->kind) {
	case DIFF_SELF:
	case DIFF_TOTAL:
		buf_printf(b, "%s%s took ", name,
			   r->kind == DIFF_TOTAL ? ", with what it calls," : "");
		put_change(r, b);
		buf_printf(b, " CPU time: ");
		break;
	case DIFF_WAIT:
		buf_printf(b, "Threads spent ");
		put_change(r, b);
		buf_printf(b, " time %s",
			   words_doing(doing, sizeof(doing),
				       it->reason == REASON_RUN_QUEUE ? INTERVAL_RUNNABLE
								      : INTERVAL_WAITING,
				       it->reason));
		if (*name)
			buf_printf(b, " in %s", name);
		buf_printf(b, ": ");
		break;
	default:
		buf_printf(b, "Threads spent ");
		put_change(r, b);
		buf_printf(b, " time waiting for %s: ", name);
	}
	put_values(d, r, b);
	buf_printf(b, ".");
}

static bool is_better(const struct diff_row *r, const struct diff_row *best)
{
	/* A caller's change is explained by its callees, and idle waits cost nothing. */
	bool weak = r->kind == DIFF_TOTAL || diff_item_of(r)->idle;
	bool best_weak = best && (best->kind == DIFF_TOTAL || diff_item_of(best)->idle);
	double change = fabs(r->r.after - r->r.before);

	if (!best || weak != best_weak)
		return !best || best_weak;
	/* A lock says more than the wait for it. */
	if (r->kind == DIFF_LOCK && best->kind == DIFF_WAIT &&
	    reason_has(diff_item_of(best)->reason, TRAIT_LOCK))
		change *= 2;
	return change > fabs(best->r.after - best->r.before);
}

const struct diff_row *diff_first(const struct diff *d)
{
	const struct diff_row *best = NULL;

	for (size_t i = 0; i < d->rows.n; i++)
		if (d->rows.v[i].different && is_better(&d->rows.v[i], best))
			best = &d->rows.v[i];
	return best;
}

/* If everything took longer, no single row can tell. */
static void put_pace(const struct diff *d, struct buf *b)
{
	double part = d->pace.ratio - 1;

	if (d->opts.per != DIFF_PER_PACE || !d->pace.differs)
		return;
	buf_printf(b, " %s took %.*f%% %s CPU time%s.",
		   d->pace.functions ? "Most functions" : "All of it", fabs(part) < 0.0995 ? 1 : 0,
		   fabs(part) * 100, part > 0 ? "more" : "less",
		   d->pace.functions
			   ? ": the machine ran at another pace, or every function changed"
			   : "; whether the machine ran at another pace is not known");
}

static const char *tested(const struct diff *d)
{
	return !d->waits       ? "functions"
	       : !d->functions ? d->locks ? "waits and locks" : "waits"
	       : d->locks      ? "functions, waits and locks"
			       : "functions and waits";
}

/* A function's own time is in its total. */
static bool is_same(const struct diff_row *r, const struct diff_row *first)
{
	const struct diff_item *a = diff_item_of(r), *b = diff_item_of(first);

	return r == first || (r->kind == DIFF_TOTAL && first->kind == DIFF_SELF &&
			      !strcmp(a->name, b->name) && !strcmp(a->where, b->where));
}

void diff_lead(const struct diff *d, struct buf *b)
{
	const struct diff_row *first = diff_first(d);
	size_t others[DIFF_KINDS] = {0}, n;
	bool stuck = diff_stuck_lead(d, b);

	/* Stuck threads do less of everything else: that is no news. */
	if (stuck && (!first || first->r.after < first->r.before))
		return;
	buf_printf(b, "%s", stuck ? " " : "");
	if (!d->tested) {
		buf_printf(b, "Nothing to compare: there are no %s with enough time in them.",
			   tested(d));
		return;
	}
	if (!first) {
		buf_printf(b, "No difference at %g%%: chance explains what has changed in %zu %s.",
			   d->opts.alpha * 100, d->tested, tested(d));
		put_pace(d, b);
		return;
	}
	put_row(d, first, b);
	for (size_t i = 0; i < d->rows.n; i++)
		if (d->rows.v[i].different && !is_same(&d->rows.v[i], first))
			others[d->rows.v[i].kind]++;
	n = others[DIFF_SELF] + others[DIFF_WAIT] + others[DIFF_LOCK];
	if (others[DIFF_TOTAL] && first->kind == DIFF_SELF)
		buf_printf(b, " %zu more function%s only by what %s.", others[DIFF_TOTAL],
			   others[DIFF_TOTAL] > 1 ? "s differ" : " differs",
			   others[DIFF_TOTAL] > 1 ? "they call" : "it calls");
	if (n)
		buf_printf(b, " Of %zu other %s, %zu differ%s at %g%%.", d->tested - 1, tested(d),
			   n, n == 1 ? "s" : "", d->opts.alpha * 100);
	else
		buf_printf(b, " No other of %zu %s differs at %g%%.", d->tested, tested(d),
			   d->opts.alpha * 100);
	put_pace(d, b);
}
