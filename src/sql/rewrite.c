// SPDX-License-Identifier: MIT
/*
 * Statements that only add up intervals or waits, as statements about their sums:
 *
 *   SELECT item, ... FROM table [WHERE ...] [GROUP BY ...] [HAVING ...] [ORDER BY ...]
 *   [LIMIT ...] [;]
 *
 * The text is gone through once, token by token, and goes out as it is but for the table's name and
 * the aggregates of an interval's length. What may stand where is in the tables below; a token that
 * is in none of them, a column that differs within a group, or anything of which something else
 * could be meant ends it: then SQLite answers from the intervals themselves, as it does where what
 * comes out here is no statement. So this needs to know nothing of the grammar of expressions.
 *
 * WHERE has only keys and constants: it says the same of all intervals of a sum. All else has only
 * keys of the GROUP BY, aggregates, constants and aliases of such.
 */
#include <string.h>

#include "sql/private.h"
#include "sql/token.h"

enum clause { SELECT, WHERE, GROUP, HAVING, ORDER, LIMIT };
#define IN(clause) (1u << (clause))
#define EXPRESSIONS (IN(SELECT) | IN(WHERE) | IN(HAVING) | IN(ORDER))
#define ADDED_UP (IN(SELECT) | IN(HAVING) | IN(ORDER))

/* What a clause begins with, in their order. */
static const struct {
	const char *word, *then;
} clauses[] = {
	[SELECT] = {"select", NULL}, [WHERE] = {"where", NULL}, [GROUP] = {"group", "by"},
	[HAVING] = {"having", NULL}, [ORDER] = {"order", "by"}, [LIMIT] = {"limit", NULL},
};

/* Words that mean the same of sums as of intervals, and where. */
static const struct {
	const char *word;
	unsigned in;
} words[] = {
	{"and", EXPRESSIONS},
	{"or", EXPRESSIONS},
	{"not", EXPRESSIONS},
	{"in", EXPRESSIONS},
	{"like", EXPRESSIONS},
	{"glob", EXPRESSIONS},
	{"is", EXPRESSIONS},
	{"null", EXPRESSIONS},
	{"between", EXPRESSIONS},
	{"case", EXPRESSIONS},
	{"when", EXPRESSIONS},
	{"then", EXPRESSIONS},
	{"else", EXPRESSIONS},
	{"end", EXPRESSIONS},
	{"abs", EXPRESSIONS},
	{"round", EXPRESSIONS},
	{"coalesce", EXPRESSIONS},
	{"ifnull", EXPRESSIONS},
	{"nullif", EXPRESSIONS},
	{"printf", EXPRESSIONS},
	{"format", EXPRESSIONS},
	{"asc", IN(ORDER)},
	{"desc", IN(ORDER)},
	{"nulls", IN(ORDER)},
	{"first", IN(ORDER)},
	{"last", IN(ORDER)},
	{"offset", IN(LIMIT)},
	/* Nowhere: but names that an alias must not have. */
	{"rowid", 0},
	{"oid", 0},
	{"_rowid_", 0},
	{"true", 0},
	{"false", 0},
	{"as", 0},
	{"from", 0},
	{"by", 0},
};

/* The columns that sums are by; of the others, an interval has its own. */
static const char *const keys[] = {"thread_id", "tid", "pid", "kind", "reason"};
enum { KEY_THREAD, KEY_TID, KEY_PID, KEYS = ARRAY_LEN(keys), ITEMS = 32 };

#define SUM(f, column) #f "(" SUMS_PREFIX #column ")"

/* Aggregates of ns or end - start; count is of * too. SQLite's avg is of floats, as total is. */
static const struct {
	const char *name, *instead;
} aggregates[] = {
	{"count", "coalesce(" SUM(sum, n) ", 0)"},
	{"sum", SUM(sum, ns)},
	{"total", SUM(total, ns)},
	{"avg", "(" SUM(total, ns) " / " SUM(total, n) ")"},
	{"min", SUM(min, shortest)},
	{"max", SUM(max, longest)},
};

struct item {
	struct token as; /* type 0: none */
	unsigned key;	 /* it is nothing but this one; KEYS: something else */
};

struct rewrite {
	struct token t, before;
	const char *copied; /* up to here the text has gone out */
	struct buf *out;
	enum table table;
	enum clause clause;
	unsigned depth;
	/* The item of the SELECT that it stands in. */
	const char *begin;
	size_t tokens;
	bool added_up;
	struct item items[ITEMS];
	size_t n;
	unsigned used, grouped; /* keys */
	bool sums;		/* there is something that is added up, or a GROUP BY */
};

static void next(struct rewrite *r)
{
	r->before = r->t;
	r->t = token_after(&r->t);
}

static unsigned find_name(const struct token *t, const char *const *names, unsigned n)
{
	unsigned i = 0;

	while (i < n && !token_is_name(t, names[i]))
		i++;
	return i;
}

static bool take_name(struct rewrite *r, const char *name)
{
	if (!token_is_name(&r->t, name))
		return false;
	next(r);
	return true;
}

static bool take_char(struct rewrite *r, char c)
{
	if (!token_is_char(&r->t, c))
		return false;
	next(r);
	return true;
}

