// SPDX-License-Identifier: MIT
/*
 * Statements that are answered from sums, against the same statements from the intervals
 * themselves: a remark in front keeps a statement from the sums. Many are made from a grammar, the
 * nasty ones by hand; text, names, types and order must be the same in all forms. Sums only tell
 * intervals apart by thread, kind and reason: what needs more must not be answered from them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "sql/sql.h"
#include "store/reader.h"
#include "wire/loss.h"

#define T0 7000000000ull
#define US 1000ull
#define LOCK 0x55d0c0de0040ull
#define LEN(a) (sizeof(a) / sizeof((a)[0]))
enum { THREADS = 8, CPUS = 2, STEPS = 900, MADE = 700 };

static char path[] = "/tmp/thaw-test-XXXXXX";
static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

static const char *pick(const char *const *of, size_t n)
{
	return of[draw((uint32_t)n)];
}
#define PICK(of) pick(of, LEN(of))

/* ---- a capture: threads that wait for all sorts of things ---- */

static void put(struct writer *w, uint64_t us, unsigned cpu, struct event ev)
{
	ev.ts = T0 + us * US;
	ev.cpu = (uint16_t)cpu;
	writer_event(w, &ev);
}

#define PUT(us, cpu, kind_, ...) put(w, us, cpu, (struct event){.kind = kind_, __VA_ARGS__})
#define CALL(nr) ((nr) + 1)

static const struct {
	uint32_t state, call;
	bool futex;
} leaves[] = {
	{STATE_INTERRUPTIBLE, CALL(35), false}, /* nanosleep */
	{STATE_INTERRUPTIBLE, CALL(0) | FILE_PIPE << CALL_FILE_SHIFT, false},
	{STATE_INTERRUPTIBLE, CALL(0) | FILE_SOCKET << CALL_FILE_SHIFT, false},
	{STATE_INTERRUPTIBLE, CALL(7), false},	/* poll */
	{STATE_INTERRUPTIBLE, CALL(61), false}, /* wait4 */
	{STATE_INTERRUPTIBLE, CALL(202), true}, /* futex */
	{STATE_UNINTERRUPTIBLE | STATE_IOWAIT, 0, false},
	{STATE_STOPPED, 0, false},
	{0, 0, false},
	{STATE_PREEMPTED, 0, false},
	{STATE_THROTTLED, 0, false},
};

static void steps(struct writer *w)
{
	uint32_t on[CPUS] = {0};
	bool waits[THREADS + 1];
	uint64_t us = 10;

	memset(waits, true, sizeof(waits));
	for (uint32_t i = 0; i < STEPS; i++) {
		uint32_t cpu = draw(CPUS), out = on[cpu], in = 1 + draw(THREADS);
		uint32_t how = draw(LEN(leaves));

		us += 1 + draw(90);
		if (i == STEPS / 2)
			PUT(us++, 1, EV_LOST, .lost = {LOSS_RING_FULL, 0, 7, 400 * US});
		if (in == on[0] || in == on[1])
			continue;
		if (waits[in])
			PUT(us, cpu, EV_WAKING, .waking = {in, out, WAKE_TASK, 0, 0});
		us += draw(3);
		if (out && leaves[how].futex)
			PUT(us, cpu, EV_FUTEX, .futex = {out, LOCK, 0x80, 2, 2, 0, 2, 1, 0});
		PUT(us + 1, cpu, EV_SWITCH,
		    .switch_ = {out, in, out ? leaves[how].state : 0, leaves[how].call});
		waits[out] = leaves[how].state & ~(STATE_PREEMPTED | STATE_THROTTLED);
		waits[in] = false;
		on[cpu] = in;
		us += 2;
	}
	PUT(us + 50, 0, EV_MARK, .mark = {MARK_END});
}

static int setup(void **state)
{
	struct writer_opts opts = {.no_sync = true};
	struct writer *w;
	int fd = mkstemp(path);

	close(fd);
	if (fd < 0 || writer_open(path, &opts, &w))
		return -1;
	PUT(0, 0, EV_MARK, .mark = {MARK_BEGIN});
	/* Of the last thread only switches tell: its process is not known. */
	for (uint32_t tid = 1; tid < THREADS; tid++)
		PUT(0, 0, EV_THREAD, .thread = {tid, tid > 3 ? 4 : 1, STATE_INTERRUPTIBLE, 0, "x"});
	seed = 20;
	steps(w);
	return writer_close(w, END_DONE);
}

