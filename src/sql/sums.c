// SPDX-License-Identifier: MIT
/*
 * The statements that are asked most only add up: SELECT kind, count(*), sum(ns) FROM intervals
 * GROUP BY kind. They need no intervals, only their sums by thread and kind, which cost next to
 * nothing to make while the capture is read. A statement that is of exactly such a form, and of
 * which nothing else can be meant, is asked of a table of these sums instead; all others are left
 * alone.
 *
 *   SELECT item, ... FROM intervals [GROUP BY key, ...] [ORDER BY ...] [LIMIT n] [;]
 *   key: thread_id, tid, pid, kind; item: a key of the GROUP BY, or count(*), or sum, min or max of
 *   ns or of end - start, with or without AS; ORDER BY has keys or numbers of items alone.
 */
#include "sql/private.h"

#include <ctype.h>
#include <string.h>

static const char *const keys[] = {"thread_id", "tid", "pid", "kind"};
enum { KEYS = ARRAY_LEN(keys), ITEMS = 16 };

struct token {
	const char *p;
	size_t n;
	bool word, number;
};

struct item {
	const char *what; /* NULL: a key */
	struct token as;  /* its name; n 0: none */
	const char *begin, *end;
	unsigned key;
};

struct parse {
	const char *at;
	struct token t; /* the next one */
	struct item items[ITEMS];
	size_t n;
	unsigned grouped; /* keys, as bits */
	const char *rest;
};

/* Remarks, and names in quotes that are odd, are nothing for this. */
static void next(struct parse *p)
{
	const char *s = p->at + strspn(p->at, " \t\r\n");
	size_t n = *s != '\0';

	p->t = (struct token){.p = s};
	if (isalpha((unsigned char)*s) || *s == '_')
		while (isalnum((unsigned char)s[n]) || s[n] == '_')
			n++;
	else if (isdigit((unsigned char)*s))
		n = strspn(s, "0123456789");
	p->t.word = isalpha((unsigned char)*s) || *s == '_';
	p->t.number = isdigit((unsigned char)*s);
	p->t.n = n;
	p->at = s + n;
	if (*s == '"') {
		n = strcspn(s + 1, "\"");
		p->t = (struct token){.p = s + 1, .n = n, .word = true};
		p->at = s[n + 1] && s[n + 2] != '"' ? s + n + 2 : s + n + 1;
	}
}

static bool is(const struct parse *p, const char *text)
{
	return p->t.n == strlen(text) && !sqlite3_strnicmp(p->t.p, text, (int)p->t.n);
}

static bool take(struct parse *p, const char *text)
{
	if (!is(p, text))
		return false;
	next(p);
	return true;
}

static unsigned key_of(const struct parse *p)
{
	unsigned i = 0;

	while (i < KEYS && !is(p, keys[i]))
		i++;
	return i;
}

/* "ns)" or "end - start)". */
static bool take_length(struct parse *p)
{
	if (take(p, "ns"))
		return take(p, ")");
	return take(p, "end") && take(p, "-") && take(p, "start") && take(p, ")");
}

static bool take_what(struct parse *p, struct item *it)
{
	static const struct {
		const char *name, *what;
	} sums[] = {{"sum", "sum(ns)"}, {"min", "min(shortest)"}, {"max", "max(longest)"}};

	if (take(p, "count")) {
		it->what = "coalesce(sum(n), 0)";
		return take(p, "(") && take(p, "*") && take(p, ")");
	}
	for (size_t i = 0; i < ARRAY_LEN(sums); i++) {
		if (!take(p, sums[i].name))
			continue;
		it->what = sums[i].what;
		return take(p, "(") && take_length(p);
	}
	it->key = key_of(p);
	next(p);
	return it->key < KEYS;
}

static bool take_items(struct parse *p)
{
	do {
		struct item *it = &p->items[p->n];

		it->begin = p->t.p - (p->t.p[-1] == '"');
		if (p->n++ == ITEMS - 1 || !take_what(p, it))
			return false;
		it->end = p->t.p;
		if (take(p, "as")) {
			it->as = p->t;
			next(p);
			if (!it->as.word)
				return false;
			it->end = p->t.p;
		}
		while (it->end > it->begin && isspace((unsigned char)it->end[-1]))
			it->end--;
	} while (take(p, ","));
	return true;
}

