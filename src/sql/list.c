// SPDX-License-Identifier: MIT
/*
 * Tables whose rows have a number: wakes and losses in the order of time, and those that are short.
 */
#include "base/search.h"
#include "sql/private.h"

static void cell_at(const struct list *l, size_t row, unsigned column, struct cell *c)
{
	struct sql *s = l->sql;

	if (l->table == TABLE_WAKES)
		tables_wake(&s->tables, &s->wakes.v[row], column, c);
	else if (l->table == TABLE_LOSSES)
		tables_loss(&s->tables, &s->losses.v[row], column, c);
	else if (sums_has(l->table))
		sums_cell(&s->sums, s->model, l->table, row, column, c);
	else
		tables_cell(&s->tables, l->table, row, column, c);
}

static bool is_time(enum table table, unsigned column)
{
	return (table == TABLE_WAKES && column == COL(WAKES, ts)) ||
	       (table == TABLE_LOSSES && column == COL(LOSSES, ts));
}

enum narrows list_narrows(enum table table, unsigned column)
{
	if (is_time(table, column))
		return NARROWS_TIME;
	return tables_column_is_text(table, column) ? NARROWS_NOTHING : NARROWS_THREAD;
}

static int64_t number_at(const struct list *l, size_t row, unsigned column)
{
	struct cell c;

	cell_at(l, row, column, &c);
	return c.i;
}

static size_t first_from(const struct list *l, unsigned column, int64_t ts)
{
	return SEARCH(0, l->n, row, number_at(l, row, column) < ts);
}

static void list_narrow(struct list *l, const struct term *t)
{
	bool up = t->op == COMPARE_EQ || t->op == COMPARE_GT || t->op == COMPARE_GE;
	bool down = t->op == COMPARE_EQ || t->op == COMPARE_LT || t->op == COMPARE_LE;
	size_t from = up ? first_from(l, t->column, t->value) : 0;
	size_t to = down && t->value < INT64_MAX ? first_from(l, t->column, t->value + 1) : l->n;

	l->i = from > l->i ? from : l->i;
	l->n = to < l->n ? to : l->n;
}

static bool list_matches(const struct list *l)
{
	for (size_t i = 0; i < l->filter.n; i++) {
		const struct term *t = &l->filter.terms[i];
		struct cell c;

		if (is_time(l->table, t->column))
			continue;
		cell_at(l, l->i, t->column, &c);
		if (c.type != CELL_INT || c.i != t->value)
			return false;
	}
	return true;
}

static void list_find(struct list *l)
{
	while (l->i < l->n && !list_matches(l))
		l->i++;
	l->sql->work.rows += l->i < l->n;
}

void list_begin(struct list *l, struct sql *sql, enum table table, const struct row_filter *f)
{
	*l = (struct list){.sql = sql, .table = table, .filter = *f};
	l->n = table == TABLE_WAKES    ? sql->wakes.n
	       : table == TABLE_LOSSES ? sql->losses.n
	       : sums_has(table)       ? sums_rows(&sql->sums, table)
				       : tables_rows(&sql->tables, table);
	for (size_t i = 0; i < f->n; i++) {
		const struct term *t = &f->terms[i];

		if (is_time(table, t->column)) {
			list_narrow(l, t);
		} else if (table == TABLE_THREADS && t->column == COL(THREADS, id)) {
			/* An id is a place. */
			l->i = t->value < 0 || (size_t)t->value >= l->n ? l->n : (size_t)t->value;
			l->n = l->i < l->n ? l->i + 1 : l->n;
		}
	}
	list_find(l);
}

void list_next(struct list *l)
{
	l->i++;
	list_find(l);
}

void list_column(struct list *l, sqlite3_context *ctx, unsigned column)
{
	struct cell c;

	cell_at(l, l->i, column, &c);
	result_cell(ctx, &c);
}
