// SPDX-License-Identifier: MIT
/*
 * The sums of intervals, and of those of them that are waits, as tables, for statements that
 * rewrite.c made: nobody else sees them. The keys are the columns of the tables that they are the
 * sums of, under their names and of their types.
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

static const char *const names[] = {"intervals" SUMS_SUFFIX, "waits" SUMS_SUFFIX};

struct sums_cursor {
	sqlite3_vtab_cursor base;
	struct sql *sql;
	bool waits;
	size_t i;
};

struct sums_vtab {
	sqlite3_vtab base;
	struct sql *sql;
	bool waits;
};

struct sums_served {
	struct sql *sql;
	bool waits;
};

static int sums_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			sqlite3_vtab **ret, char **err)
{
	const struct sums_served *m = aux;
	bool own = m->sql->own;
	struct buf b = {0};
	struct sums_vtab *v;
	int rc;

	/* Waits have no kind. */
	buf_printf(&b,
		   "CREATE TABLE x(thread_id INTEGER, tid INTEGER, pid INTEGER, %skind TEXT, "
		   "reason TEXT, %sn INTEGER, %sns INTEGER, %sshortest INTEGER, %slongest INTEGER)",
		   m->waits ? SUMS_PREFIX : "", SUMS_PREFIX, SUMS_PREFIX, SUMS_PREFIX, SUMS_PREFIX);
	m->sql->own = true;
	rc = sqlite3_declare_vtab(db, buf_cstr(&b));
	m->sql->own = own;
	buf_done(&b);
	if (rc)
		return rc;
	v = mem_zalloc(sizeof(*v));
	v->sql = m->sql;
	v->waits = m->waits;
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
	c->waits = ((struct sums_vtab *)base)->waits;
	*ret = &c->base;
	return SQLITE_OK;
}

static int sums_close(sqlite3_vtab_cursor *c)
{
	free(c);
	return SQLITE_OK;
}

static void settle(struct sums_cursor *c)
{
	const struct sums *s = &c->sql->sums;

	while (c->waits && c->i < s->rows.n &&
	       class_kind(s->rows.v[c->i].class) != INTERVAL_WAITING)
		c->i++;
}

static int sums_filter(sqlite3_vtab_cursor *base, int num, const char *plan, int argc,
		       sqlite3_value **argv)
{
	struct sums_cursor *c = (struct sums_cursor *)base;
	int rc = sql_load(c->sql, num ? WANT_REASONS : WANT_SUMS);

	c->i = 0;
	settle(c);
	return rc;
}

static int sums_next(sqlite3_vtab_cursor *base)
{
	struct sums_cursor *c = (struct sums_cursor *)base;

	c->i++;
	settle(c);
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

	int rc = SQLITE_OK;

	for (size_t i = 0; !rc && i < ARRAY_LEN(names); i++) {
		struct sums_served *m = mem_alloc(sizeof(*m));

		*m = (struct sums_served){s, i == 1};
		rc = sqlite3_create_module_v2(s->db, names[i], &functions, m, free);
	}
	return rc;
}

bool sums_is_table(const char *name)
{
	return !sqlite3_stricmp(name, names[0]) || !sqlite3_stricmp(name, names[1]);
}
