// SPDX-License-Identifier: MIT
/*
 * Rows as a table, as CSV (RFC 4180), or as JSON: an array of objects, one a line. CSV and JSON go
 * out as they come; the widths of a table's columns are those of its first rows.
 */
#include "sql/private.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

enum { KEPT_ROWS = 500, WIDEST = 80 };

/* Columns on a screen: characters, as far as that can be told without knowing all scripts. */
static size_t width_of(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static bool is_number(sqlite3_stmt *st, int i)
{
	int type = sqlite3_column_type(st, i);

	return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

static const char *cell_text(sqlite3_stmt *st, int i, struct buf *b)
{
	buf_clear(b);
	if (sqlite3_column_type(st, i) != SQLITE_NULL)
		text_put_clean(b, (const char *)sqlite3_column_text(st, i));
	return buf_cstr(b);
}

struct grid {
	int columns;
	VEC(char *) cells;
	VEC(bool) right;
	size_t *width;
};

static void print_pad(FILE *out, size_t n)
{
	for (; n; n--)
		fputc(' ', out);
}

static void grid_cell(const struct grid *g, int i, const char *text, bool right, FILE *out)
{
	size_t w = width_of(text), room = g->width[i] > w ? g->width[i] - w : 0;

	if (i)
		fputs("  ", out);
	if (right)
		print_pad(out, room);
	fputs(text, out);
	if (!right && i + 1 < g->columns)
		print_pad(out, room);
}

static void grid_flush(struct grid *g, FILE *out)
{
	for (size_t k = 0; k < g->cells.n; k++) {
		int i = (int)(k % (size_t)g->columns);

		grid_cell(g, i, g->cells.v[k], g->right.v[k], out);
		if (i + 1 == g->columns)
			fputc('\n', out);
		free(g->cells.v[k]);
	}
	g->cells.n = g->right.n = 0;
}

static void grid_add(struct grid *g, const char *text, bool right)
{
	size_t i = g->cells.n % (size_t)g->columns, w = width_of(text);

	w = w < WIDEST ? w : WIDEST;
	g->width[i] = w > g->width[i] ? w : g->width[i];
	vec_push(&g->cells, mem_strdup(text));
	vec_push(&g->right, right);
}

static void grid_head(struct grid *g, sqlite3_stmt *st, const bool *right, FILE *out)
{
	for (int i = 0; i < g->columns; i++)
		grid_cell(g, i, sqlite3_column_name(st, i), right[i], out);
	fputc('\n', out);
	for (int i = 0; i < g->columns; i++) {
		if (i)
			fputs("  ", out);
		for (size_t k = 0; k < g->width[i]; k++)
			fputc('-', out);
	}
	fputc('\n', out);
}

static int print_table(sqlite3_stmt *st, FILE *out)
{
	struct grid g = {.columns = sqlite3_column_count(st)};
	bool *right = mem_zalloc((size_t)g.columns), shown = false;
	struct buf b = {0};
	size_t rows = 0;
	int rc;

	g.width = mem_zalloc((size_t)g.columns * sizeof(*g.width));
	for (int i = 0; i < g.columns; i++)
		g.width[i] = width_of(sqlite3_column_name(st, i));
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && !ferror(out)) {
		for (int i = 0; i < g.columns; i++) {
			grid_add(&g, cell_text(st, i, &b), is_number(st, i));
			right[i] |= !rows && is_number(st, i);
		}
		if (++rows % KEPT_ROWS)
			continue;
		if (!shown)
			grid_head(&g, st, right, out);
		shown = true;
		grid_flush(&g, out);
	}
	if (!shown && (rows || rc == SQLITE_DONE))
		grid_head(&g, st, right, out);
	grid_flush(&g, out);
	vec_done(&g.cells);
	vec_done(&g.right);
	free(g.width);
	free(right);
	buf_done(&b);
	return rc;
}

static void csv_field(FILE *out, const char *s)
{
	if (!strpbrk(s, ",\"\r\n")) {
		fputs(s, out);
		return;
	}
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', out);
		fputc(*s, out);
	}
	fputc('"', out);
}

static int print_csv(sqlite3_stmt *st, FILE *out)
{
	int n = sqlite3_column_count(st), rc;

	for (int i = 0; i < n; i++) {
		if (i)
			fputc(',', out);
		csv_field(out, sqlite3_column_name(st, i));
	}
	fputs("\r\n", out);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && !ferror(out)) {
		for (int i = 0; i < n; i++) {
			if (i)
				fputc(',', out);
			if (sqlite3_column_type(st, i) != SQLITE_NULL)
				csv_field(out, (const char *)sqlite3_column_text(st, i));
		}
		fputs("\r\n", out);
	}
	return rc;
}

static void json_cell(struct json *j, sqlite3_stmt *st, int i)
{
	const char *key = sqlite3_column_name(st, i);

	switch (sqlite3_column_type(st, i)) {
	case SQLITE_INTEGER:
		json_i64(j, key, sqlite3_column_int64(st, i));
		break;
	case SQLITE_FLOAT:
		if (isfinite(sqlite3_column_double(st, i)))
			json_raw(j, key, sqlite3_column_text(st, i),
				 (size_t)sqlite3_column_bytes(st, i));
		else
			json_null(j, key);
		break;
	case SQLITE_NULL:
		json_null(j, key);
		break;
	default:
		json_str(j, key, (const char *)sqlite3_column_text(st, i));
	}
}

static int print_json(sqlite3_stmt *st, FILE *out)
{
	struct buf b = {0};
	bool first = true;
	int rc;

	fputc('[', out);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && !ferror(out)) {
		struct json j;

		buf_clear(&b);
		json_init_buf(&j, &b);
		j.tight = true;
		json_obj(&j, NULL);
		for (int i = 0; i < sqlite3_column_count(st); i++)
			json_cell(&j, st, i);
		json_obj_end(&j);
		while (b.len && b.p[b.len - 1] == '\n')
			b.len--;
		fputs(first ? "\n" : ",\n", out);
		fwrite(b.p, 1, b.len, out);
		first = false;
	}
	fputs("\n]\n", out);
	buf_done(&b);
	return rc;
}

int print_rows(sqlite3_stmt *st, enum sql_form form, FILE *out)
{
	if (!sqlite3_column_count(st))
		return sqlite3_step(st);
	if (form == SQL_TABLE)
		return print_table(st, out);
	return form == SQL_CSV ? print_csv(st, out) : print_json(st, out);
}