static int teardown(void **state)
{
	return unlink(path);
}

static struct sql *begin(void)
{
	struct reader *r;
	struct sql *s;

	assert_int_equal(reader_open(path, &r), 0);
	assert_int_equal(sql_open(r, path, &(struct sql_opts){0}, &s), 0);
	return s;
}

/* ---- both ways ---- */

/* The answer, or the failure, and whether it came from sums. */
static char *ask(struct sql *s, const char *text, enum sql_form form, bool *ret_sums)
{
	uint64_t before = sql_work(s).from_sums, rows = sql_work(s).rows;
	char *p = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&p, &n);

	if (sql_run(s, text, form, out))
		fprintf(out, "failed: %.*s\n", (int)strcspn(err_msg(), "\n"), err_msg());
	fclose(out);
	*ret_sums = sql_work(s).from_sums != before;
	if (*ret_sums)
		assert_int_equal(sql_work(s).rows, rows);
	return p;
}

static bool both(struct sql *s, const char *text, enum sql_form form)
{
	struct buf plain = {0};
	bool sums, not_sums;
	char *one = ask(s, text, form, &sums), *two;

	buf_printf(&plain, "/* as it is */ %s", text);
	two = ask(s, buf_cstr(&plain), form, &not_sums);
	assert_false(not_sums);
	if (strcmp(one, two)) {
		fprintf(stderr, "%s%s\nis\n%sbut must be\n%s", text, sums ? ", from sums," : "",
			one, two);
		fail();
	}
	buf_done(&plain);
	free(one);
	free(two);
	return sums;
}

static const char *const fast[] = {
	"select kind, count(*), sum(ns) from intervals group by kind",
	"SELECT kind, count(*), sum(\"end\" - start) FROM intervals GROUP BY kind",
	"select count( * ) as n, sum(end-start)\n, max(ns) as \"the \tlongest\", min(ns) from "
	"intervals",
	"select thread_id as id, \"kind\", sum(ns) as ns from intervals group by kind, thread_id "
	"order by 3 desc limit 5;",
	"select pid, sum(ns) from intervals group by pid order by pid desc",
	"select sum(ns) from intervals group by kind",
	"select kind, sum(ns) from intervals where tid = 1 group by kind",
	"select kind, sum(ns) / 2 from intervals group by kind",
	"select kind, count(ns) from intervals group by kind",
	"select reason, sum(ns) from intervals group by reason",
	"select kind, sum(ns) from intervals group by kind having sum(ns) > 1",
	"select kind, sum(ns) from intervals group by kind order by sum(ns)",
	"select reason, count(*) as waits, sum(ns) / 1e6 as ms, avg(ns), max(ns) / 1e3 from "
	"intervals where kind = 'waiting' group by reason having ms > 0.1 order by ms desc",
	"select reason, avg(ns) from intervals where kind='waiting' and reason!='idle' group by 1",
	"select thread_id, tid, pid, total(ns) from intervals group by thread_id",
	"select kind as k, round(sum(ns) / 1e6, 2) as total from intervals group by k order by "
	"total desc, k",
	"select kind, sum(ns) as ns, count(*) as count from intervals group by kind order by ns "
	"desc, count",
	"select kind from intervals group by kind",
	"select 'x', 1 + 2 as three, count(*) from intervals",
	"select (kind), +kind, kind || '!', count(*)*2 from intervals group by kind",
	"select case when kind = 'running' then 'on' else 'off' end, sum(ns) from intervals group "
	"by kind",
	"select Kind, COUNT(*) As N, MAX(\"NS\") from Intervals Group By KIND Order By N",
	"select count(*)from intervals where(kind='lost')limit 3",
	"select kind, count(*) from intervals where reason is null group by kind",
	"select kind, count(*) from intervals where kind in ('waiting', 'lost') and tid not "
	"between "
	"2 and 3 group by kind limit 2 offset 1",
	"select kind, count(*) from intervals where tid = '3' or pid = 4.0 or 'a' || tid = 'a5' "
	"group by kind",
	"select kind, sum(ns) from intervals where kind like 'WAIT%' group by kind",
	"select reason, count(*) from intervals group by reason order by reason desc nulls last",
	"select pid, reason, count(*), sum(ns) from intervals group by reason, pid order by 4, 1",
	"select kind, sum(ns) / 0, count(*) % 7, -max(ns), min(ns) - max(ns) from intervals group "
	"by kind",
	"select count(*), sum(ns), total(ns), avg(ns), min(ns), max(ns) from intervals where tid = "
	"99",
	"select kind, count(*), sum(ns), avg(ns) from intervals where kind = 'none' group by kind",
	"select count(*) from intervals having count(*) > 5",
	"select kind, 'a''b', sum(ns) from intervals group by kind order by 'x', 3",
	"select sum(ns) as \"sum\", count(*) as \"count\" from intervals group by tid order by "
	"\"count\", sum",
	"select printf('%.1f ms', sum(ns) / 1e6) from intervals group by tid",
	"select kind, abs(sum(ns)) + .5e1, 1.E3 from intervals group by kind",
	"select sum(ns) + 9223372036854775807 from intervals",
	"select count(*), sum(ns) from waits",
	"select reason, count(*) AS waits, sum(ns) / 1e6 AS total_ms, max(ns) / 1e6 AS longest_ms\n"
	"FROM waits WHERE reason != 'idle' GROUP BY reason ORDER BY total_ms DESC",
	"select tid, reason, sum(ns) as stack, min(end - start) from \"Waits\" group by 1, 2 order "
	"by stack",
	"select sum(\"end\" - \"start\"), avg(end - start) from intervals group by tid, kind, "
	"reason",
};

