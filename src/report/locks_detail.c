// SPDX-License-Identifier: MIT
/* One lock in detail: how long its waits took, who waited where, and who held it meanwhile. */
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "model/summary/parts.h"
#include "report/locks.h"
#include "report/text.h"
#include "report/words.h"

enum { TOP_THREADS = 3, BAR = 40, WHO = 26, TEXT = 64, PATH = 640 };

struct detail {
	const struct summary *s;
	const struct lock_sum *l;
	FILE *out;
	size_t width;
};

static const char *safe(char *out, size_t room, const char *name)
{
	return words_safe(out, room, name, 60);
}

static void title(const struct detail *d, bool colour)
{
	const struct lock_sum *l = d->l;
	struct text_report p = {.out = d->out, .colour = colour};
	char name[TEXT];

	text_title(&p, safe(name, sizeof(name), l->name), 0);
	fprintf(d->out, "   %s", lock_kind_words(l->kind));
	if (l->inferred)
		fputs(", inferred from stacks", d->out);
	else
		fprintf(d->out, " at 0x%" PRIx64, l->address);
	if (l->pid)
		fprintf(d->out, " in process %" PRIu32, l->pid);
	if (l->shared)
		fputs(", shared between processes", d->out);
	if (l->life > 1)
		fprintf(d->out, ", number %" PRIu32 " at this address", l->life);
	putc('\n', d->out);
}

static void sums(const struct detail *d)
{
	const struct lock_sum *l = d->l;
	char total[TEXT], p50[TEXT], p99[TEXT], max[TEXT], at[TEXT], who[TEXT];
	struct buf b = {0};

	buf_printf(&b, "%" PRIu64 " wait%s of %zu thread%s, %s in all", l->count,
		   l->count == 1 ? "" : "s", l->waiters.n, l->waiters.n == 1 ? "" : "s",
		   units_duration(total, sizeof(total), l->total));
	if (l->count > 1)
		buf_printf(&b, ": half took up to %s, 99 of 100 up to %s",
			   units_duration(p50, sizeof(p50), l->p50),
			   units_duration(p99, sizeof(p99), l->p99));
	buf_printf(&b, ", the longest %s at %s", units_duration(max, sizeof(max), l->max),
		   words_moment(at, sizeof(at), d->s->model, l->max_start));
	if (l->max_thread)
		buf_printf(&b, " by %s", words_thread(who, sizeof(who), l->max_thread, WHO));
	buf_printf(&b, ".");
	if (l->failed)
		buf_printf(&b, " %" PRIu64 " gave up.", l->failed);
	if (l->open)
		buf_printf(&b, " %" PRIu64 " had not ended.", l->open);
	fputs("  ", d->out);
	words_wrap(d->out, buf_cstr(&b), 2, 2, d->width);
	buf_done(&b);
}

/* A row for each power of two that has waits. */
static void histogram(const struct detail *d)
{
	const uint32_t *h = d->l->histogram;
	uint64_t most = 0, rows[HIST_BUCKETS / 2] = {0};
	char from[TEXT], to[TEXT], count[TEXT], bar[BAR + 1];

	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		rows[i / 2] += h[i];
		most = rows[i / 2] > most ? rows[i / 2] : most;
	}
	if (!most)
		return;
	fputs("  How long\n", d->out);
	for (unsigned i = 0; i < HIST_BUCKETS / 2; i++) {
		size_t n = (size_t)(rows[i] * BAR / most);

		if (!rows[i])
			continue;
		n = n ? n : 1;
		memset(bar, '#', n);
		bar[n] = '\0';
		fprintf(d->out, "    %6s to %6s %6s  %s\n",
			units_duration(from, sizeof(from), hist_from(2 * i)),
			units_duration(to, sizeof(to), hist_from(2 * i + 2)),
			units_count(count, sizeof(count), rows[i]), bar);
	}
}

