// SPDX-License-Identifier: MIT
/*
 * Where threads waited longest, by place. Waits that a thread chose (a timer, the end of another
 * thread) fill the room that imposed waits leave. Waits for work are no trouble and become one
 * line; so do waits without a stack.
 */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "report/text.h"
#include "report/words.h"
#include "wire/step.h"

enum { TOP_WAITS = 3, FOR_WIDE = 12, PATH_WIDE = 76, JOINED_MOST = 64, TEXT = 64 };

struct rest {
	uint64_t total, count, open;
};

static void leave_out(struct rest *r, const struct wait_place *w)
{
	r->total += w->total;
	r->count += w->count;
	r->open += w->open;
}

static bool chosen(enum reason r)
{
	return reason_has(r, TRAIT_CHOSEN);
}

/* For which file, where that is known. */
static void text_waits_file(const struct text_report *p, const struct wait_place *w)
{
	char text[160];

	if (w->file)
		fprintf(p->out, "    for %s%s\n", words_file(text, sizeof(text), w->file, 50),
			w->more_files ? " and others" : "");
}

static void text_waits_row(const struct text_report *p, const struct wait_place *w)
{
	char total[TEXT], count[TEXT], max[TEXT], at[TEXT], who[TEXT] = "", path[160], lock[TEXT];
	const struct summary *s = p->s;
	bool named = w->lock < s->locks.n && s->locks.v[w->lock].named;

	if (w->wakers.n)
		words_waker(who, sizeof(who), &w->wakers.v[0], 18);
	else if (w->open)
		snprintf(who, sizeof(who), "nobody");
	fprintf(p->out, "  %-*s %7s %6s %8s  %-20s  %s\n", FOR_WIDE, reason_label(w->reason),
		units_duration(total, sizeof(total), w->total),
		units_count(count, sizeof(count), w->count),
		units_duration(max, sizeof(max), w->max),
		words_moment_short(at, sizeof(at), s->model, w->max_start), who);
	if (named)
		words_safe(lock, sizeof(lock), s->locks.v[w->lock].name, 28);
	fprintf(p->out, "    %s%s%s%s\n",
		words_path(path, sizeof(path), &s->model->names, w->kstack, w->ustack,
			   named ? PATH_WIDE - 3 - strlen(lock) : PATH_WIDE),
		named ? " (" : "", named ? lock : "", named ? ")" : "");
	text_waits_file(p, w);
}

static void rest_row(const struct text_report *p, const char *label, const struct rest *r,
		     const char *words)
{
	char total[TEXT], count[TEXT];

	if (r->count)
		fprintf(p->out, "  %-*s %7s %6s  %s\n", FOR_WIDE, label,
			units_duration(total, sizeof(total), r->total),
			units_count(count, sizeof(count), r->count), words);
}

/*
 * Stacks of short waits are not taken (--min-wait), and those of waits that do not end cannot
 * be.
 */
static const char *why_no_stack(char *out, size_t room, const struct rest *r)
{
	char n[TEXT / 2];

	if (r->open)
		snprintf(out, room, "%s of them had not ended",
			 r->open == r->count ? "all" : units_count(n, sizeof(n), r->open));
	else if (r->count && r->total / r->count < NSEC_PER_MSEC)
		snprintf(out, room, "most of them were too short for one");
	else
		snprintf(out, room, "none was taken");
	return out;
}

static const char *place_path(const struct text_report *p, const struct wait_place *w, char *out,
			      size_t room)
{
	return words_path(out, room, &p->s->model->names, w->kstack, w->ustack, PATH_WIDE);
}

static void join_place(struct wait_place *into, const struct wait_place *w)
{
	into->total += w->total;
	into->count += w->count;
	into->open += w->open;
	into->more_files |= into->file != w->file;
	if (w->max > into->max) {
		into->max = w->max;
		into->max_start = w->max_start;
	}
}