static const char *const slow[] = {
	"select tid, kind, sum(ns) ns from intervals group by tid, kind",
	"select kind, pid, sum(ns) from intervals group by kind",
	"select pid, sum(ns) from intervals group by tid",
	"select kind, sum(ns * 2) from intervals group by kind",
	"select kind, sum(start - end) from intervals group by kind",
	"select i.kind, sum(ns) from intervals i group by i.kind",
	"select kind, count(*), sum(ns) from waits group by kind",
	"select reason, lock_id, sum(ns) from waits group by reason",
	"select reason, count(lock_id) from waits group by reason",
	"select reason, count(*) from waits where lock_id is null group by reason",
	"select reason, sum(ns) as stack from waits group by reason having stack > 5",
	"select reason, sum(ns) from waits w group by reason",
	"select sum(ns) from waits, threads",
	"select kind, sum(ns) from main.intervals group by kind",
	"select kind, sum(ns) from intervals where ns > 50000 group by kind",
	"select kind, sum(ns) from intervals where start > 50000 group by kind",
	"select kind, count(*) from intervals where cpu = 1 group by kind",
	"select kind, count(*) from intervals group by kind, cpu",
	"select kind, count(distinct tid) from intervals group by kind",
	"select distinct kind, count(*) from intervals group by kind",
	"select *, count(*) from intervals group by kind",
	"select count(*), * from intervals",
	"select \"count\", count(*) as \"count\" from intervals",
	"select kind, ns from intervals group by kind",
	"select kind, max(ns), start from intervals group by kind",
	"select kind, max(ns) - ns from intervals group by kind",
	"select kind from intervals where kind = 'lost'",
	"select 1 from intervals limit 3",
	"select kind, sum(ns) filter (where tid = 1) from intervals group by kind",
	"select kind, sum(ns) over () from intervals group by kind",
	"select kind, sum(ns) from intervals group by kind union select 'x', 1",
	"select kind, (select count(*) from intervals) from intervals group by kind",
	"select kind, sum(ns) from intervals where tid in (select tid from threads) group by kind",
	"select intervals.kind, sum(ns) from intervals group by kind",
	"select i.kind, count(*) from intervals i, threads group by i.kind",
	"select kind, count(*) from intervals -- all\n group by kind",
	"select kind, count(*) from intervals /* all */ group by kind",
	"select count(*) as kind, sum(ns) from intervals group by kind",
	"select sum(ns) as ns from intervals group by kind having ns > 50000",
	"select kind, sum(ns) as ns from intervals group by kind order by ns + 0",
	"select kind, sum(ns) as ns from intervals group by kind order by -ns",
	"select kind, sum(ns) as cpu from intervals group by kind, cpu",
	"select count(*) as k from intervals where k > 5",
	"select kind as k, count(*) from intervals where k = 'lost'",
	"select sum(ns) as a, count(*) as a from intervals",
	"select count(*) as sums_ns, kind from intervals group by kind",
	"select sums_ns, count(*) from intervals",
	"select sum(sums_ns) from intervals",
	"select kind, count(*) from intervals group by kind || ''",
	"select kind || '', count(*) from intervals group by 1",
	"select kind, count(*) from intervals group by 2",
	"select kind, count(*) from intervals group by 3",
	"select kind, count(*) from intervals group by 'kind'",
	"select kind, count(*) from intervals group by kind order by tid",
	"select kind, count(*) from intervals group by kind order by 9",
	"select kind, count(*) from intervals group by kind having tid > 2",
	"select kind, count(*) from intervals where kind = \"waiting\" group by kind",
	"select kind, count(*) from intervals where kind = ? group by kind",
	"select kind, count(*) from intervals where kind = :a group by kind",
	"select kind, count(*) from intervals where rowid < 5 group by kind",
	"select kind, count(*) from intervals where \"rowid\" < 5 group by kind",
	"select kind, count(*) from intervals where tid = 0x1 group by kind",
	"select kind, count(*) from intervals where kind = 'LOST' collate nocase group by kind",
	"select kind, cast(sum(ns) as text) from intervals group by kind",
	"select kind, random() * 0, count(*) from intervals group by kind",
	"select kind, count() from intervals group by kind",
	"select kind, min(ns, 5) from intervals group by kind",
	"select kind, sum(ns) + end from intervals group by kind",
	"select kind, count(*) from intervals where sum(ns) > 5 group by kind",
	"select [kind], count(*) from intervals group by `kind`",
	"select kind, count(*) from intervals group by kind order",
	"select kind, count(*) from intervals where (kind = 'lost' group by kind",
	"select kind, count(*)) from intervals group by kind",
	"select count(*) from intervals where kind -> '$' is null",
	"select kind, group_concat(tid) from intervals group by kind",
	"select kind, count(*) from intervals group by kind limit (select 1)",
	"select kind, count(*) from intervals where kind = 'x",
	"select count(*) from intervals indexed by x",
	"select count(*) from intervals natural join threads",
	"select kind, count(*) from intervals group by kind window w as ()",
	"with x as (select 1) select kind, count(*) from intervals group by kind",
	"explain query plan select kind, count(*) from intervals group by kind",
	"select all count(*) from intervals",
	"select count(*) from intervals_sums",
	"select kind from main.intervals_sums",
};

