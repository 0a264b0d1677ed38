// SPDX-License-Identifier: MIT
/* Samples without switches: what threads ran is known by them, and the rest of their life is not.
 */
#include "unit/model/feed.h"

#include "timeline/thread.h"

static void feed_sampled(struct feed *f, uint64_t from, uint64_t to)
{
	struct model_opts opts = {.from = from, .to = to, .sample_ns = 10};

	*f = (struct feed){.from = from, .to = to};
	f->m = model_new(&opts);
}

static const struct thread *thread(struct feed *f, size_t i)
{
	assert_true(i < f->m->timeline.threads.n);
	return f->m->timeline.threads.v[i];
}

static void expect(const struct thread *t, uint64_t running, uint64_t unseen)
{
	assert_int_equal(t->total[INTERVAL_RUNNING], running);
	assert_int_equal(t->total[INTERVAL_LOST], unseen);
	assert_int_equal(t->total[INTERVAL_RUNNABLE], 0);
	assert_int_equal(t->total[INTERVAL_WAITING], 0);
	assert_int_equal(thread_wall(t), running + unseen);
}

#define FORK(ts, tid, pid, parent) EV(ts, 0, EV_FORK, .fork = {tid, pid, parent, "t" #tid})
#define EXIT(ts, tid) EV(ts, 0, EV_EXIT, .exit = {tid, 0})

static void test_running_and_not_seen(void **state)
{
	struct feed feed, *f = &feed;

	feed_sampled(f, 0, 0);
	BEGIN(0);
	THREAD(0, 1, STATE_INTERRUPTIBLE); /* what /proc says is not believed for longer */
	FORK(100, 2, 1, 1);
	SAMPLE(50, 0, 1);
	SAMPLE(60, 1, 1);
	SAMPLE(150, 0, 2);
	EXIT(300, 2);
	END(1000);
	model_finish(f->m);
	expect(thread(f, 0), 20, 980);
	expect(thread(f, 1), 10, 190);
	assert_int_equal(thread(f, 1)->end, 300);
	assert_int_equal(thread(f, 1)->parent, 1);
	assert_int_equal(f->m->gaps.n, 0); /* nobody can say that a CPU stood still */
	model_free(f->m);
}

static void test_not_more_than_it_lived(void **state)
{
	struct feed feed, *f = &feed;

	feed_sampled(f, 0, 0);
	BEGIN(0);
	FORK(100, 2, 2, 1);
	SAMPLE(101, 0, 2);
	EXIT(104, 2);
	END(1000);
	model_finish(f->m);
	expect(thread(f, 0), 4, 0);
	model_free(f->m);
}

static void test_window(void **state)
{
	struct feed feed, *f = &feed;

	feed_sampled(f, 100, 200);
	BEGIN(1000);
	THREAD(1000, 1, 0);
	for (uint64_t ts = 1005; ts < 2000; ts += 20)
		SAMPLE(ts, 0, 1);
	END(2000);
	model_finish(f->m);
	expect(thread(f, 0), 50, 50);
	model_free(f->m);
}

static void test_tid_used_again(void **state)
{
	struct feed feed, *f = &feed;

	feed_sampled(f, 0, 0);
	BEGIN(0);
	FORK(100, 2, 2, 1);
	SAMPLE(110, 0, 2);
	FORK(200, 2, 2, 1); /* its end was not told */
	SAMPLE(210, 0, 2);
	EXIT(300, 2);
	SAMPLE(310, 0, 2); /* late: it has ended */
	END(1000);
	model_finish(f->m);
	assert_int_equal(f->m->timeline.threads.n, 2);
	expect(thread(f, 0), 10, 90);
	assert_int_equal(thread(f, 1)->end, 300);
	model_free(f->m);
}

static void test_never_introduced(void **state)
{
	struct feed feed, *f = &feed;

	feed_sampled(f, 0, 0);
	BEGIN(0);
	SAMPLE(500, 0, 9); /* its birth was lost */
	END(1000);
	model_finish(f->m);
	expect(thread(f, 0), 10, 490);
	model_free(f->m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_running_and_not_seen),
		cmocka_unit_test(test_not_more_than_it_lived),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_tid_used_again),
		cmocka_unit_test(test_never_introduced),
	};

	return cmocka_run_group_tests_name("sampled", tests, NULL, NULL);
}