/* ---- what goes out ---- */

static void copy_to(struct rewrite *r, const char *end)
{
	buf_put(r->out, r->copied, (size_t)(end - r->copied));
	r->copied = end;
}

/* The name that SQLite gives to a column without one: its text, in one line. */
static void put_name(struct buf *b, const char *s, const char *end)
{
	buf_printf(b, " AS \"");
	for (; s < end; s++) {
		if (*s == '"')
			buf_put_u8(b, '"');
		buf_put_u8(b, strchr("\t\r\n\f", *s) ? ' ' : (uint8_t)*s);
	}
	buf_put_u8(b, '"');
}

/* ---- the clauses ---- */

static bool is_key(const struct token *t)
{
	return find_name(t, keys, KEYS) < KEYS;
}

/* Might the name be something else too? */
static bool is_taken(const struct token *t)
{
	bool quoted = t->type == TYPE_QUOTED;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (token_is_name(t, words[i].word))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(clauses); i++)
		if (token_is_name(t, clauses[i].word))
			return true;
	return is_key(t) || t->n <= 2u * quoted ||
	       !sqlite3_strnicmp(t->p + quoted, SUMS_PREFIX, (int)strlen(SUMS_PREFIX));
}

static const struct item *find_alias(const struct rewrite *r, const struct token *t)
{
	char name[128];
	size_t quoted = t->type == TYPE_QUOTED, n = t->n - 2 * quoted;

	if (n >= sizeof(name))
		return NULL;
	memcpy(name, t->p + quoted, n);
	name[n] = 0;
	for (size_t i = 0; i < r->n; i++)
		if (r->items[i].as.type && token_is_name(&r->items[i].as, name))
			return &r->items[i];
	return NULL;
}

/* AS and a name, which must be the last of an item. */
static bool take_alias(struct rewrite *r, struct item *it)
{
	next(r);
	if ((r->t.type != TYPE_WORD && r->t.type != TYPE_QUOTED) || is_taken(&r->t) ||
	    find_alias(r, &r->t))
		return false;
	it->as = r->t;
	next(r);
	return token_is_char(&r->t, ',') || token_is_word(&r->t, "from");
}

/* At the comma behind an item, or at FROM. */
static bool end_item(struct rewrite *r, bool has_alias)
{
	struct item *it = &r->items[r->n];

	if (r->depth || !r->tokens || r->n + 1 == ITEMS)
		return false;
	if (r->tokens > 1)
		it->key = KEYS;
	copy_to(r, token_end(&r->before));
	if (r->added_up && !has_alias)
		put_name(r->out, r->begin, token_end(&r->before));
	r->n++;
	r->tokens = 0;
	r->added_up = false;
	r->items[r->n].key = KEYS;
	return true;
}

/* "ns" or "end - start", and the parenthesis; * for count. */
static bool take_length(struct rewrite *r, bool count)
{
	if (!take_char(r, '('))
		return false;
	if (!(count && take_char(r, '*')) && !take_name(r, "ns") &&
	    !(take_name(r, "end") && take_char(r, '-') && take_name(r, "start")))
		return false;
	return token_is_char(&r->t, ')');
}

static bool take_aggregate(struct rewrite *r, size_t i)
{
	copy_to(r, r->t.p);
	next(r);
	if (!take_length(r, !i))
		return false;
	buf_printf(r->out, "%s", aggregates[i].instead);
	r->copied = token_end(&r->t);
	r->added_up = true;
	r->sums |= r->clause == SELECT;
	return true;
}

static bool take_key(struct rewrite *r, unsigned key)
{
	if (r->clause == GROUP)
		r->grouped |= 1u << key;
	else if (r->clause != WHERE)
		r->used |= 1u << key;
	if (r->clause == SELECT)
		r->items[r->n].key = key;
	return r->clause != LIMIT;
}

/* Is all of this term of the ORDER BY the token? */
static bool is_whole_term(const struct rewrite *r)
{
	static const char *const ends[] = {"asc", "desc", "nulls", "limit"};
	struct token t = token_after(&r->t);

	if (r->depth || !(token_is_word(&r->before, "by") || token_is_char(&r->before, ',')))
		return false;
	return t.type == TYPE_END || token_is_char(&t, ',') || token_is_char(&t, ';') ||
	       (t.type == TYPE_WORD && find_name(&t, ends, ARRAY_LEN(ends)) < ARRAY_LEN(ends));
}

static bool is_column(const struct rewrite *r, const struct token *t)
{
	for (unsigned i = 0; i < tables_width(r->table); i++)
		if (token_is_name(t, tables_column(r->table, i)))
			return true;
	return false;
}

/*
 * SQLite takes it for the item in GROUP BY, HAVING and ORDER BY, but where there is a column of
 * that name: then only as a whole term of ORDER BY.
 */
static bool take_known_alias(struct rewrite *r, const struct item *it)
{
	if (is_column(r, &r->t))
		return r->clause == ORDER && is_whole_term(r);
	if (r->clause == GROUP && it->key < KEYS) {
		r->grouped |= 1u << it->key;
		return true;
	}
	return r->clause == HAVING || r->clause == ORDER;
}

