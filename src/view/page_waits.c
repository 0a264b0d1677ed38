// SPDX-License-Identifier: MIT
/*
 * Where threads waited longest, by place. What a thread chose itself (a timer, the end of another
 * thread) comes behind what it had to bear. Waiting for work is no trouble and is summed up in one
 * line; so is what has no stack.
 */
#include <string.h>

#include "base/units.h"
#include "view/page.h"
#include "view/words.h"
#include "wire/step.h"

enum { TOP_WAITS = 3, FOR_WIDE = 12, TEXT = 64 };

struct rest {
	uint64_t total, count;
};

static void leave_out(struct rest *r, const struct wait_place *w)
{
	r->total += w->total;
	r->count += w->count;
}

static bool chosen(enum reason r)
{
	return r == REASON_SLEEP || r == REASON_JOIN || r == REASON_CHILD || r == REASON_SIGNAL;
}

static void row(const struct page *p, const struct wait_place *w)
{
	char total[TEXT], count[TEXT], max[TEXT], at[TEXT], who[TEXT] = "", path[160], lock[TEXT];
	const struct summary *s = p->s;
	bool named = w->lock < s->locks.n && s->locks.v[w->lock].named;

	if (w->wakers.n)
		words_waker(who, sizeof(who), &w->wakers.v[0], 28);
	else if (w->open == w->count)
		snprintf(who, sizeof(who), "nobody so far");
	fprintf(p->out, "  %-*s %7s %6s %8s  %-12s  %s\n", FOR_WIDE, reason_label(w->reason),
		units_duration(total, sizeof(total), w->total),
		units_count(count, sizeof(count), w->count),
		units_duration(max, sizeof(max), w->max),
		words_clock(at, sizeof(at), s->model, w->max_start), who);
	if (named)
		words_safe(lock, sizeof(lock), s->locks.v[w->lock].name, 28);
	fprintf(p->out, "    %s%s%s%s\n",
		words_path(path, sizeof(path), &s->model->names, w->kstack, w->ustack,
			   named ? 73 - strlen(lock) : 76),
		named ? " (" : "", named ? lock : "", named ? ")" : "");
}

static void rest_row(const struct page *p, const char *label, const struct rest *r,
		     const char *words)
{
	char total[TEXT], count[TEXT];

	if (r->count)
		fprintf(p->out, "  %-*s %7s %6s  %s\n", FOR_WIDE, label,
			units_duration(total, sizeof(total), r->total),
			units_count(count, sizeof(count), r->count), words);
}

void page_waits(const struct page *p)
{
	const struct summary *s = p->s;
	struct rest idle = {0}, rest = {0};
	size_t busy = 0, n, left;

	while (busy < s->waits.n && !reason_is_idle(s->waits.v[busy].reason))
		busy++;
	left = n = page_rows(p, busy, TOP_WAITS);
	page_title(p, "Longest waits", 2 + FOR_WIDE);
	fprintf(p->out, " %7s %6s %8s  %-12s  %s\n", "total", "times", "longest", "at",
		"mostly woken by");
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < busy; i++) {
			if (chosen(s->waits.v[i].reason) != (pass > 0))
				continue;
			if (left) {
				row(p, &s->waits.v[i]);
				left--;
			} else {
				leave_out(&rest, &s->waits.v[i]);
			}
		}
	}
	for (size_t i = busy; i < s->waits.n; i++)
		leave_out(&idle, &s->waits.v[i]);
	for (unsigned r = 0; r < REASONS; r++)
		leave_out(reason_is_idle(r) ? &idle : &rest, &s->placeless[r]);
	rest_row(p, n ? "others" : "all", &rest, "elsewhere, in short waits, or without an end");
	rest_row(p, "idle", &idle, "by design: waiting for work");
	if (!n && !rest.count && !idle.count)
		fputs("  none\n", p->out);
	page_until(p, STEP_WAIT_STACKS, "stacks of waits");
}
