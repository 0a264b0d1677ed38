// SPDX-License-Identifier: MIT
/* Which locks to show, and the table of them. */
#include "report/locks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/sort.h"
#include "base/units.h"
#include "report/json_parts.h"
#include "report/lead.h"
#include "report/text.h"
#include "report/words.h"

enum { TOP_LOCKS = 10, TEXT = 128 };

static const char *const order_words[] = {
	[LOCKS_BY_TOTAL] = "total",
	[LOCKS_BY_MAX] = "max",
	[LOCKS_BY_WAITS] = "waits",
};

const char *locks_order_word(size_t i)
{
	return i < ARRAY_LEN(order_words) ? order_words[i] : NULL;
}

int locks_order_parse(const char *word, enum locks_order *ret)
{
	for (unsigned i = 0; i < ARRAY_LEN(order_words); i++) {
		if (strcmp(order_words[i], word))
			continue;
		*ret = i;
		return 0;
	}
	return err_set(-EINVAL, "--sort: '%s' is none of total, max and waits", word);
}

/* ---- which ---- */

/* How well a lock fits what was asked for: 2 its name or address, 1 a part of its name, 0 not. */
static int fit(const struct lock_sum *l, const char *asked)
{
	char *end;
	uint64_t address;

	if (!strcmp(l->name, asked))
		return 2;
	if (!strncmp(asked, "0x", 2)) {
		address = strtoull(asked, &end, 16);
		if (!*end)
			return !l->inferred && l->address == address ? 2 : 0;
	}
	return strstr(l->name, asked) != NULL;
}

static bool locks_wanted(const struct lock_sum *l, const struct locks_opts *o, int best)
{
	if (o->kind && strcmp(o->kind, lock_kind_name(l->kind)))
		return false;
	if (o->lock)
		return fit(l, o->lock) == best;
	return o->signals || o->kind || l->contended;
}

static uint64_t locks_weight(const struct lock_sum *l, enum locks_order order)
{
	switch (order) {
	case LOCKS_BY_MAX:
		return l->max;
	case LOCKS_BY_WAITS:
		return l->count;
	case LOCKS_BY_TOTAL:
		break;
	}
	return l->total;
}

/* Ties keep the summary's order, which is total. */
static int by_weight(const void *pa, const void *pb, void *order)
{
	const struct lock_sum *a = *(const struct lock_sum *const *)pa;
	const struct lock_sum *b = *(const struct lock_sum *const *)pb;
	uint64_t wa = locks_weight(a, *(enum locks_order *)order);
	uint64_t wb = locks_weight(b, *(enum locks_order *)order);

	if (wa != wb)
		return wa < wb ? 1 : -1;
	return (a > b) - (a < b);
}

int locks_pick(const struct summary *s, const struct locks_opts *o, lock_list *ret)
{
	enum locks_order order = o->order;
	lock_list picked = {0};
	int best = 0;

	for (size_t i = 0; i < s->locks.n && o->lock; i++)
		if (fit(&s->locks.v[i], o->lock) > best)
			best = fit(&s->locks.v[i], o->lock);
	if (o->lock && !best)
		return err_set(-ENOENT,
			       "nobody waited for a lock '%s'; thaw locks lists those that "
			       "there are",
			       o->lock);
	for (size_t i = 0; i < s->locks.n; i++)
		if (locks_wanted(&s->locks.v[i], o, best))
			vec_push(&picked, &s->locks.v[i]);
	sort_with(picked.v, picked.n, sizeof(*picked.v), by_weight, &order);
	*ret = picked;
	return 0;
}

/* ---- the table ---- */

struct lock_columns {
	size_t name, kind, holder;
};

static const char *locks_holder(const struct lock_sum *l)
{
	if (!l->contended)
		return "-";
	return words_main_holder(l) ? words_main_holder(l)->name : "not known";
}

static const char *kind(const struct lock_sum *l)
{
	return l->inferred ? "inferred" : lock_kind_name(l->kind);
}

/* Fits columns to their contents, then to the terminal: the holder shrinks before the name. */
static struct lock_columns measure(const struct text_report *p, const lock_list *picked, size_t n)
{
	/* The least widths fit the last column's title, and "k.." beside the longest kind. */
	size_t fixed = 43, least = 14, name_least = 7, left;
	struct lock_columns c = {.name = 5, .kind = 4, .holder = 14};

	for (size_t i = 0; i < n; i++) {
		const struct lock_sum *l = picked->v[i];

		c.name = strlen(l->name) > c.name ? strlen(l->name) : c.name;
		c.kind = strlen(kind(l)) > c.kind ? strlen(kind(l)) : c.kind;
		c.holder = strlen(locks_holder(l)) > c.holder ? strlen(locks_holder(l)) : c.holder;
	}
	left = least + name_least;
	if (p->width > fixed + c.kind + left)
		left = p->width - fixed - c.kind;
	if (c.name + c.holder <= left)
		return c;
	if (c.holder > 15)
		c.holder = 15;
	if (c.name + c.holder > left && c.holder > least)
		c.holder = left > c.name + least ? left - c.name : least;
	if (c.name + c.holder > left)
		c.name = left - c.holder;
	return c;
}