static bool take_a_word(struct rewrite *r)
{
	unsigned key = find_name(&r->t, keys, KEYS);
	struct token then = token_after(&r->t);
	bool called = ADDED_UP & IN(r->clause) && token_is_char(&then, '(');
	const struct item *it;

	if (key < KEYS)
		return take_key(r, key);
	for (size_t i = 0; called && i < ARRAY_LEN(aggregates); i++)
		if (token_is_word(&r->t, aggregates[i].name))
			return take_aggregate(r, i);
	it = r->clause > SELECT ? find_alias(r, &r->t) : NULL;
	if (it)
		return take_known_alias(r, it);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (token_is_word(&r->t, words[i].word))
			return words[i].in & IN(r->clause);
	return false;
}

/* In GROUP BY, the number of an item. */
static bool take_number(struct rewrite *r)
{
	size_t i = 0;

	if (r->clause != GROUP)
		return true;
	for (size_t k = 0; k < r->t.n && i < ITEMS; k++) {
		if (r->t.p[k] < '0' || r->t.p[k] > '9')
			return false;
		i = i * 10 + (size_t)(r->t.p[k] - '0');
	}
	if (!i || i > r->n || r->items[i - 1].key == KEYS)
		return false;
	r->grouped |= 1u << r->items[i - 1].key;
	return true;
}

static bool take_other(struct rewrite *r)
{
	char c = *r->t.p;

	if (r->clause == GROUP)
		return c == ',';
	if (r->clause == LIMIT)
		return c == ',' || c == '-';
	/* All columns. */
	if (c == '*' && r->before.type == TYPE_OTHER && !token_is_char(&r->before, ')'))
		return false;
	if (c == ')' && !r->depth)
		return false;
	r->depth += c == '(';
	r->depth -= c == ')';
	return c != ';';
}

static bool take_token(struct rewrite *r)
{
	r->tokens++;
	switch (r->t.type) {
	case TYPE_WORD:
	case TYPE_QUOTED:
		return take_a_word(r);
	case TYPE_NUMBER:
		return take_number(r);
	case TYPE_STRING:
		return EXPRESSIONS & IN(r->clause);
	case TYPE_OTHER:
		return take_other(r);
	default:
		return false;
	}
}

static bool take_items(struct rewrite *r)
{
	if (!token_is_word(&r->t, clauses[SELECT].word))
		return false;
	next(r);
	r->items[0].key = KEYS;
	for (r->begin = r->t.p; !token_is_word(&r->t, "from"); next(r)) {
		struct item *it = &r->items[r->n];

		if (!r->tokens && token_is_char(&r->t, '*'))
			return false;
		if (!r->depth && r->tokens && token_is_word(&r->t, "as")) {
			if (!take_alias(r, it) || !end_item(r, true))
				return false;
		} else if (!r->depth && token_is_char(&r->t, ',')) {
			if (!end_item(r, false))
				return false;
		} else if (take_token(r)) {
			continue;
		} else {
			return false;
		}
		/* At the comma, or at FROM. */
		if (!token_is_char(&r->t, ','))
			return true;
		r->begin = token_after(&r->t).p;
	}
	return end_item(r, false);
}

/* A later clause; LIMIT + 1: none begins here. */
static enum clause find_clause(const struct rewrite *r)
{
	enum clause c = r->clause + 1;

	while (c <= LIMIT && !token_is_word(&r->t, clauses[c].word))
		c++;
	return c;
}

static bool take_rest(struct rewrite *r)
{
	while (r->t.type != TYPE_END && !token_is_char(&r->t, ';')) {
		enum clause c = find_clause(r);

		if (c > LIMIT) {
			if (r->clause == SELECT || !take_token(r))
				return false;
		} else {
			if (r->depth)
				return false;
			r->clause = c;
			r->sums |= c == GROUP;
			if (clauses[c].then) {
				next(r);
				if (!token_is_word(&r->t, clauses[c].then))
					return false;
			}
		}
		next(r);
	}
	copy_to(r, r->t.p);
	return !r->depth;
}

bool rewrite(const char *text, struct buf *ret, const char **ret_rest, enum table *ret_table)
{
	struct rewrite r = {.out = ret, .copied = text};

	r.t = (struct token){.p = text};
	next(&r);
	if (!take_items(&r))
		return false;
	next(&r);
	r.table = token_is_name(&r.t, tables_name(TABLE_WAITS)) ? TABLE_WAITS : TABLE_INTERVALS;
	if (!token_is_name(&r.t, tables_name(r.table)))
		return false;
	buf_printf(ret, " FROM main.%s" SUMS_SUFFIX, tables_name(r.table));
	r.copied = token_end(&r.t);
	next(&r);
	if (!take_rest(&r))
		return false;
	/* A thread has one tid and one pid. */
	if (r.grouped >> KEY_THREAD & 1)
		r.grouped |= 1u << KEY_TID | 1u << KEY_PID;
	*ret_rest = token_end(&r.t);
	*ret_table = r.table;
	return r.sums && !(r.used & ~r.grouped);
}
