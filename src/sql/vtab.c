// SPDX-License-Identifier: MIT
/*
 * What SQLite asks of virtual tables. A plan is a text that xBestIndex writes and xFilter reads,
 * such as `tid=? start>=? by kind`; EXPLAIN QUERY PLAN shows it. Comparisons only skip rows that
 * cannot match: SQLite checks every row again.
 */
#include "sql/private.h"

#include <math.h>
#include <string.h>

#include "store/reader.h"

struct vtab {
	sqlite3_vtab base;
	struct sql *sql;
	enum table table;
};

struct vtab_cursor {
	sqlite3_vtab_cursor base;
	struct sql *sql;
	enum table table;
	bool none;    /* no row can match */
	bool by_scan; /* it is one of scan.c's tables */
	struct scan scan;
	struct list list;
	struct frame_list frames;
};

struct served {
	struct sql *sql;
	enum table table;
};

static const struct {
	const char *text;
	unsigned char op;
} compares[] = {
	[COMPARE_EQ] = {"=", SQLITE_INDEX_CONSTRAINT_EQ},
	[COMPARE_GT] = {">", SQLITE_INDEX_CONSTRAINT_GT},
	[COMPARE_GE] = {">=", SQLITE_INDEX_CONSTRAINT_GE},
	[COMPARE_LT] = {"<", SQLITE_INDEX_CONSTRAINT_LT},
	[COMPARE_LE] = {"<=", SQLITE_INDEX_CONSTRAINT_LE},
};

static bool is_scan(enum table t)
{
	return t == TABLE_INTERVALS || t == TABLE_WAITS || t == TABLE_SAMPLES;
}

void result_cell(sqlite3_context *ctx, const struct cell *c)
{
	if (c->type == CELL_INT)
		sqlite3_result_int64(ctx, c->i);
	else if (c->type == CELL_TEXT)
		sqlite3_result_text(ctx, c->s, -1, c->brief ? SQLITE_TRANSIENT : SQLITE_STATIC);
	else
		sqlite3_result_null(ctx);
}

/* What a plan needs loaded: intervals without reasons take a shorter pass. */
static unsigned wants(enum table t, uint64_t used)
{
	switch (t) {
	case TABLE_CAPTURE:
	case TABLE_THREADS:
	case TABLE_INTERVAL_SUMS:
		return WANT_SUMS; /* any pass has the threads */
	case TABLE_WAIT_SUMS:
		return WANT_REASONS;
	case TABLE_INTERVALS:
		return used & 1ull << COL(INTERVALS, reason) ? WANT_MODEL : WANT_TIMES;
	case TABLE_WAITS:
		return used & ~((2ull << COL(WAITS, ns)) - 1) ? WANT_MODEL : WANT_TIMES;
	case TABLE_WAKES:
	case TABLE_LOSSES:
		return WANT_TIMES | WANT_EVENTS;
	case TABLE_LOCKS:
	case TABLE_STALLS:
		return WANT_SUMMARY;
	default:
		return WANT_MODEL;
	}
}

static int vtab_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			sqlite3_vtab **ret, char **err)
{
	const struct served *m = aux;
	struct buf b = {0};
	struct vtab *v;
	int rc;

	buf_printf(&b, "CREATE TABLE x(");
	tables_columns_sql(m->table, &b);
	buf_printf(&b, ")");
	m->sql->own = true;
	rc = sqlite3_declare_vtab(db, buf_cstr(&b));
	m->sql->own = false;
	buf_done(&b);
	if (rc)
		return rc;
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
	v = mem_zalloc(sizeof(*v));
	v->sql = m->sql;
	v->table = m->table;
	*ret = &v->base;
	return SQLITE_OK;
}

static int vtab_disconnect(sqlite3_vtab *v)
{
	free(v);
	return SQLITE_OK;
}

