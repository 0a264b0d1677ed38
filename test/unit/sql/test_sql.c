// SPDX-License-Identifier: MIT
/*
 * The virtual tables against each other and against the same question in words that SQLite cannot
 * hand down (+start): the same rows, and fewer of them looked at. What the passes cost is counted.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/buf.h"
#include "base/err.h"
#include "sql/sql.h"
#include "store/reader.h"
#include "unit/capture.h"
#include "wire/loss.h"

#define LOCK 0x55d0c0de0040ull
enum { THREADS = 6, CPUS = 3, ROUNDS = 2000, STEP_US = 50 };

/* Two threads to each CPU, which take turns; every third wait is for a lock that thread 2 has. */
static void rounds(struct writer *w, uint32_t stack)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t cpu = i % CPUS, in = 1 + cpu + (i / CPUS % 2) * CPUS;
		uint32_t out = i < CPUS ? 0 : 1 + cpu + ((i / CPUS + 1) % 2) * CPUS;
		uint64_t us = 10 + (uint64_t)i * STEP_US;

		PUT(us, cpu, EV_WAKING, .waking = {in, out, WAKE_TASK, 0, stack});
		if (out && i % 3 == 0)
			PUT(us + 4, cpu, EV_FUTEX, .futex = {out, LOCK, 0x80, 2, 2, 0, 2, 1, 0});
		PUT(us + 5, cpu, EV_SWITCH, .switch_ = {out, in, out ? STATE_INTERRUPTIBLE : 0, 0});
		if (i % 4 == 0)
			PUT(us + 6, cpu, EV_WAIT, .wait = {in, 0, stack});
		if (i % 5 == 0)
			PUT(us + 20, cpu, EV_SAMPLE, .sample = {in, 0, i % 2 ? stack : 0});
		if (i == ROUNDS / 2)
			PUT(us + 30, 1, EV_LOST, .lost = {LOSS_RING_FULL, 0, 7, 900 * US});
	}
}

static int setup(void **state)
{
	struct writer_opts opts = {.no_sync = true};
	struct module app = {.kind = MODULE_FILE, .path = "/bin/app"};
	struct frame f[2] = {{0, 0x10}, {0, 0x20}};
	struct writer *w;

	if (make_path(state) || writer_open(path, &opts, &w))
		return -1;
	writer_meta(w, "freq_hz", "100");
	f[0].module = f[1].module = writer_module(w, &app);
	PUT(0, 0, EV_MARK, .mark = {MARK_BEGIN});
	for (uint32_t tid = 1; tid <= THREADS; tid++)
		PUT(0, 0, EV_THREAD,
		    .thread = {tid, tid > 3 ? 4 : 1, STATE_INTERRUPTIBLE, 0, "a'b\xff"});
	rounds(w, writer_stack(w, f, 2, 1));
	PUT(10 + ROUNDS * STEP_US, 0, EV_MARK, .mark = {MARK_END});
	return writer_close(w, END_DONE);
}

static struct sql *begin(void)
{
	struct reader *r;
	struct sql *s;

	assert_int_equal(reader_open(path, &r), 0);
	assert_int_equal(sql_open(r, path, &(struct sql_opts){0}, &s), 0);
	return s;
}

/* The answer as CSV. */
static char *ask(struct sql *s, const char *text)
{
	char *p = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&p, &n);
	int rc = sql_run(s, text, SQL_CSV, out);

	fclose(out);
	if (rc)
		fail_msg("%s: %s", text, err_msg());
	return p;
}

static void same(struct sql *s, const char *a, const char *b)
{
	char *one = ask(s, a), *two = ask(s, b);

	if (strcmp(strchr(one, '\n'), strchr(two, '\n')))
		fail_msg("%s\n%s\nbut %s\n%s", a, one, b, two);
	assert_true(strlen(strchr(one, '\n')) > 1);
	free(one);
	free(two);
}

static uint64_t rows_for(struct sql *s, const char *text)
{
	uint64_t before = sql_work(s).rows;

	free(ask(s, text));
	return sql_work(s).rows - before;
}

