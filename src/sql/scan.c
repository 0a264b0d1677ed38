// SPDX-License-Identifier: MIT
/*
 * Intervals, waits and samples lie thread by thread in the order of time. A scan visits the chosen
 * threads, in each from a search for the first moment to the last. For rows in the order of thread,
 * process, kind or reason it visits a thread once for each of its classes, which is much cheaper
 * than sorting the rows. (SQLite asks for no order when it groups, but relies on it when an ORDER
 * BY is the same as the GROUP BY.)
 */
#include "base/sort.h"
#include "sql/private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/search.h"
#include "model/summary/parts.h"

#define SLOT_BIT(slot) (1ull << (slot))
#define RUNNABLE_BITS (SLOT_BIT(REASON_RUN_QUEUE) | SLOT_BIT(REASON_THROTTLED))
#define REASON_BITS (SLOT_BIT(CLASS_REASONS) - 1)
#define WAIT_BITS (REASON_BITS & ~RUNNABLE_BITS)

static_assert((int)REASONS <= (int)CLASS_REASONS, "a reason is a class");

enum key { KEY_THREAD, KEY_TID, KEY_PID, KEY_START, KEY_END, KEY_KIND, KEY_REASON, KEY_NONE };

static enum key scan_key_of(enum table table, unsigned column)
{
	static const struct {
		enum table table;
		unsigned column;
		enum key key;
	} rows[] = {
		{TABLE_INTERVALS, COL(INTERVALS, thread_id), KEY_THREAD},
		{TABLE_INTERVALS, COL(INTERVALS, tid), KEY_TID},
		{TABLE_INTERVALS, COL(INTERVALS, pid), KEY_PID},
		{TABLE_INTERVALS, COL(INTERVALS, start), KEY_START},
		{TABLE_INTERVALS, COL(INTERVALS, end), KEY_END},
		{TABLE_INTERVALS, COL(INTERVALS, kind), KEY_KIND},
		{TABLE_INTERVALS, COL(INTERVALS, reason), KEY_REASON},
		{TABLE_WAITS, COL(WAITS, thread_id), KEY_THREAD},
		{TABLE_WAITS, COL(WAITS, tid), KEY_TID},
		{TABLE_WAITS, COL(WAITS, pid), KEY_PID},
		{TABLE_WAITS, COL(WAITS, start), KEY_START},
		{TABLE_WAITS, COL(WAITS, end), KEY_END},
		{TABLE_WAITS, COL(WAITS, reason), KEY_REASON},
		{TABLE_SAMPLES, COL(SAMPLES, thread_id), KEY_THREAD},
		{TABLE_SAMPLES, COL(SAMPLES, tid), KEY_TID},
		{TABLE_SAMPLES, COL(SAMPLES, pid), KEY_PID},
		{TABLE_SAMPLES, COL(SAMPLES, ts), KEY_START},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].table == table && rows[i].column == column)
			return rows[i].key;
	return KEY_NONE;
}

static bool is_class(enum key k)
{
	return k == KEY_KIND || k == KEY_REASON;
}

/* Threads and classes are two nested loops: their terms must not alternate. */
bool scan_can_order(enum table table, const struct by *by, size_t n)
{
	unsigned turns = 0;

	for (size_t i = 0; i < n; i++) {
		enum key k = scan_key_of(table, by[i].column);

		if (k == KEY_NONE || k == KEY_START || k == KEY_END)
			return false;
		turns += i && is_class(k) != is_class(scan_key_of(table, by[i - 1].column));
	}
	return turns < 2;
}

static uint64_t value_of(const struct thread *th, enum key key)
{
	return key == KEY_THREAD ? th->index : key == KEY_TID ? th->tid : th->pid;
}

static bool scan_wanted(const struct scan *s, const struct row_filter *f, const struct thread *th)
{
	for (size_t i = 0; i < f->n; i++) {
		enum key k = scan_key_of(s->table, f->terms[i].column);

		if (f->terms[i].op == COMPARE_EQ && k <= KEY_PID &&
		    (int64_t)value_of(th, k) != f->terms[i].value)
			return false;
	}
	return true;
}