static double guess_rows(const struct vtab *v)
{
	uint64_t switches = 100000, samples = 10000;

	(void)reader_total(v->sql->reader, EV_SWITCH, &switches);
	(void)reader_total(v->sql->reader, EV_SAMPLE, &samples);
	switch (v->table) {
	case TABLE_CAPTURE:
		return 1;
	case TABLE_INTERVALS:
		return (double)switches * 2 + 100;
	case TABLE_WAITS:
	case TABLE_WAKES:
		return (double)switches + 50;
	case TABLE_SAMPLES:
		return (double)samples + 50;
	case TABLE_INTERVAL_SUMS:
	case TABLE_WAIT_SUMS:
		return 100;
	case TABLE_FRAMES:
		return 100000;
	default:
		return 1000;
	}
}

static enum narrows narrows_of(enum table t, unsigned column)
{
	if (t == TABLE_FRAMES)
		return column == COL(FRAMES, stack) ? NARROWS_THREAD : NARROWS_NOTHING;
	return is_scan(t) ? scan_narrows(t, column) : list_narrows(t, column);
}

static int compare_of(unsigned char op)
{
	for (unsigned i = 0; i < ARRAY_LEN(compares); i++)
		if (compares[i].op == op)
			return (int)i;
	return -1;
}

/* Estimates how many of `rows` are left. */
static double vtab_left(const struct vtab *v, enum narrows how, unsigned column, double rows)
{
	static const double share[] = {[NARROWS_NOTHING] = 1,
				       [NARROWS_THREAD] = 0.02,
				       [NARROWS_PROCESS] = 0.1,
				       [NARROWS_TIME] = 0.25,
				       [NARROWS_CLASS] = 0.3};

	if (v->table == TABLE_FRAMES)
		return 20;
	if (v->table == TABLE_THREADS && column == COL(THREADS, id))
		return 1;
	return rows * share[how] + 1;
}

static double use_terms(const struct vtab *v, sqlite3_index_info *info, struct buf *plan,
			double rows)
{
	int n = 0;

	for (int i = 0; i < info->nConstraint && n < 16; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		int op = compare_of(c->op);
		enum narrows how = c->iColumn < 0 ? NARROWS_NOTHING
						  : narrows_of(v->table, (unsigned)c->iColumn);

		if (!c->usable || op < 0 || how == NARROWS_NOTHING ||
		    (op != COMPARE_EQ && how != NARROWS_TIME))
			continue;
		info->aConstraintUsage[i].argvIndex = ++n;
		buf_printf(plan, "%s%s%s?", plan->len ? " " : "",
			   tables_column(v->table, (unsigned)c->iColumn), compares[op].text);
		rows = vtab_left(v, how, (unsigned)c->iColumn, rows);
	}
	return rows;
}

/* Rows lie by thread, and by time within it. */
static bool in_order(const struct vtab *v, const sqlite3_index_info *info)
{
	static const unsigned keys[TABLES][2] = {
		[TABLE_INTERVALS] = {COL(INTERVALS, thread_id), COL(INTERVALS, start)},
		[TABLE_WAITS] = {COL(WAITS, thread_id), COL(WAITS, start)},
		[TABLE_SAMPLES] = {COL(SAMPLES, thread_id), COL(SAMPLES, ts)},
	};

	if (info->nOrderBy > 2)
		return false;
	for (int i = 0; i < info->nOrderBy; i++)
		if (info->aOrderBy[i].desc || info->aOrderBy[i].iColumn != (int)keys[v->table][i])
			return false;
	return true;
}

static void use_order(const struct vtab *v, sqlite3_index_info *info, struct buf *plan)
{
	struct by by[FILTER_BY];

	if (!is_scan(v->table) || !info->nOrderBy || info->nOrderBy > FILTER_BY)
		return;
	for (int i = 0; i < info->nOrderBy; i++) {
		if (info->aOrderBy[i].iColumn < 0)
			return;
		by[i] = (struct by){(uint8_t)info->aOrderBy[i].iColumn, info->aOrderBy[i].desc};
	}
	info->orderByConsumed = in_order(v, info);
	if (info->orderByConsumed || !scan_can_order(v->table, by, (size_t)info->nOrderBy))
		return;
	buf_printf(plan, "%sby", plan->len ? " " : "");
	for (int i = 0; i < info->nOrderBy; i++)
		buf_printf(plan, "%c%s%s", i ? ',' : ' ', tables_column(v->table, by[i].column),
			   by[i].desc ? "-" : "");
	info->orderByConsumed = 1;
}