static void test_by_hand(void **state)
{
	struct sql *s = begin();

	for (unsigned form = SQL_TABLE; form <= SQL_JSON; form++) {
		for (size_t i = 0; i < LEN(fast); i++)
			if (!both(s, fast[i], form))
				fail_msg("not from sums: %s", fast[i]);
		for (size_t i = 0; i < LEN(slow); i++)
			if (both(s, slow[i], form))
				fail_msg("from sums: %s", slow[i]);
	}
	sql_close(s);
}

/* ---- made ---- */

static const char *const keys[] = {"thread_id", "tid", "pid", "kind", "reason"};
static const char *const sums[] = {"count(*)",	"count(ns)",	    "sum(ns)",
				   "total(ns)", "avg(ns)",	    "min(ns)",
				   "max(ns)",	"sum(end - start)", "max(\"end\" - start)",
				   "AVG ( ns )"};
static const char *const numbers[] = {"0", "1", "3", "1e6", "2.5", "100000", ".5", "-7"};
static const char *const operators[] = {"+", "-", "*", "/", "%"};
static const char *const compares[] = {"<", "<=", "=", "!=", ">", ">=", "is", "is not"};

/* Of a group's own. */
static void put_value(struct buf *b, unsigned group, unsigned depth)
{
	switch (draw(depth ? 8 : 3)) {
	case 0:
		buf_printf(b, "%s", PICK(numbers));
		break;
	case 3:
		buf_printf(b, "(");
		put_value(b, group, depth - 1);
		buf_printf(b, " %s ", PICK(operators));
		put_value(b, group, depth - 1);
		buf_printf(b, ")");
		break;
	case 4:
		buf_printf(b, "round(");
		put_value(b, group, depth - 1);
		buf_printf(b, ", 1)");
		break;
	case 5:
		buf_printf(b, "case when ");
		put_value(b, group, depth - 1);
		buf_printf(b, " %s ", PICK(compares));
		put_value(b, group, depth - 1);
		buf_printf(b, " then 'yes' else null end");
		break;
	case 6: {
		unsigned key = draw(LEN(keys));

		if (group >> key & 1) {
			buf_printf(b, "%s", keys[key]);
			break;
		}
	}
	/* fall through */
	default:
		buf_printf(b, "%s", PICK(sums));
	}
}