/* FROM and WHERE; `+` keeps SQLite from handing a comparison down. */
static const struct {
	const char *with, *without, *by;
	double share; /* of the table's rows, at most */
} pairs[] = {
	{"intervals where start>=20000000 and start<30000000",
	 "intervals where +start>=20000000 and +start<30000000", "start, thread_id", 0.2},
	{"intervals where end>20000000 and start<20100000",
	 "intervals where +end>20000000 and +start<20100000", "start, thread_id", 0.05},
	{"intervals where start between 1e6 and 2.5e6",
	 "intervals where +start between 1e6 and 2.5e6", "start, thread_id", 0.1},
	{"intervals where tid=3", "intervals where +tid=3", "start", 0.3},
	{"intervals where thread_id in (1, 2)", "intervals where +thread_id in (1, 2)",
	 "start, thread_id", 0.5},
	{"intervals where pid=4 and kind='running'", "intervals where +pid=4 and +kind='running'",
	 "start, thread_id", 0.3},
	{"intervals where kind='lost'", "intervals where +kind='lost'", "start, thread_id", 0.1},
	{"intervals where reason='run_queue'", "intervals where +reason='run_queue'",
	 "start, thread_id", 0.5},
	{"waits where tid=2 and start>50000000", "waits where +tid=2 and +start>50000000", "start",
	 0.2},
	{"waits where start<=9223372036854775807 and tid=1", "waits where +start>=0 and +tid=1",
	 "start", 0.3},
	{"samples where ts>50000000 and thread_id=4", "samples where +ts>50000000 and +thread_id=4",
	 "ts", 0.2},
	{"wakes where ts>=50000000 and ts<=51000000 and wakee_tid=1",
	 "wakes where +ts>=50000000 and +ts<=51000000 and +wakee_tid=1", "ts", 0.05},
	{"threads where id=3", "threads where +id=3", "id", 0.2},
	{"threads where tid=3", "threads where +tid=3", "id", 0.2},
	/* Two scans each, of which rows must be told apart, and known again. */
	{"intervals where tid=3 or reason='run_queue'",
	 "intervals where +tid=3 or +reason='run_queue'", "start, thread_id", 1},
	{"waits where thread_id=1 or start>99000000", "waits where +thread_id=1 or +start>99000000",
	 "start, thread_id", 1},
	{"samples where ts<5000000 or tid=2", "samples where +ts<5000000 or +tid=2",
	 "ts, thread_id", 1},
	{"wakes where wakee_tid=1 or ts<1000000", "wakes where +wakee_tid=1 or +ts<1000000", "ts",
	 1},
	{"frames where stack=(select max(stack) from samples) or stack=(select max(stack) from "
	 "waits)",
	 "frames where +stack=(select max(stack) from samples) or +stack=(select max(stack) from "
	 "waits)",
	 "stack, depth", 1},
};

static void test_handed_down(void **state)
{
	struct sql *s = begin();

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		struct buf with = {0}, without = {0};
		uint64_t few, all;

		buf_printf(&with, "select * from %s order by %s", pairs[i].with, pairs[i].by);
		buf_printf(&without, "select * from %s order by %s", pairs[i].without, pairs[i].by);
		same(s, buf_cstr(&with), buf_cstr(&without));
		few = rows_for(s, buf_cstr(&with));
		all = rows_for(s, buf_cstr(&without));
		if (!few || (double)few > (double)all * pairs[i].share)
			fail_msg("%s: %d rows of %d", pairs[i].with, (int)few, (int)all);
		buf_done(&with);
		buf_done(&without);
	}
	sql_close(s);
}

/* Rows in the order of the scan's own are those that SQLite makes by sorting. */
static void test_groups(void **state)
{
	static const char *const keys[] = {"kind",
					   "reason",
					   "thread_id",
					   "tid",
					   "pid",
					   "kind, pid",
					   "tid, kind",
					   "pid, reason",
					   "reason, kind",
					   "kind, reason",
					   "thread_id, reason",
					   "pid, kind, tid",
					   "kind desc",
					   "reason desc, pid",
					   "pid desc, tid, kind desc",
					   "kind, pid desc"};
	struct sql *s = begin();

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct buf a = {0}, b = {0}, plain = {0};

		for (const char *p = keys[i]; *p; p += strncmp(p, " desc", 5) ? 0 : 5)
			buf_put_u8(&plain, (uint8_t)*p++);
		buf_printf(
			&a,
			"select %s, count(*), sum(ns), min(start), max(end) from intervals group "
			"by %s order by %s",
			buf_cstr(&plain), buf_cstr(&plain), keys[i]);
		buf_printf(&b,
			   "select %s, count(*), sum(ns), min(start), max(end) from (select * from "
			   "intervals limit -1 offset 0) group by %s order by %s",
			   buf_cstr(&plain), buf_cstr(&plain), keys[i]);
		same(s, buf_cstr(&a), buf_cstr(&b));
		buf_done(&a);
		buf_done(&b);
		buf_done(&plain);
	}
	same(s, "select distinct kind from intervals order by kind",
	     "select kind from intervals group by +kind order by 1");
	same(s, "select distinct pid, reason from waits order by pid desc, reason",
	     "select pid, reason from waits group by +pid, +reason order by 1 desc, 2");
	same(s, "select thread_id, start from waits order by thread_id, start",
	     "select thread_id, start from waits order by +thread_id, +start");
	sql_close(s);
}