static int vtab_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	struct vtab *v = (struct vtab *)base;
	struct buf plan = {0};
	double rows = use_terms(v, info, &plan, guess_rows(v));

	if (v->table == TABLE_THREADS && rows == 1)
		info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
	use_order(v, info, &plan);
	v->sql->wanted |= wants(v->table, info->colUsed);
	info->estimatedRows = (sqlite3_int64)rows + 1;
	info->estimatedCost = rows * 2 + 1;
	info->idxStr = sqlite3_mprintf("%s", buf_cstr(&plan));
	info->needToFreeIdxStr = 1;
	buf_done(&plan);
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

static int vtab_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct vtab *v = (struct vtab *)base;
	struct vtab_cursor *c = mem_zalloc(sizeof(*c));

	c->sql = v->sql;
	c->table = v->table;
	c->by_scan = is_scan(v->table);
	*ret = &c->base;
	return SQLITE_OK;
}

static int vtab_close(sqlite3_vtab_cursor *base)
{
	struct vtab_cursor *c = (struct vtab_cursor *)base;

	scan_done(&c->scan);
	frames_done(&c->frames);
	free(c);
	return SQLITE_OK;
}

static int find_column(enum table t, const char *name, size_t n)
{
	for (unsigned i = 0; i < tables_width(t); i++)
		if (strlen(tables_column(t, i)) == n && !memcmp(tables_column(t, i), name, n))
			return (int)i;
	return -1;
}

/* Rounds a number so that the comparison works with integers; false: it cannot. */
static bool whole_value(sqlite3_value *v, enum compare op, int64_t *ret)
{
	double d;

	if (sqlite3_value_type(v) == SQLITE_INTEGER) {
		*ret = sqlite3_value_int64(v);
		return true;
	}
	if (sqlite3_value_type(v) != SQLITE_FLOAT)
		return false;
	d = sqlite3_value_double(v);
	if (op == COMPARE_EQ || !(fabs(d) < 9e18))
		return false;
	*ret = (int64_t)(op == COMPARE_GT || op == COMPARE_GE ? floor(d) : ceil(d));
	return true;
}

static void take_term(const struct vtab_cursor *c, struct row_filter *f, unsigned column,
		      enum compare op, sqlite3_value *v)
{
	struct term t = {.column = (uint8_t)column, .op = (uint8_t)op};

	if (is_scan(c->table) && scan_narrows(c->table, column) == NARROWS_CLASS) {
		if (sqlite3_value_type(v) != SQLITE_TEXT)
			return;
		t.value = (int64_t)scan_classes(c->table, column,
						(const char *)sqlite3_value_text(v));
	} else if (!whole_value(v, op, &t.value)) {
		return;
	}
	f->terms[f->n++] = t;
}

/* What vtab_best_index() wrote. */
static void read_plan(const struct vtab_cursor *c, const char *plan, int argc, sqlite3_value **argv,
		      struct row_filter *f)
{
	int arg = 0;

	*f = (struct row_filter){0};
	while (*plan && arg < argc) {
		size_t n = strcspn(plan, "<=>"), len;
		int column = find_column(c->table, plan, n);

		plan += n;
		len = strspn(plan, "<=>");
		for (unsigned op = 0; column >= 0 && op < ARRAY_LEN(compares); op++)
			if (strlen(compares[op].text) == len &&
			    !memcmp(compares[op].text, plan, len))
				take_term(c, f, (unsigned)column, op, argv[arg]);
		arg++;
		plan += len + 1;
		plan += *plan == ' ';
	}
	if (strncmp(plan, "by ", 3))
		return;
	for (plan += 3; *plan && f->n_by < ARRAY_LEN(f->by); plan += *plan == ',') {
		size_t n = strcspn(plan, ",-");

		f->by[f->n_by] =
			(struct by){(uint8_t)find_column(c->table, plan, n), plan[n] == '-'};
		plan += n + f->by[f->n_by++].desc;
	}
}

