// SPDX-License-Identifier: MIT
/*
 * The sums of intervals as a table, for statements that rewrite.c made: nobody else sees it. The
 * keys are the columns of intervals, under their names and of their types.
 */
#include "sql/private.h"

enum column {
	COLUMN_THREAD,
	COLUMN_TID,
	COLUMN_PID,
	COLUMN_KIND,
	COLUMN_REASON,
	COLUMN_N,
	COLUMN_NS,
	COLUMN_SHORTEST,
	COLUMN_LONGEST,
};

struct sums_cursor {
	sqlite3_vtab_cursor base;
	struct sql *sql;
	size_t i;
};

struct sums_vtab {
	sqlite3_vtab base;
	struct sql *sql;
};

static int sums_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			sqlite3_vtab **ret, char **err)
{
	struct sql *sql = aux;
	struct sums_vtab *v;
	bool own;
	int rc;

	own = sql->own;
	sql->own = true;
	rc = sqlite3_declare_vtab(
		db, "CREATE TABLE x(thread_id INTEGER, tid INTEGER, pid INTEGER, kind TEXT, "
		    "reason TEXT, " SUMS_PREFIX "n INTEGER, " SUMS_PREFIX "ns INTEGER, " SUMS_PREFIX
		    "shortest INTEGER, " SUMS_PREFIX "longest INTEGER)");
	sql->own = own;
	if (rc)
		return rc;
	v = mem_zalloc(sizeof(*v));
	v->sql = sql;
	*ret = &v->base;
	return SQLITE_OK;
}

static int sums_disconnect(sqlite3_vtab *v)
{
	free(v);
	return SQLITE_OK;
}

static int sums_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	info->idxNum = (info->colUsed >> COLUMN_REASON & 1) != 0;
	info->estimatedRows = 100;
	info->estimatedCost = 100;
	return SQLITE_OK;
}

static int sums_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct sums_cursor *c = mem_zalloc(sizeof(*c));

	c->sql = ((struct sums_vtab *)base)->sql;
	*ret = &c->base;
	return SQLITE_OK;
}

static int sums_close(sqlite3_vtab_cursor *c)
{
	free(c);
	return SQLITE_OK;
}

static int sums_filter(sqlite3_vtab_cursor *base, int num, const char *plan, int argc,
		       sqlite3_value **argv)
{
	struct sums_cursor *c = (struct sums_cursor *)base;

	c->i = 0;
	return sql_load(c->sql, num ? WANT_REASONS : WANT_SUMS);
}

static int sums_next(sqlite3_vtab_cursor *base)
{
	((struct sums_cursor *)base)->i++;
	return SQLITE_OK;
}

static int sums_eof(sqlite3_vtab_cursor *base)
{
	const struct sums_cursor *c = (const struct sums_cursor *)base;

	return c->i >= c->sql->sums.rows.n;
}

static int sums_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
	const struct sums_cursor *c = (const struct sums_cursor *)base;
	const struct sum_row *r = &c->sql->sums.rows.v[c->i];
	const struct thread *th = c->sql->model->timeline.threads.v[r->thread];
	const uint64_t numbers[] = {
		[COLUMN_THREAD] = th->index,
		[COLUMN_TID] = th->tid,
		[COLUMN_PID] = th->pid,
		[COLUMN_N] = r->sum.n,
		[COLUMN_NS] = r->sum.ns,
		[COLUMN_SHORTEST] = r->sum.shortest,
		[COLUMN_LONGEST] = r->sum.longest,
	};

	if (column == COLUMN_KIND)
		sqlite3_result_text(ctx, interval_kind_name(class_kind(r->class)), -1,
				    SQLITE_STATIC);
	else if (column == COLUMN_REASON && r->class < CLASS_REASONS)
		sqlite3_result_text(ctx, reason_name(r->class), -1, SQLITE_STATIC);
	else if (column != COLUMN_REASON && (column != COLUMN_PID || th->pid))
		sqlite3_result_int64(ctx, (sqlite3_int64)numbers[column]);
	return SQLITE_OK;
}

static int sums_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = (sqlite3_int64)((const struct sums_cursor *)base)->i;
	return SQLITE_OK;
}

int sums_register(struct sql *s)
{
	static const sqlite3_module functions = {
		.xConnect = sums_connect,
		.xBestIndex = sums_best_index,
		.xDisconnect = sums_disconnect,
		.xDestroy = sums_disconnect,
		.xOpen = sums_open,
		.xClose = sums_close,
		.xFilter = sums_filter,
		.xNext = sums_next,
		.xEof = sums_eof,
		.xColumn = sums_column,
		.xRowid = sums_rowid,
	};

	return sqlite3_create_module(s->db, SUMS_TABLE, &functions, s);
}