/* A thread with its sort keys: the values of the terms, negated where descending. */
struct ordered {
	int64_t keys[FILTER_BY];
	uint32_t index;
};

static int by_keys(const void *pa, const void *pb)
{
	const struct ordered *a = pa, *b = pb;

	for (size_t i = 0; i < FILTER_BY; i++)
		if (a->keys[i] != b->keys[i])
			return a->keys[i] > b->keys[i] ? 1 : -1;
	return (a->index > b->index) - (a->index < b->index);
}

static bool same_keys(const struct ordered *a, const struct ordered *b)
{
	return !memcmp(a->keys, b->keys, sizeof(a->keys));
}

/* If a class is the first term, threads are the inner loop. */
static bool class_first(const struct scan *s, const struct row_filter *f)
{
	return f->n_by && is_class(scan_key_of(s->table, f->by[0].column));
}

static void order_threads(struct scan *s, const struct row_filter *f)
{
	const struct timeline *t = &s->sql->model->timeline;
	VEC(struct ordered) all = {0};
	bool one_group = class_first(s, f);

	for (uint32_t i = 0; i < t->threads.n; i++) {
		const struct thread *th = t->threads.v[i];
		struct ordered o = {.index = i};

		if (!scan_wanted(s, f, th))
			continue;
		for (size_t k = 0; k < f->n_by; k++) {
			enum key key = scan_key_of(s->table, f->by[k].column);
			int64_t v = is_class(key) ? 0 : (int64_t)value_of(th, key);

			o.keys[k] = f->by[k].desc ? -v : v;
		}
		vec_push(&all, o);
	}
	if (all.n && f->n_by)
		sort_by(all.v, all.n, sizeof(*all.v), by_keys);
	for (size_t i = 0; i < all.n; i++) {
		vec_push(&s->order, all.v[i].index);
		if (i + 1 == all.n || (!one_group && !same_keys(&all.v[i], &all.v[i + 1])))
			vec_push(&s->ends, i + 1);
	}
	vec_done(&all);
}

static uint64_t all_bits(enum table table)
{
	return table == TABLE_WAITS ? WAIT_BITS
				    : REASON_BITS | SLOT_BIT(SLOT_RUNNING) | SLOT_BIT(SLOT_LOST);
}

static const char *class_word(unsigned slot, enum key key)
{
	if (key == KEY_KIND)
		return interval_kind_name(class_kind(slot_class(slot)));
	return slot < CLASS_REASONS ? reason_name(slot) : NULL;
}

/* NULL comes first, as SQLite has it. */
static int by_words(const struct scan *s, const struct row_filter *f, unsigned a, unsigned b)
{
	for (size_t i = 0; i < f->n_by; i++) {
		enum key key = scan_key_of(s->table, f->by[i].column);
		const char *x = is_class(key) ? class_word(a, key) : NULL;
		const char *y = is_class(key) ? class_word(b, key) : NULL;
		int c = x && y ? strcmp(x, y) : (x != NULL) - (y != NULL);

		if (c)
			return f->by[i].desc ? -c : c;
	}
	return 0;
}

/* Classes in groups and in the order that is asked for. */
static void choose_masks(struct scan *s, const struct row_filter *f)
{
	uint64_t all = all_bits(s->table);

	for (size_t i = 0; i < f->n; i++)
		if (is_class(scan_key_of(s->table, f->terms[i].column)))
			all &= (uint64_t)f->terms[i].value;
	while (all) {
		unsigned first = (unsigned)__builtin_ctzll(all);
		uint64_t group = 0;

		for (uint64_t left = all; left; left &= left - 1) {
			unsigned slot = (unsigned)__builtin_ctzll(left);
			int c = by_words(s, f, slot, first);

			first = c < 0 ? slot : first;
			group = c < 0 ? 0 : group;
			group |= c <= 0 ? SLOT_BIT(slot) : 0;
		}
		vec_push(&s->masks, group);
		all &= ~group;
	}
}