/* "    LABEL root > ... > leaf", or nothing without a stack. */
static void locks_detail_place(const struct detail *d, const char *label, uint32_t kstack,
			       uint32_t ustack)
{
	struct names *names = &d->s->model->names;
	uint32_t function = where_function(names, kstack, ustack);
	char path[PATH], site[TEXT], name[TEXT];
	size_t len;
	int n;

	if (!*words_path(path, sizeof(path), names, kstack, ustack, sizeof(path) - 2 * TEXT))
		return;
	len = strlen(path);
	if (*words_site(site, sizeof(site), names, function, kstack, ustack))
		snprintf(path + len, sizeof(path) - len, " (%s: %s)",
			 words_function(name, sizeof(name), names, function, 40), site);
	n = fprintf(d->out, "      %s ", label);
	words_wrap(d->out, path, (size_t)n, 8, d->width);
}

static void waiters(const struct detail *d)
{
	const struct lock_sum *l = d->l;
	char who[TEXT], total[TEXT], count[TEXT], max[TEXT];
	uint64_t rest = 0;

	fprintf(d->out, "  %-*s   %7s %6s %8s\n", WHO, "Who waited", "total", "waits", "longest");
	for (size_t i = 0; i < l->waiters.n && i < TOP_THREADS; i++) {
		const struct lock_waiter *w = &l->waiters.v[i];

		fprintf(d->out, "    %-*s %7s %6s %8s\n", WHO,
			words_thread(who, sizeof(who), w->thread, WHO),
			units_duration(total, sizeof(total), w->total),
			units_count(count, sizeof(count), w->count),
			units_duration(max, sizeof(max), w->max));
		locks_detail_place(d, "in", w->kstack, w->ustack);
	}
	for (size_t i = TOP_THREADS; i < l->waiters.n; i++)
		rest += l->waiters.v[i].total;
	if (l->waiters.n > TOP_THREADS)
		fprintf(d->out, "    and %zu more, %s in all\n", l->waiters.n - TOP_THREADS,
			units_duration(total, sizeof(total), rest));
}

static const char *held_words(enum held_by by)
{
	return by == HELD_BY_SAMPLE ? "ran in" : by == HELD_BY_WAIT ? "waited in" : "let go in";
}

static void holders(const struct detail *d)
{
	const struct lock_sum *l = d->l;
	char who[TEXT] = "not known", total[TEXT], count[TEXT];
	struct buf did = {0};
	uint64_t rest = 0;

	if (!l->contended)
		return;
	if (!l->holders.n) {
		fputs("  Who held it is not known.\n", d->out);
		return;
	}
	fprintf(d->out, "  %-*s   %7s %6s  %s\n", WHO, "Who held it", "cost", "waits",
		"what it did");
	for (size_t i = 0; i < l->holders.n && i < TOP_THREADS; i++) {
		const struct lock_holder *h = &l->holders.v[i];

		if (h->thread)
			words_thread(who, sizeof(who), h->thread, WHO);
		else
			snprintf(who, sizeof(who), "not known");
		fprintf(d->out, "    %-*s %7s %6s  ", WHO, who,
			units_duration(total, sizeof(total), h->blamed),
			units_count(count, sizeof(count), h->count));
		buf_clear(&did);
		if (h->thread)
			words_did(&did, &h->did, "");
		words_wrap(d->out, buf_cstr(&did), WHO + 21, WHO + 21, d->width);
		locks_detail_place(d, held_words(h->by), h->kstack, h->ustack);
		if (h->by != HELD_BY_RELEASE)
			locks_detail_place(d, "let go in", h->release_kstack, h->release_ustack);
	}
	for (size_t i = TOP_THREADS; i < l->holders.n; i++)
		rest += l->holders.v[i].blamed;
	if (l->holders.n > TOP_THREADS)
		fprintf(d->out, "    and %zu more, %s in all\n", l->holders.n - TOP_THREADS,
			units_duration(total, sizeof(total), rest));
	buf_done(&did);
}

void locks_detail(const struct summary *s, const struct locks_opts *o, const struct lock_sum *l,
		  FILE *out)
{
	struct detail d = {.s = s, .l = l, .out = out, .width = o->width ? o->width : WORDS_WIDTH};

	title(&d, o->colour);
	sums(&d);
	histogram(&d);
	waiters(&d);
	holders(&d);
}