static void table_row(const struct text_report *p, const struct lock_columns *c,
		      const struct lock_sum *l)
{
	char name[TEXT], held[TEXT], waits[16], total[16], max[16], p50[16], p99[16], who[16];

	fprintf(p->out, "  %-*s %-*s %5s %6s %6s %6s %6s %3s  %s\n", (int)c->name,
		words_safe(name, sizeof(name), l->name, c->name), (int)c->kind, kind(l),
		units_count(waits, sizeof(waits), l->count),
		units_duration(total, sizeof(total), l->total),
		units_duration(max, sizeof(max), l->max), units_duration(p50, sizeof(p50), l->p50),
		units_duration(p99, sizeof(p99), l->p99),
		units_count(who, sizeof(who), l->waiters.n),
		words_safe(held, sizeof(held), locks_holder(l), c->holder));
}

static void view_locks_table(const struct text_report *p, const lock_list *picked, size_t n)
{
	struct lock_columns c = measure(p, picked, n);
	uint64_t rest = 0;
	char time[16];

	text_title(p, "Locks", (int)(2 + c.name));
	fprintf(p->out, " %-*s waits  total    max    p50    p99 thr  mostly held by\n",
		(int)c.kind, "kind");
	for (size_t i = 0; i < n; i++)
		table_row(p, &c, picked->v[i]);
	for (size_t i = n; i < picked->n; i++)
		rest += picked->v[i]->total;
	if (n < picked->n)
		fprintf(p->out, "  and %zu more, %s in all (--top shows them)\n", picked->n - n,
			units_duration(time, sizeof(time), rest));
}

static struct text_report text_report_of(const struct summary *s, const struct locks_opts *o,
					 FILE *out)
{
	return (struct text_report){.s = s,
				    .out = out,
				    .colour = o->colour,
				    .width = o->width ? o->width : WORDS_WIDTH,
				    .top = o->top};
}

void locks_table(const struct summary *s, const struct locks_opts *o, const lock_list *picked,
		 size_t lines, FILE *out)
{
	struct text_report p = text_report_of(s, o, out);
	size_t n = text_rows(&p, picked->n, lines > 3 ? lines - 3 : 1);

	view_locks_table(&p, picked, lines > 3 && n > lines - 3 ? lines - 3 : n);
}

static void not_told(const struct text_report *p)
{
	char name[TEXT];
	struct buf b = {0};

	if (p->s->model->facts.unseen & UNSEEN_LOCKS) {
		buf_printf(&b,
			   "The %s engine does not see locks%s. Record with --engine bpf, as "
			   "root, to see them.",
			   words_safe(name, sizeof(name), p->s->model->facts.engine, 16),
			   p->s->locks.n ? ": those called \"inferred\" were seen on the stacks "
					   "of waits, all others are missing"
					 : "");
		words_wrap(p->out, buf_cstr(&b), 0, 0, p->width);
		buf_done(&b);
	} else if (!p->s->kernel_locks)
		words_wrap(p->out,
			   "Locks of the kernel were not recorded (that takes Linux 5.19 or "
			   "later, and one that the guard trusts with it): those called "
			   "\"inferred\" were seen on the stacks of waits, "
			   "others are missing.",
			   0, 0, p->width);
}

void locks_text(const struct summary *s, const struct locks_opts *o, const lock_list *picked,
		FILE *out)
{
	struct text_report p = text_report_of(s, o, out);
	size_t n = text_rows(&p, picked->n, TOP_LOCKS);
	struct buf b = {0};

	lead_lock(s, &b);
	if (b.len)
		words_wrap(out, buf_cstr(&b), 0, 0, p.width);
	if (n)
		view_locks_table(&p, picked, n);
	else if (s->locks.n || !(s->model->facts.unseen & UNSEEN_LOCKS))
		fputs(s->locks.n ? "No lock matches the options.\n" : "Nobody waited for a lock.\n",
		      out);
	not_told(&p);
	for (size_t i = 0; i < n && i < o->details; i++)
		locks_detail(s, o, picked->v[i], out);
	buf_done(&b);
}

void locks_json(const struct summary *s, const struct locks_opts *o, const lock_list *picked,
		FILE *out)
{
	size_t n = o->top && o->top < picked->n ? o->top : picked->n;
	size_t *places = mem_zalloc((s->locks.n + 1) * sizeof(*places));
	struct json j;

	for (size_t i = 0; i < n; i++)
		places[picked->v[i] - s->locks.v] = i + 1;
	json_init(&j, out);
	json_obj(&j, NULL);
	json_str(&j, "schema", LOCKS_SCHEMA);
	json_put_capture(&j, s->model);
	json_put_losses(&j, s);
	json_put_finding(&j, s, places);
	json_put_kernel_locks(&j, s);
	json_u64(&j, "locks_total", picked->n);
	json_arr(&j, "locks");
	for (size_t i = 0; i < n; i++)
		json_put_lock(&j, s, picked->v[i]);
	json_arr_end(&j);
	json_put_deadlocks(&j, s, places);
	json_obj_end(&j);
	free(places);
}