uint64_t scan_classes(enum table table, unsigned column, const char *word)
{
	const uint64_t kinds[INTERVAL_KINDS] = {SLOT_BIT(SLOT_RUNNING), RUNNABLE_BITS, WAIT_BITS,
						SLOT_BIT(SLOT_LOST)};
	uint64_t bits = 0;

	for (unsigned i = 0; scan_key_of(table, column) == KEY_KIND && i < INTERVAL_KINDS; i++)
		if (!strcmp(interval_kind_name(i), word))
			bits |= kinds[i];
	for (unsigned i = 0; scan_key_of(table, column) == KEY_REASON && i < REASONS; i++)
		if (reason_name(i) && !strcmp(reason_name(i), word))
			bits |= SLOT_BIT(i);
	return bits;
}

enum narrows scan_narrows(enum table table, unsigned column)
{
	switch (scan_key_of(table, column)) {
	case KEY_THREAD:
	case KEY_TID:
		return NARROWS_THREAD;
	case KEY_PID:
		return NARROWS_PROCESS;
	case KEY_START:
	case KEY_END:
		return NARROWS_TIME;
	case KEY_KIND:
	case KEY_REASON:
		return NARROWS_CLASS;
	default:
		return NARROWS_NOTHING;
	}
}

static void scan_narrow(int64_t *lo, int64_t *hi, const struct term *t)
{
	int64_t v = t->value;

	if ((t->op == COMPARE_EQ || t->op == COMPARE_GE || t->op == COMPARE_GT) && v > *lo)
		*lo = v;
	if ((t->op == COMPARE_EQ || t->op == COMPARE_LE || t->op == COMPARE_LT) && v < *hi)
		*hi = v;
}

/* The first stretch with a start (or end) at or after a time. */
static size_t first_from(const struct lane *l, int64_t ts, bool ends)
{
	return SEARCH(0, l->n, i, (int64_t)(ends ? lane_end(l, i) : lane_start(l, i)) < ts);
}

static void enter_lane(struct scan *s, uint32_t thread)
{
	const struct lane *l = &s->sql->columns.threads.v[thread];
	size_t from, to = l->n;

	s->lane = l;
	s->i = s->n = 0;
	/* A sealed lane knows its classes. */
	if (l->slots && !(l->slots & s->now))
		return;
	from = s->start_lo > 0 ? first_from(l, s->start_lo, false) : 0;
	if (s->end_lo > 0) {
		size_t by_end = first_from(l, s->end_lo, true);

		from = by_end > from ? by_end : from;
	}
	if (s->start_hi < INT64_MAX)
		to = first_from(l, s->start_hi + 1, false);
	if (s->end_hi < INT64_MAX) {
		size_t by_end = first_from(l, s->end_hi + 1, true);

		to = by_end < to ? by_end : to;
	}
	s->i = from;
	s->n = to;
}

static void enter_samples(struct scan *s, uint32_t thread)
{
	uint64_t from = s->start_lo > 0 ? (uint64_t)s->start_lo : 0;
	uint64_t to = s->start_hi < INT64_MAX ? (uint64_t)s->start_hi + 1 : UINT64_MAX;

	s->i = 0;
	s->samples = columns_samples(&s->sql->columns, thread, from, to, &s->n);
}

/* The next thread of a group, or it once more for the next classes, or the next group. */
static bool scan_advance(struct scan *s)
{
	size_t begin;

	if (s->group == s->ends.n)
		return false;
	begin = s->group ? s->ends.v[s->group - 1] : 0;
	if (++s->at == s->ends.v[s->group]) {
		s->at = begin;
		if (++s->mask == s->masks.n) {
			s->mask = 0;
			s->at = s->ends.v[s->group++];
		}
	}
	return s->group < s->ends.n;
}

static void scan_enter(struct scan *s)
{
	uint32_t thread = s->order.v[s->at];

	s->thread = s->sql->model->timeline.threads.v[thread];
	s->now = s->masks.v[s->mask];
	if (s->table == TABLE_SAMPLES)
		enter_samples(s, thread);
	else
		enter_lane(s, thread);
}