/* Of keys. */
static void put_condition(struct buf *b, unsigned depth)
{
	static const char *const plain[] = {
		"kind = 'waiting'",
		"kind != 'running'",
		"reason = 'sleep'",
		"reason is null",
		"reason is not null",
		"pid = 4",
		"pid is null",
		"tid > 3",
		"tid between 2 and 5",
		"thread_id % 2",
		"reason like '%e%'",
		"kind glob 'r*'",
		"pid in (1, null)",
		"tid not in (1, '2', 3.0)",
		"kind < reason",
		"reason in ('disk', 'run_queue', 'throttled')",
		"kind in ('lost', 'runnable')",
		"case kind when 'waiting' then tid < 6 else pid = 1 end",
		"coalesce(reason, kind) = 'running'",
		"pid || kind = '4waiting'",
		"1",
		"null"};

	switch (draw(depth ? 6 : 3)) {
	case 3:
		buf_printf(b, "not (");
		put_condition(b, depth - 1);
		buf_printf(b, ")");
		break;
	case 4:
	case 5:
		buf_printf(b, "(");
		put_condition(b, depth - 1);
		buf_printf(b, draw(2) ? " and " : " or ");
		put_condition(b, depth - 1);
		buf_printf(b, ")");
		break;
	default:
		buf_printf(b, "%s", PICK(plain));
	}
}

struct made {
	unsigned group, order[LEN(keys)], n;
	unsigned item_of[LEN(keys)]; /* + 1; 0: none */
	unsigned items, aliases;
};

static void choose_group(struct made *m)
{
	*m = (struct made){.n = draw(4)};
	for (unsigned i = 0; i < m->n; i++) {
		m->order[i] = draw(LEN(keys));
		if (m->group >> m->order[i] & 1)
			m->n = i;
		else
			m->group |= 1u << m->order[i];
	}
}

static void put_items(struct buf *b, struct made *m)
{
	unsigned n = 1 + draw(4);

	for (unsigned i = 0; i < m->n; i++) {
		if (!draw(4))
			continue;
		buf_printf(b, "%s%s", m->items ? ", " : "", keys[m->order[i]]);
		m->item_of[i] = ++m->items;
		if (!draw(4))
			buf_printf(b, " AS k%u", i);
	}
	for (unsigned i = 0; i < n; i++) {
		buf_printf(b, "%s", m->items++ ? ", " : "");
		if (i)
			put_value(b, m->group, 2);
		else
			buf_printf(b, "%s", PICK(sums));
		if (draw(2))
			buf_printf(b, " AS a%u", m->aliases++);
	}
}

static void put_group(struct buf *b, const struct made *m)
{
	for (unsigned i = 0; i < m->n; i++) {
		buf_printf(b, "%s", i ? ", " : " GROUP BY ");
		if (m->item_of[i] && !draw(3))
			buf_printf(b, "%u", m->item_of[i]);
		else
			buf_printf(b, "%s", keys[m->order[i]]);
	}
}

static void put_order(struct buf *b, const struct made *m)
{
	static const char *const turns[] = {"", " asc", " desc", " desc nulls first",
					    " nulls last"};
	unsigned n = draw(4);

	for (unsigned i = 0; i < n; i++) {
		buf_printf(b, "%s", i ? ", " : " ORDER BY ");
		if (m->aliases && draw(2))
			buf_printf(b, "a%u", draw(m->aliases));
		else if (draw(2))
			buf_printf(b, "%u", 1 + draw(m->items));
		else {
			buf_printf(b, "%s %s ", PICK(sums), PICK(operators));
			put_value(b, m->group, 1);
		}
		buf_printf(b, "%s", PICK(turns));
	}
	if (!draw(3))
		buf_printf(b, " LIMIT %u", draw(5));
	else if (!draw(6))
		buf_printf(b, " LIMIT %u OFFSET %u", draw(5), draw(3));
}