/* What needs no reasons has no more than the short pass; both say the same. */
static void test_passes(void **state)
{
	struct sql *s = begin();
	char *lean = ask(s, "select thread_id, start, end, kind, cpu from intervals"), *full;

	assert_int_equal(sql_work(s).passes, 1);
	assert_int_equal(sql_work(s).lean_passes, 1);
	free(ask(s, "select sum(running_ns) from threads"));
	assert_int_equal(sql_work(s).passes, 1);
	free(ask(s, "select count(reason) from waits"));
	assert_int_equal(sql_work(s).passes, 2);
	full = ask(s, "select thread_id, start, end, kind, cpu from intervals");
	assert_int_equal(sql_work(s).passes, 2);
	assert_string_equal(lean, full);
	assert_true(strlen(full) > 100000);
	free(lean);
	free(full);
	sql_close(s);
}

static void test_truth(void **state)
{
	struct sql *s = begin();

	same(s, "select id, running_ns, runnable_ns, waiting_ns, lost_ns, samples from threads",
	     "select t.id, sum(ns) filter (where kind='running'), sum(ns) filter (where kind="
	     "'runnable'), sum(ns) filter (where kind='waiting'), sum(ns) filter (where kind="
	     "'lost'), (select count(*) from samples where thread_id = t.id) from threads t join "
	     "intervals i on i.thread_id = t.id group by t.id");
	same(s, "select 400, 7", "select count(*), (select sum(count) from losses) from samples");
	same(s, "select 2000", "select count(*) from wakes");
	same(s, "select 'app', 0, 2",
	     "select min(module), min(depth), count(*) from frames where stack = (select "
	     "max(stack) "
	     "from samples)");
	same(s, "select 'mutex', 661, 1, 1, 1",
	     "select kind, count(*), min(holder_id), max(holder_id), count(holder_id) > 300 from "
	     "waits "
	     "join locks on lock_id = locks.id");
	/* A comparison with NULL, and one that cannot be handed down. */
	same(s, "select 0, 2, 0",
	     "select (select count(*) from frames where stack = (select stack from samples where "
	     "stack is null)), (select count(*) from frames where stack = (select max(stack) || '' "
	     "from samples)), (select count(*) from intervals where tid = null)");
	same(s, "select 'a''b' || char(65533)", "select name from threads where id = 2");
	sql_close(s);
}

static void refused(struct sql *s, const char *text, const char *words)
{
	assert_int_equal(sql_run(s, text, SQL_CSV, stdout), -EINVAL);
	if (!strstr(err_msg(), words))
		fail_msg("%s: %s, without %s", text, err_msg(), words);
}

static void test_refused(void **state)
{
	struct sql *s = begin();

	refused(s, "attach '/tmp/x' as y", "refused");
	refused(s, "vacuum into '/tmp/x'", "refused");
	refused(s, "pragma journal_mode=wal", "refused");
	refused(s, "create table x(a)", "refused");
	refused(s, "create table main.x as select * from threads", "refused");
	refused(s, "insert into threads(id) values (1)", "refused");
	refused(s, "delete from threads", "may not be modified");
	refused(s, "create virtual table temp.x using fts5(a)", "refused");
	refused(s, "select load_extension('x')", "refused");
	refused(s, "select * from interval", "did you mean intervals?");
	refused(s, "select nam from threads", "did you mean name? It is in threads, locks");
	refused(s, "select 1 from", "incomplete");
	free(ask(s,
		 "create temp table x as select * from threads; create temp view y as select tid "
		 "from x; insert into x(id) values (9); update x set tid = 1; drop view y; "
		 "drop table x; pragma table_info(waits)"));
	sql_close(s);
}

/* On a screen of 80 columns. */
static void test_described(void **state)
{
	for (unsigned columns = 0; columns < 2; columns++) {
		char *p = NULL;
		size_t n = 0;
		FILE *out = open_memstream(&p, &n);

		assert_int_equal(sql_describe(out, columns, NULL), 0);
		fclose(out);
		assert_non_null(strstr(p, "stalls"));
		for (char *line = strtok(p, "\n"); line; line = strtok(NULL, "\n"))
			if (strlen(line) > 80 || line[strlen(line) - 1] == ' ')
				fail_msg("%s", line);
		free(p);
	}
}

static void stop(void *arg, double done)
{
	sql_interrupt(*(struct sql **)arg);
}

static void test_interrupted(void **state)
{
	struct reader *r;
	struct sql *s;
	struct sql_opts opts = {stop, &s};

	assert_int_equal(reader_open(path, &r), 0);
	assert_int_equal(sql_open(r, path, &opts, &s), 0);
	assert_int_equal(sql_run(s, "select count(*) from intervals", SQL_CSV, stdout), -ECANCELED);
	sql_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handed_down), cmocka_unit_test(test_groups),
		cmocka_unit_test(test_passes),	    cmocka_unit_test(test_truth),
		cmocka_unit_test(test_refused),	    cmocka_unit_test(test_described),
		cmocka_unit_test(test_interrupted),
	};

	return cmocka_run_group_tests(tests, setup, remove_path);
}