/* From s->i on: is there a row? */
static inline bool scan_settle(struct scan *s)
{
	const struct lane *l = s->lane;
	uint64_t now = s->now;

	if (s->table == TABLE_SAMPLES)
		return s->i < s->n;
	for (size_t i = s->i, n = s->n; i < n; i++) {
		const struct stretch *cur = lane_at(l, i);

		if (now >> class_slot(cur->at & 0xff) & 1) {
			s->i = i;
			s->cur = cur;
			return true;
		}
	}
	s->i = s->n;
	return false;
}

static void scan_find(struct scan *s)
{
	while (!scan_settle(s)) {
		if (!scan_advance(s)) {
			s->eof = true;
			return;
		}
		scan_enter(s);
	}
	s->sql->work.rows++;
}

void scan_begin(struct scan *s, struct sql *sql, enum table table, const struct row_filter *f)
{
	scan_done(s);
	*s = (struct scan){.sql = sql,
			   .table = table,
			   .start_lo = INT64_MIN,
			   .start_hi = INT64_MAX,
			   .end_lo = INT64_MIN,
			   .end_hi = INT64_MAX};
	for (size_t i = 0; i < f->n; i++) {
		enum key k = scan_key_of(table, f->terms[i].column);

		if (k == KEY_START)
			scan_narrow(&s->start_lo, &s->start_hi, &f->terms[i]);
		else if (k == KEY_END)
			scan_narrow(&s->end_lo, &s->end_hi, &f->terms[i]);
	}
	order_threads(s, f);
	choose_masks(s, f);
	s->eof = !s->order.n || !s->masks.n ||
		 (table != TABLE_SAMPLES && !sql->model->facts.has_switches);
	if (s->eof)
		return;
	scan_enter(s);
	scan_find(s);
}

void scan_next(struct scan *s)
{
	s->i++;
	scan_find(s);
}

int64_t scan_rowid(const struct scan *s)
{
	uint64_t thread = s->thread->index, i = s->i;

	if (s->table == TABLE_SAMPLES)
		i = (uint64_t)(s->samples + s->i - s->sql->columns.samples.v[thread].v);
	return (int64_t)(thread << 40 | i);
}

void scan_done(struct scan *s)
{
	vec_done(&s->order);
	vec_done(&s->ends);
	vec_done(&s->masks);
}

/* Keeps the length of each kind's name: every row needs it. */
static void result_kind(sqlite3_context *ctx, enum interval_kind k)
{
	static const uint8_t lengths[INTERVAL_KINDS] = {
		[INTERVAL_RUNNING] = sizeof("running") - 1,
		[INTERVAL_RUNNABLE] = sizeof("runnable") - 1,
		[INTERVAL_WAITING] = sizeof("waiting") - 1,
		[INTERVAL_LOST] = sizeof("lost") - 1,
	};

	sqlite3_result_text(ctx, interval_kind_name(k), lengths[k], SQLITE_STATIC);
}

static void result_word(sqlite3_context *ctx, const char *s)
{
	sqlite3_result_text(ctx, s, (int)strlen(s), SQLITE_STATIC);
}

static void result_id(sqlite3_context *ctx, int64_t v)
{
	if (v)
		sqlite3_result_int64(ctx, v);
}

static void interval_column(const struct scan *s, sqlite3_context *ctx, unsigned column)
{
	unsigned class = s->cur->at & 0xff;

	switch (column) {
	case COL(INTERVALS, kind):
		result_kind(ctx, class_kind(class));
		break;
	case COL(INTERVALS, reason):
		if (class < CLASS_REASONS)
			result_word(ctx, reason_name(class));
		break;
	case COL(INTERVALS, cpu):
		if (class == CLASS_RUNNING)
			sqlite3_result_int64(ctx, s->cur->row);
		break;
	}
}