static void make(struct buf *b)
{
	struct made m;
	char *from;

	choose_group(&m);
	buf_clear(b);
	buf_printf(b, "SELECT ");
	put_items(b, &m);
	buf_printf(b, " FROM intervals");
	if (draw(3)) {
		buf_printf(b, " WHERE ");
		put_condition(b, 2);
	}
	put_group(b, &m);
	if (m.n && !draw(3)) {
		buf_printf(b, " HAVING ");
		if (m.aliases && draw(2))
			buf_printf(b, "a%u", draw(m.aliases));
		else
			put_value(b, m.group, 1);
		buf_printf(b, " %s ", PICK(compares));
		put_value(b, m.group, 1);
	}
	put_order(b, &m);
	from = strstr(buf_cstr(b), "intervals");
	/* What asks for no kind may be asked of waits as well. */
	if (draw(2) && !strstr((char *)b->p, "kind"))
		memcpy(from, "waits    ", strlen("intervals"));
}

static void test_made(void **state)
{
	struct sql *s = begin(), *fresh;
	struct buf b = {0};

	seed = 1;
	for (unsigned i = 0; i < MADE; i++) {
		make(&b);
		if (!both(s, buf_cstr(&b), SQL_TABLE + i % 3))
			fail_msg("not from sums: %s", buf_cstr(&b));
		/* From sums that were made while the capture was read, not from its intervals. */
		if (i % 8)
			continue;
		fresh = begin();
		(void)both(fresh, buf_cstr(&b), SQL_CSV);
		sql_close(fresh);
	}
	buf_done(&b);
	sql_close(s);
}

/* Without reasons, a shorter pass; what was read is enough for what needs less. */
static void test_passes(void **state)
{
	struct sql *s = begin();
	bool from;

	free(ask(s, fast[0], SQL_CSV, &from));
	assert_int_equal(sql_work(s).passes, 1);
	assert_int_equal(sql_work(s).lean_passes, 1);
	free(ask(s, "select reason, sum(ns) from intervals group by 1", SQL_CSV, &from));
	assert_int_equal(sql_work(s).passes, 2);
	free(ask(s, fast[0], SQL_CSV, &from));
	assert_int_equal(sql_work(s).passes, 2);
	sql_close(s);
}

/* A table or a view of one's own goes first; several statements are one after the other. */
static void test_own(void **state)
{
	struct sql *s = begin();
	bool from;
	char *p = ask(s,
		      "create temp view intervals as select 'x' as kind, 5 as ns; select kind, "
		      "sum(ns) from intervals group by kind",
		      SQL_CSV, &from);

	assert_false(from);
	assert_non_null(strstr(p, "x,5"));
	free(p);
	p = ask(s,
		"drop view intervals; create temp table Intervals(kind, ns); insert into intervals "
		"values ('y', 6); select kind, sum(ns) from intervals group by kind",
		SQL_CSV, &from);
	assert_false(from);
	assert_non_null(strstr(p, "y,6"));
	free(p);
	p = ask(s,
		"drop table intervals; select count(*) > 100 as many from intervals; select "
		"count(*) > 1e9 from intervals",
		SQL_CSV, &from);
	assert_int_equal(sql_work(s).from_sums, 2);
	assert_string_equal(p, "many\r\n1\r\ncount(*) > 1e9\r\n0\r\n");
	free(p);
	sql_close(s);
}

/* The capture has what the statements ask of. */
static void test_variety(void **state)
{
	static const char *const has[] = {"running", "lost", "run_queue", "throttled",
					  "sleep",   "disk", "pipe",	  "child"};
	struct sql *s = begin();
	bool from;
	char *p = ask(s,
		      "/**/ select coalesce(reason, kind), count(*), min(pid is null) from "
		      "intervals group by 1; select count(*) from threads where pid is null",
		      SQL_CSV, &from);

	for (size_t i = 0; i < LEN(has); i++)
		if (!strstr(p, has[i]))
			fail_msg("no %s:\n%s", has[i], p);
	assert_non_null(strstr(p, "count(*)\r\n1\r\n"));
	free(p);
	sql_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variety), cmocka_unit_test(test_by_hand),
		cmocka_unit_test(test_made),	cmocka_unit_test(test_passes),
		cmocka_unit_test(test_own),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