/*
 * Places that differ only inside the kernel are one row here; returns how many rows are left. Looks
 * only at the longest waits, since only they are shown.
 */
static size_t join_alike(const struct text_report *p, struct wait_place *v, size_t n)
{
	char paths[JOINED_MOST][160];
	size_t look = n < JOINED_MOST ? n : JOINED_MOST, kept = 0;

	for (size_t i = 0; i < look; i++) {
		size_t at = 0;

		place_path(p, &v[i], paths[kept], sizeof(paths[kept]));
		while (at < kept && (v[at].reason != v[i].reason || v[at].lock != v[i].lock ||
				     v[at].own != v[i].own || strcmp(paths[at], paths[kept])))
			at++;
		if (at < kept)
			join_place(&v[at], &v[i]);
		else
			v[kept++] = v[i];
	}
	for (size_t i = 1; i < kept; i++)
		for (size_t k = i; k && v[k - 1].total < v[k].total; k--) {
			struct wait_place w = v[k];

			v[k] = v[k - 1];
			v[k - 1] = w;
		}
	memmove(&v[kept], &v[look], (n - look) * sizeof(*v));
	return kept + n - look;
}

/*
 * By total: imposed waits first, then chosen ones, as far as there is room. --top takes the longest
 * of both.
 */
static void pick(const struct text_report *p, const struct wait_place *v, size_t busy, bool *picked)
{
	size_t left = text_rows(p, busy, TOP_WAITS);

	for (int pass = p->top ? 2 : 0; pass < (p->top ? 3 : 2); pass++)
		for (size_t i = 0; i < busy && left; i++) {
			if (v[i].own || (pass < 2 && chosen(v[i].reason) != (pass > 0)))
				continue;
			picked[i] = true;
			left--;
		}
}

void text_waits(const struct text_report *p)
{
	const struct summary *s = p->s;
	struct rest idle = {0}, rest = {0}, own = {0}, placeless = {0}, thaw = {0};
	size_t all = 0, busy, places = 0;
	struct wait_place *v;
	bool *picked;
	char words[TEXT];

	while (all < s->waits.n && !reason_is_idle(s->waits.v[all].reason))
		all++;
	v = mem_alloc((all + 1) * sizeof(*v));
	if (all)
		memcpy(v, s->waits.v, all * sizeof(*v));
	busy = p->top ? all : join_alike(p, v, all);
	picked = mem_zalloc(busy + 1);
	text_title(p, "Longest waits", 2 + FOR_WIDE);
	fprintf(p->out, " %7s %6s %8s  %-20s  %s\n", "total", "times", "longest", "at",
		"mostly woken by");
	pick(p, v, busy, picked);
	for (size_t i = 0; i < busy; i++) {
		const struct wait_place *w = &v[i];

		if (picked[i])
			text_waits_row(p, w);
		else
			leave_out(w->own ? &thaw : chosen(w->reason) ? &own : &rest, w);
		places += !picked[i] && !w->own && !chosen(w->reason);
	}
	for (size_t i = all; i < s->waits.n; i++)
		leave_out(&idle, &s->waits.v[i]);
	for (unsigned r = 0; r < REASONS; r++)
		leave_out(reason_is_idle(r) ? &idle : &placeless, &s->placeless[r]);
	snprintf(words, sizeof(words), "in %zu more place%s (--top shows them)", places,
		 places == 1 ? "" : "s");
	rest_row(p, "others", &rest, words);
	rest_row(p, "own choice", &own, "timers, and ends of threads and children");
	rest_row(p, "no stack", &placeless, why_no_stack(words, sizeof(words), &placeless));
	rest_row(p, "thaw's own", &thaw, "thaw itself, and its command before it ran");
	rest_row(p, "idle", &idle, "waits for work, as it seems (thaw help idle)");
	if (!busy && !placeless.count && !idle.count)
		fputs("  none\n", p->out);
	text_until(p, STEP_WAIT_STACKS, "stacks of waits");
	free(picked);
	free(v);
}