/* Who had the lock, from what was seen of it. */
static uint32_t scan_holder(const struct scan *s, const struct wait_row *r, int64_t start,
			    int64_t end)
{
	struct sql *sql = s->sql;
	uint32_t lock = r->lock ? locks_index(&sql->model->locks, r->lock) : 0;
	struct main_holders *h;

	if (!r->lock || !lock_has_holders(&sql->model->locks.list.v[lock]))
		return 0;
	if (!sql->holders)
		sql->holders = mem_zalloc(sql->model->locks.list.n * sizeof(*sql->holders));
	h = &sql->holders[lock];
	if (!h->seen)
		h->seen = columns_seen(&sql->columns, lock, &h->n);
	return main_holder(h, (uint64_t)start, (uint64_t)end, s->thread->index + 1);
}

static void wait_column(const struct scan *s, sqlite3_context *ctx, unsigned column)
{
	const struct model *m = s->sql->model;
	const struct waker_row_at *by =
		s->cur->by ? &s->sql->columns.wakers.v[s->cur->by - 1] : NULL;
	struct table_wait w = {
		.thread = s->thread,
		.start = (int64_t)(s->cur->at >> 8),
		.end = (int64_t)lane_end(s->lane, s->i),
		.row = &m->tally.waits.v[s->cur->row],
		.woken = by,
	};
	struct cell c;

	if (by) {
		w.ctx = by->ctx;
		w.waker = by->thread ? m->timeline.threads.v[by->thread - 1] : NULL;
		w.waker_tid = by->tid;
		w.waker_kstack = by->kstack;
		w.waker_ustack = by->ustack;
	}
	if (column == COL(WAITS, holder_id))
		w.holder = scan_holder(s, w.row, w.start, w.end);
	tables_wait(&s->sql->tables, &w, column, &c);
	result_cell(ctx, &c);
}

static void sample_column(const struct scan *s, sqlite3_context *ctx, unsigned column)
{
	const struct sample *at = &s->samples[s->i];
	const struct sample_row *r;

	switch (column) {
	case COL(SAMPLES, ts):
		if (!model_timeless(s->sql->model))
			sqlite3_result_int64(ctx, (int64_t)at->ts);
		break;
	case COL(SAMPLES, cpu):
		if (!(s->sql->model->facts.unseen & UNSEEN_CPUS))
			sqlite3_result_int64(ctx, at->cpu);
		break;
	case COL(SAMPLES, stack):
		r = &s->sql->model->tally.samples.v[at->row];
		result_id(ctx, tables_stack(&s->sql->tables, r->kstack, r->ustack, false));
		break;
	}
}

static void other_column(struct scan *s, sqlite3_context *ctx, unsigned column)
{
	if (s->table == TABLE_SAMPLES)
		sample_column(s, ctx, column);
	else if (s->table == TABLE_WAITS)
		wait_column(s, ctx, column);
	else
		interval_column(s, ctx, column);
}

/* The first columns of all three tables are the same, but for the times of samples. */
void scan_column(struct scan *s, sqlite3_context *ctx, unsigned column)
{
	static_assert(COL(INTERVALS, pid) == COL(SAMPLES, pid) &&
			      COL(INTERVALS, ns) == COL(WAITS, ns),
		      "tables.def");
	bool times = s->table != TABLE_SAMPLES;

	if (column == COL(INTERVALS, thread_id))
		sqlite3_result_int64(ctx, s->thread->index);
	else if (column == COL(INTERVALS, tid))
		sqlite3_result_int64(ctx, s->thread->tid);
	else if (column == COL(INTERVALS, pid))
		result_id(ctx, s->thread->pid);
	else if (times && column == COL(INTERVALS, ns))
		sqlite3_result_int64(ctx, (int64_t)(lane_end(s->lane, s->i) - (s->cur->at >> 8)));
	else if (times && column == COL(INTERVALS, start))
		sqlite3_result_int64(ctx, (int64_t)(s->cur->at >> 8));
	else if (times && column == COL(INTERVALS, end))
		sqlite3_result_int64(ctx, (int64_t)lane_end(s->lane, s->i));
	else
		other_column(s, ctx, column);
}