static int vtab_filter(sqlite3_vtab_cursor *base, int num, const char *plan, int argc,
		       sqlite3_value **argv)
{
	struct vtab_cursor *c = (struct vtab_cursor *)base;
	struct row_filter f;
	int rc;

	read_plan(c, plan ? plan : "", argc, argv, &f);
	rc = sql_load(c->sql, c->table == TABLE_FRAMES && !f.n ? WANT_SUMMARY | WANT_EVENTS : 0);
	if (rc)
		return rc;
	/* Nothing compares with NULL. */
	c->none = false;
	for (int i = 0; i < argc; i++)
		c->none |= sqlite3_value_type(argv[i]) == SQLITE_NULL;
	if (c->none)
		return SQLITE_OK;
	if (is_scan(c->table))
		scan_begin(&c->scan, c->sql, c->table, &f);
	else if (c->table == TABLE_FRAMES)
		frames_begin(&c->frames, c->sql, &f);
	else
		list_begin(&c->list, c->sql, c->table, &f);
	return SQLITE_OK;
}

static int vtab_next(sqlite3_vtab_cursor *base)
{
	struct vtab_cursor *c = (struct vtab_cursor *)base;

	if (c->by_scan)
		scan_next(&c->scan);
	else if (c->table == TABLE_FRAMES)
		frames_next(&c->frames);
	else
		list_next(&c->list);
	return SQLITE_OK;
}

static int vtab_eof(sqlite3_vtab_cursor *base)
{
	const struct vtab_cursor *c = (const struct vtab_cursor *)base;

	if (c->none)
		return true;
	if (c->by_scan)
		return c->scan.eof;
	if (c->table == TABLE_FRAMES)
		return c->frames.stack >= c->frames.stacks.n;
	return c->list.i >= c->list.n;
}

static int vtab_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
	struct vtab_cursor *c = (struct vtab_cursor *)base;
	struct cell cell;

	if (c->by_scan) {
		scan_column(&c->scan, ctx, (unsigned)column);
	} else if (c->table == TABLE_FRAMES) {
		/* Another cursor may have asked for another stack meanwhile. */
		tables_frames(&c->sql->tables, c->frames.stacks.v[c->frames.stack]);
		tables_frame(&c->sql->tables, c->frames.depth, (unsigned)column, &cell);
		result_cell(ctx, &cell);
	} else {
		list_column(&c->list, ctx, (unsigned)column);
	}
	return SQLITE_OK;
}

/* The same in every scan: for an OR, SQLite scans twice and drops ids that it has seen. */
static int vtab_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	const struct vtab_cursor *c = (const struct vtab_cursor *)base;
	const struct frame_list *f = &c->frames;

	if (c->by_scan)
		*ret = scan_rowid(&c->scan);
	else if (c->table == TABLE_FRAMES)
		*ret = (sqlite3_int64)((uint64_t)f->stacks.v[f->stack] << 16 | (f->depth & 0xffff));
	else
		*ret = (sqlite3_int64)c->list.i;
	return SQLITE_OK;
}

/* Without xCreate, the table is there under the module's name. */
static const sqlite3_module functions = {
	.xConnect = vtab_connect,
	.xBestIndex = vtab_best_index,
	.xDisconnect = vtab_disconnect,
	.xDestroy = vtab_disconnect,
	.xOpen = vtab_open,
	.xClose = vtab_close,
	.xFilter = vtab_filter,
	.xNext = vtab_next,
	.xEof = vtab_eof,
	.xColumn = vtab_column,
	.xRowid = vtab_rowid,
};

int vtabs_register(struct sql *s)
{
	int rc = SQLITE_OK;

	for (unsigned t = 0; !rc && t < TABLES; t++) {
		struct served *m = mem_alloc(sizeof(*m));

		*m = (struct served){s, t};
		rc = sqlite3_create_module_v2(s->db, tables_name(t), &functions, m, free);
	}
	return rc;
}