static bool take_group(struct parse *p)
{
	if (!take(p, "group"))
		return true;
	if (!is(p, "by"))
		return false;
	do {
		next(p);
		if (key_of(p) == KEYS)
			return false;
		p->grouped |= 1u << key_of(p);
		next(p);
	} while (is(p, ","));
	return true;
}

/* The words of ORDER BY and LIMIT, as far as they say the same of the sums. */
static bool take_rest(struct parse *p)
{
	static const char *const words[] = {"order", "by", "asc", "desc", "limit", ","};

	while (p->t.n && !is(p, ";")) {
		bool known = p->t.number || key_of(p) < KEYS;

		for (size_t i = 0; i < ARRAY_LEN(words); i++)
			known |= is(p, words[i]);
		if (!known)
			return false;
		next(p);
	}
	(void)take(p, ";");
	return !p->t.n;
}

static bool understand(struct parse *p)
{
	next(p);
	if (!take(p, "select") || !take_items(p) || !is(p, "from"))
		return false;
	next(p);
	if (!take(p, "intervals"))
		return false;
	p->rest = p->t.p;
	if (!take_group(p) || !take_rest(p))
		return false;
	for (size_t i = 0; i < p->n; i++)
		if (!p->items[i].what && !(p->grouped >> p->items[i].key & 1))
			return false;
	return true;
}

/* In quotes. */
static void put_name(struct buf *b, const char *s, const char *end, bool in_one_line)
{
	buf_put_u8(b, '"');
	for (; s < end; s++) {
		if (*s == '"')
			buf_put_u8(b, '"');
		buf_put_u8(b, in_one_line && isspace((unsigned char)*s) ? ' ' : (uint8_t)*s);
	}
	buf_put_u8(b, '"');
}

/* Under the name that SQLite would give it: its text, or that of AS as it is. */
static void put_item(struct buf *b, const struct item *it)
{
	if (!it->what) {
		buf_put(b, it->begin, (size_t)(it->end - it->begin));
		return;
	}
	buf_printf(b, "%s AS ", it->what);
	if (it->as.n)
		put_name(b, it->as.p, it->as.p + it->as.n, false);
	else
		put_name(b, it->begin, it->end, true);
}

bool sums_instead(struct sql *s, const char *text, struct buf *ret)
{
	struct parse p = {.at = text};

	if (!understand(&p) || !sqlite3_table_column_metadata(s->db, "temp", "intervals", NULL,
							      NULL, NULL, NULL, NULL, NULL))
		return false;
	buf_clear(ret);
	buf_printf(ret, "SELECT ");
	for (size_t i = 0; i < p.n; i++) {
		buf_printf(ret, "%s", i ? ", " : "");
		put_item(ret, &p.items[i]);
	}
	buf_printf(ret, " FROM " SUMS_TABLE " %s", p.rest);
	return true;
}

/* ---- the table of them ---- */

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
	struct sums_vtab *v;
	int rc;

	((struct sql *)aux)->own = true;
	rc = sqlite3_declare_vtab(db, "CREATE TABLE x(thread_id INTEGER, tid INTEGER, pid INTEGER, "
				      "kind TEXT, n INTEGER, ns INTEGER, shortest INTEGER, longest "
				      "INTEGER)");
	((struct sql *)aux)->own = false;
	if (rc)
		return rc;
	v = mem_zalloc(sizeof(*v));
	v->sql = aux;
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

static void settle(struct sums_cursor *c)
{
	while (c->i < c->sql->sums.n && !c->sql->sums.v[c->i].n)
		c->i++;
}

static int sums_filter(sqlite3_vtab_cursor *base, int num, const char *plan, int argc,
		       sqlite3_value **argv)
{
	struct sums_cursor *c = (struct sums_cursor *)base;
	int rc = sql_load(c->sql, WANT_SUMS);

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

	return c->i >= c->sql->sums.n;
}

static int sums_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int column)
{
	const struct sums_cursor *c = (const struct sums_cursor *)base;
	const struct sum *s = &c->sql->sums.v[c->i];
	const struct thread *th = c->sql->model->timeline.threads.v[c->i / INTERVAL_KINDS];
	const uint64_t numbers[] = {th->index, th->tid, th->pid,     0,
				    s->n,      s->ns,	s->shortest, s->longest};

	if (column == KEYS - 1)
		sqlite3_result_text(ctx, interval_kind_name(c->i % INTERVAL_KINDS), -1,
				    SQLITE_STATIC);
	else if (column != 2 || th->pid)
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
