// SPDX-License-Identifier: MIT
/*
 * A second in the life of three threads, made by hand, and what is answered about it; then requests
 * that nobody would send in earnest.
 */
#include "unit/model/futex.h"

#include <stdlib.h>

#include "query/calls.h"
#include "query/private.h"
#include "query/sums.h"

#define T0 5000000000ull
#define MS 1000000ull
#define AT(ms) (T0 + (uint64_t)((ms) * (double)MS))
#define LOCK 0x55d0c0de0040ull

/*
 * 1 and 2 want the lock that 3 has: 1 from 100 to 300 ms, 2 from 200 to 400. 3 lets 1 have it at
 * 300, and 1 lets 2 have it at 400. 3 runs `work` under `main` with a sample every 10 ms from 105
 * on.
 */
static struct query *told(struct feed *f)
{
	struct query *q = mem_zalloc(sizeof(*q));
	struct model_opts opts = {.frames = &fake_source};
	uint32_t wants, works;

	fake = (struct fake){0};
	*f = (struct feed){0};
	columns_init(&q->columns, T0);
	columns_attach(&q->columns, &opts);
	q->model = f->m = model_new(&opts);
	wants = STACK("libc.so.6:pthread_mutex_lock", "app:want", "app:main");
	works = STACK("app:work", "app:main");
	BEGIN(T0);
	for (uint32_t tid = 1; tid <= 3; tid++)
		PEER(T0, tid, tid == 3 ? "holder" : "worker");
	for (uint32_t tid = 1; tid <= 3; tid++)
		SWITCH(T0, tid, 0, tid, 0);
	SLEEP_ON(AT(100), 1, 1, LOCK, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	for (unsigned i = 0; i < 9; i++)
		EV(AT(105 + 10 * i), 3, EV_SAMPLE, .sample = {3, 0, works});
	SLEEP_ON(AT(200), 2, 2, LOCK, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	LET_GO(AT(300), 1, 1, 3);
	STACKS(AT(300.1), 1, 1, 0, wants);
	LET_GO(AT(400), 2, 2, 1);
	STACKS(AT(400.1), 2, 2, 0, wants);
	END(AT(1000));
	model_finish(f->m);
	f->m->facts.freq_hz = 100;
	q->duration = 1000 * MS;
	columns_seal(&q->columns, f->m);
	q->sums = sums_new(f->m, &q->columns);
	assert_int_equal(summary_new(f->m, &(struct summary_opts){0}, &q->summary), 0);
	return q;
}

static void forget(struct query *q)
{
	summary_free(q->summary);
	sums_free(q->sums);
	calls_free(q->calls[0]);
	calls_free(q->calls[1]);
	model_free(q->model);
	columns_done(&q->columns);
	free(q);
}

static void says(struct query *q, const char *request, const char *words)
{
	struct buf answer = {0};

	assert_int_equal(query_ask(q, request, &answer), 0);
	if (!strstr(buf_cstr(&answer), words))
		fail_msg("%s: %s, without %s", request, buf_cstr(&answer), words);
	buf_done(&answer);
}

static void test_flame(void **state)
{
	struct feed feed;
	struct query *q = told(&feed);

	says(q, "flame?kind=cpu", "\"total\":9,");
	says(q, "flame?kind=cpu&from=125000000&to=145000000", "\"total\":2,");
	says(q, "flame?kind=wait", "\"total\":400000000,");
	/* 50 ms of the first and all of the second. */
	says(q, "flame?kind=wait&from=250000000&to=500000000", "\"total\":200000000,");
	says(q, "flame?kind=wait&from=250000000&to=500000000&threads=0", "\"total\":50000000,");
	says(q, "flame?kind=wait&reasons=2,20", "\"total\":0,");
	says(q, "flame?kind=wait&reasons=11", "\"total\":400000000,");
	says(q, "flame?kind=both", "\"total\":490000000,");
	/* main calls want, which calls the lock; there the reason stands last. */
	says(q, "flame?kind=wait",
	     "\"names\":[\"all\",\"main\",\"want\",\"pthread_mutex_lock\",\"mutex\"]");
	says(q, "flame?kind=wait&invert=1",
	     "\"names\":[\"all\",\"mutex\",\"pthread_mutex_lock\",\"want\",\"main\"]");
	says(q, "flame?kind=cpu&by=thread", "\"holder (3)\"");
	says(q, "flame?kind=cpu&to=150000000&from2=150000000&to2=200000000",
	     "\"total\":5,\"total2\":4,");
	says(q, "functions?kind=cpu", "\"self\":9,\"total\":9},{\"name\":\"main\"");
	says(q, "function?name=want&kind=wait", "\"self\":0,\"value\":400000000,");
	forget(q);
}

static void test_lockline(void **state)
{
	struct feed feed;
	struct query *q = told(&feed);

	says(q, "lockline?lock=0", "\"wait_ns\":400000000,\"waits\":2,");
	/* 1 waited for 3; 2 for 3 until 300, then for 1. */
	says(q, "lockline?lock=0", "\"matrix\":[[200000000,0],[100000000,100000000]]");
	/* 3 held it from 100 to 300, however many waited for it. */
	says(q, "lockline?lock=0",
	     "{\"thread\":2,\"others\":0,\"wait_ns\":300000000,\"waits\":2,\"ns\":200000000,"
	     "\"piece\":{\"start\":[100000000],\"end\":[300000000],\"ns\":[200000000]}}");
	says(q, "lockline?lock=0&from=350000000&to=1000000000", "\"matrix\":[[50000000]]");
	says(q, "lockline?lock=0&from=500000000", "\"waits\":0,");
	forget(q);
}

static void test_chart(void **state)
{
	struct feed feed;
	struct query *q = told(&feed);

	/* Nine samples in a row are one piece from 100 to 190. */
	says(q, "chart?thread=2",
	     "\"piece\":{\"start\":[100000000,100000000],\"end\":[190000000,190000000],"
	     "\"depth\":[0,1],\"name\":[0,1],");
	says(q, "chart?thread=0", "\"start\":[100000000,100000000,100000000,100000000]");
	says(q, "chart?thread=0", "\"class\":[11,11,11,11]");
	says(q, "chart?thread=0&from=150000000&to=160000000", "\"start\":[150000000,150000000,");
	says(q, "chart?thread=0&max=1", "\"piece\":");
	says(q, "find?text=WORK", "\"comm\":\"worker\"");
	says(q, "find?text=WORK",
	     "\"name\":\"work\",\"module\":\"app\",\"kernel\":false,\"samples\":9");
	forget(q);
}

static void test_heat(void **state)
{
	struct feed feed;
	struct query *q = told(&feed);
	struct buf answer = {0};
	const uint32_t *cell;

	/* 10 ms a column, of which there are 101, two cells each. */
	assert_int_equal(query_ask(q, "heat?kind=wait&cols=101&rows=2", &answer), 0);
	cell = (const uint32_t *)(const void *)answer.p;
	assert_int_equal(answer.len, 4 * (6 + 101 * 2));
	assert_int_equal(cell[0], 101);
	assert_int_equal(cell[1], 2);
	assert_int_equal(cell[2], 10 * MS);
	assert_int_equal(cell[4], 5 * MS);
	for (unsigned i = 0; i < 202; i++) {
		double ms = i * 5;
		uint32_t want = (ms >= 100 && ms < 300) + (ms >= 200 && ms < 400);

		assert_int_equal(cell[6 + i], want * 5000);
	}
	buf_done(&answer);
	forget(q);
}

/* Words that requests are made of, in any order. */
static void test_nonsense(void **state)
{
	static const char *const names[] = {"flame", "functions", "function", "heat",
					    "chart", "lockline",  "find",     "at",
					    "lanes", "cpus",	  "threads",  "cpu_at"};
	static const char *const keys[] = {"from",    "to",	 "from2",  "to2",  "kind",
					   "threads", "reasons", "invert", "by",   "min",
					   "max",     "name",	 "module", "cols", "rows",
					   "lock",    "thread",	 "text",   "ts"};
	static const char *const values[] = {"0",
					     "1",
					     "2",
					     "3",
					     "999999999",
					     "1000000000",
					     "100000000",
					     "18446744073709551615",
					     "72057594037927935",
					     "4294967296",
					     "-1",
					     "",
					     "cpu",
					     "wait",
					     "both",
					     "thread",
					     "1,2,0",
					     "31",
					     "32",
					     "0.5",
					     "1e-9",
					     "nan",
					     "main",
					     "app",
					     "%00",
					     "%",
					     "%f0%9f",
					     "samples",
					     "reason:mutex"};
	struct feed feed;
	struct query *q = told(&feed);
	struct buf answer = {0}, request = {0};
	unsigned answered = 0, refused = 0;

	srand(3);
	for (unsigned i = 0; i < 30000; i++) {
		int rc;

		buf_clear(&request);
		buf_printf(&request, "%s", names[(unsigned)rand() % ARRAY_LEN(names)]);
		for (int n = rand() % 5, k = 0; k < n; k++)
			buf_printf(&request, "%c%s=%s", k ? '&' : '?',
				   keys[(unsigned)rand() % ARRAY_LEN(keys)],
				   values[(unsigned)rand() % ARRAY_LEN(values)]);
		rc = query_ask(q, buf_cstr(&request), &answer);
		assert_true(answer.len > 0 || query_is_binary(buf_cstr(&request)));
		assert_true(rc <= 0 && answer.len < 1u << 24);
		if (rc)
			assert_memory_equal(answer.p, "{\"error\":\"", 10);
		answered += !rc;
		refused += rc != 0;
	}
	assert_true(answered > 1000 && refused > 1000);
	buf_done(&answer);
	buf_done(&request);
	forget(q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flame),	 cmocka_unit_test(test_lockline),
		cmocka_unit_test(test_chart),	 cmocka_unit_test(test_heat),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
