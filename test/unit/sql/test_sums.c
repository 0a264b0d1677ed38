// SPDX-License-Identifier: MIT
/*
 * The tables of sums against the same sums of the intervals and waits themselves, whatever was read
 * of the capture before.
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

#include "base/err.h"
#include "sql/sql.h"
#include "store/reader.h"
#include "wire/loss.h"

#define T0 7000000000ull
#define US 1000ull
#define LOCK 0x55d0c0de0040ull
#define LEN(a) (sizeof(a) / sizeof((a)[0]))
enum { THREADS = 8, CPUS = 2, STEPS = 900 };

static char path[] = "/tmp/thaw-test-XXXXXX";
static uint64_t seed;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

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

static char *ask(struct sql *s, const char *text)
{
	char *p = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&p, &n);

	if (sql_run(s, text, SQL_CSV, out))
		fprintf(out, "failed: %s\n", err_msg());
	fclose(out);
	return p;
}

static void same(struct sql *s, const char *sums, const char *intervals)
{
	char *one = ask(s, sums), *two = ask(s, intervals);

	if (strcmp(one, two))
		fail_msg("%s\nis\n%sbut must be\n%s", sums, one, two);
	assert_true(strlen(one) > 20);
	free(one);
	free(two);
}

static const struct {
	const char *sums, *intervals;
} pairs[] = {
	{"select * from interval_sums order by thread_id, kind",
	 "select thread_id, tid, pid, kind, count(*) as intervals, sum(ns) as total_ns, min(ns) as "
	 "min_ns, max(ns) as max_ns from intervals group by thread_id, kind order by thread_id, "
	 "kind"},
	{"select * from wait_sums order by thread_id, reason",
	 "select thread_id, tid, pid, reason, count(*) as waits, sum(ns) as total_ns, min(ns) as "
	 "min_ns, max(ns) as max_ns from waits group by thread_id, reason order by thread_id, "
	 "reason"},
	{"select kind, sum(intervals) as n, sum(total_ns) as ns from interval_sums group by kind",
	 "select kind, count(*) as n, sum(ns) as ns from intervals group by kind"},
	{"select reason, sum(waits) as n, max(max_ns) as longest from wait_sums where tid in (1, "
	 "3) "
	 "group by reason order by n desc, reason",
	 "select reason, count(*) as n, max(ns) as longest from waits where tid in (1, 3) group by "
	 "reason order by n desc, reason"},
	{"select t.tid, t.running_ns from threads t join interval_sums s on s.thread_id = t.id "
	 "where "
	 "s.kind = 'running' and s.total_ns = t.running_ns order by 1",
	 "select tid, running_ns from threads where running_ns > 0 order by 1"},
};

/* Whatever was read before: nothing, the other table, or all intervals. */
static void test_same(void **state)
{
	struct sql *s = begin();

	for (size_t round = 0; round < 2; round++)
		for (size_t i = 0; i < LEN(pairs); i++)
			same(s, pairs[i].sums, pairs[i].intervals);
	sql_close(s);
	for (size_t i = 0; i < LEN(pairs); i++) {
		s = begin();
		same(s, pairs[i].sums, pairs[i].intervals);
		sql_close(s);
	}
}

/* What a table of sums is for: a short pass, and rows only of the sums. */
static void test_passes(void **state)
{
	struct sql *s = begin();

	free(ask(s, "select kind, sum(total_ns) from interval_sums group by kind"));
	free(ask(s, "select name, kind from interval_sums s join threads t on t.id = s.thread_id"));
	assert_int_equal(sql_work(s).passes, 1);
	assert_int_equal(sql_work(s).lean_passes, 1);
	free(ask(s, "select reason, sum(total_ns) from wait_sums group by reason"));
	assert_int_equal(sql_work(s).passes, 2);
	assert_int_equal(sql_work(s).lean_passes, 2);
	free(ask(s, "select kind, sum(total_ns) from interval_sums group by kind"));
	assert_int_equal(sql_work(s).passes, 2);
	assert_true(sql_work(s).rows < 20 * THREADS * 4);
	sql_close(s);
}

/* The capture has what the statements ask of. */
static void test_variety(void **state)
{
	static const char *const has[] = {"running", "lost", "run_queue", "throttled",
					  "sleep",   "disk", "pipe",	  "child"};
	struct sql *s = begin();
	char *p = ask(s, "select coalesce(reason, kind), count(*), min(pid is null) from intervals "
			 "group by 1; select count(*) from threads where pid is null");

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
		cmocka_unit_test(test_variety),
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_passes),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
