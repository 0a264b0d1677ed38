// SPDX-License-Identifier: MIT
/* The state machine, case by case, against truth worked out by hand. */
#include "unit/model/feed.h"

#include <string.h>

#define S STATE_INTERRUPTIBLE
#define D STATE_UNINTERRUPTIBLE

static const struct interval *nth_wait(struct feed *f, uint32_t tid, unsigned n)
{
	for (size_t i = 0; i < f->out.n; i++)
		if (f->out.v[i].thread->tid == tid && f->out.v[i].kind == INTERVAL_WAITING &&
		    n-- == 0)
			return &f->out.v[i];
	fail_msg("no such wait");
	return NULL;
}

static void test_ping_pong(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(100);
	THREAD(100, 1, 0);
	THREAD(100, 2, S);
	WAKING(110, 0, 2, 1);
	SWITCH(112, 0, 1, 2, S);
	WAKING(120, 0, 1, 2);
	SWITCH(123, 0, 2, 1, S);
	END(130);
	feed_finish(f);
	EXPECT(1, "R0 100-112, W1 112-120, Q 120-123, R0 123-130");
	EXPECT(2, "W1 100-110, Q 110-112, R0 112-123, W1 123-130");
	assert_int_equal(nth_wait(f, 1, 0)->waker.tid, 2);
	assert_int_equal(nth_wait(f, 2, 0)->waker.tid, 1);
	assert_ptr_equal(nth_wait(f, 2, 0)->waker.thread, timeline_thread(&f->m->timeline, 1));
	assert_false(nth_wait(f, 2, 0)->open);
	assert_true(nth_wait(f, 2, 1)->open);
	assert_false(nth_wait(f, 2, 1)->waker.known);
	feed_done(f);
}

/* A switch that nobody saw, and nobody counted: the last one put somebody else on the CPU. */
static void test_hidden_switch(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(100);
	THREAD(100, 1, 0);
	THREAD(100, 2, S);
	SWITCH(110, 0, 1, 2, S);
	SWITCH(150, 0, 1, 2, S);
	WAKING(160, 0, 1, 2);
	SWITCH(165, 0, 2, 1, S);
	END(170);
	feed_finish(f);
	EXPECT(1, "R0 100-110, L 110-150, W1 150-160, Q 160-165, R0 165-170");
	EXPECT(2, "W1 100-110, L 110-150, R0 150-165, W1 165-170");
	assert_int_equal(f->m->timeline.odd, 1);
	feed_done(f);
}

/* The same where the other thread is none of ours: a sleep of 20 ms is no time of running. */
static void test_hidden_switch_behind_a_stranger(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(100);
	THREAD(100, 1, 0);
	SWITCH(110, 0, 1, 99, S | STATE_NEXT_OUT);
	SWITCH(150, 0, 1, 99, S | STATE_NEXT_OUT);
	END(170);
	feed_finish(f);
	EXPECT(1, "R0 100-110, L 110-150, W1 150-170");
	assert_int_equal(f->m->timeline.odd, 1);
	feed_done(f);
}

static void test_waking_not_recorded(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	SWITCH(10, 0, 1, 0, D | STATE_IOWAIT);
	SWITCH(50, 1, 0, 1, 0);
	END(60);
	feed_finish(f);
	EXPECT(1, "R0 0-10, W10002 10-50, R1 50-60");
	assert_int_equal(timeline_thread(&f->m->timeline, 1)->waits[REASON_DISK], 40);
	feed_done(f);
}

static void test_preemption(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	THREAD(0, 2, 0);
	/* A preempted thread may carry a sleeping state: it is runnable all the same. */
	SWITCH(10, 0, 1, 2, S | STATE_PREEMPTED);
	SWITCH(20, 0, 2, 1, 0);
	WAKING(25, 1, 2, 9); /* of a runnable thread: nothing */
	SWITCH(30, 0, 1, 2, 0);
	END(40);
	feed_finish(f);
	EXPECT(1, "R0 0-10, Q 10-20, R0 20-30, Q 30-40");
	EXPECT(2, "Q 0-10, R0 10-20, Q 20-30, R0 30-40");
	feed_done(f);
}

static void test_waking_overtakes_switch(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	WAKING(98, 1, 1, 7);
	SWITCH(100, 0, 1, 0, S); /* woken already: no wait at all */
	SWITCH(130, 0, 0, 1, 0);
	WAKING(140, 1, 1, 7);	 /* ignored by a thread that goes on running ... */
	SWITCH(150, 0, 1, 0, S); /* ... and that then waits for real: another waking comes */
	WAKING(190, 1, 1, 7);
	SWITCH(200, 0, 0, 1, 0);
	WAKING(210, 1, 1, 7); /* too old to have raced */
	SWITCH(2000000, 0, 1, 0, S);
	SWITCH(2000100, 0, 0, 1, 0);
	END(2000200);
	feed_finish(f);
	EXPECT(1, "R0 0-100, Q 100-130, R0 130-150, W1 150-190, Q 190-200, R0 200-2000000, "
		  "W1 2000000-2000100, R0 2000100-2000200");
	feed_done(f);
}

/* The switch back in was not recorded, on a CPU of which nothing was heard for long. */
static void test_switch_in_not_recorded(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	THREAD(0, 2, 0);
	SWITCH(5, 1, 2, 9, S | STATE_NEXT_OUT);
	SWITCH(10, 0, 1, 0, S);
	WAKING(50, 0, 1, 7);
	SWITCH(70, 1, 1, 9, S | STATE_NEXT_OUT); /* it was there, who knows since when */
	SWITCH(90, 0, 0, 1, 0);
	END(100);
	feed_finish(f);
	EXPECT(1, "R0 0-10, W1 10-50, L 50-70, W1 70-90, R0 90-100");
	assert_int_equal(f->m->timeline.odd, 1);
	feed_done(f);
}

static void test_waking_before_switch_in_is_no_race(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, S);
	WAKING(10, 1, 1, 7);
	SWITCH(20, 0, 0, 1, 0);
	SWITCH(30, 0, 1, 0, S); /* the waking of before belongs to the wait before */
	SWITCH(90, 0, 0, 1, 0);
	END(100);
	feed_finish(f);
	EXPECT(1, "W1 0-10, Q 10-20, R0 20-30, W1 30-90, R0 90-100");
	feed_done(f);
}

static void test_late_waking_belongs_to_the_wait_before(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	SWITCH(10, 0, 1, 0, S);
	SWITCH(50, 0, 0, 1, 0);
	WAKING(40, 1, 1, 9); /* of 10-50, and too late to tell so */
	SWITCH(60, 0, 1, 0, S);
	SWITCH(90, 0, 0, 1, 0);
	END(100);
	feed_finish(f);
	EXPECT(1, "R0 0-10, W1 10-50, R0 50-60, W1 60-90, R0 90-100");
	feed_done(f);
}

static void test_first_evidence(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, S); /* prev first: ran since begin */
	THREAD(0, 2,
	       0); /* prev first, but its CPU had a switch at 20: waited its turn until then */
	THREAD(0, 3, 0); /* waking first: waited, whatever /proc said */
	THREAD(0, 4, 0); /* next first, was runnable */
	THREAD(0, 5, D); /* next first, waited */
	THREAD(0, 6, S); /* sample: ran since begin */
	THREAD(0, 7, 0); /* nothing at all */
	THREAD(0, 8, D | STATE_IOWAIT);
	SWITCH(10, 0, 1, 0, S);
	SWITCH(20, 1, 1, 0, S);
	SAMPLE(25, 3, 6);
	SWITCH(40, 1, 2, 4, S);
	WAKING(50, 1, 3, 4);
	SWITCH(60, 0, 0, 5, 0);
	END(100);
	feed_finish(f);
	EXPECT(2, "Q 0-20, R1 20-40, W1 40-100");
	EXPECT(3, "W1 0-50, Q 50-100");
	EXPECT(4, "Q 0-40, R1 40-100");
	EXPECT(5, "W2 0-60, R0 60-100");
	EXPECT(6, "R3 0-100");
	EXPECT(7, "Q 0-100");
	EXPECT(8, "W10002 0-100");
	feed_done(f);
}

static void test_sample_between_record_and_switch(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	THREAD(0, 2, 0);
	SWITCH(10, 0, 1, 2, S);
	SAMPLE(11, 0, 1); /* still prev's registers, already after the record */
	END(20);
	feed_finish(f);
	EXPECT(1, "R0 0-10, W1 10-20");
	EXPECT(2, "Q 0-10, R0 10-20");
	assert_int_equal(timeline_thread(&f->m->timeline, 1)->samples, 1);
	feed_done(f);
}

static void test_never_introduced(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	SWITCH(10, 0, 1, 0, S);
	SWITCH(30, 0, 50, 0, S); /* prev: it cannot have come there unseen */
	SWITCH(40, 0, 0, 51, 0); /* next: from now */
	WAKING(45, 0, 52, 51);
	END(60);
	feed_finish(f);
	EXPECT(50, "L 10-30, W1 30-60");
	EXPECT(51, "R0 40-60");
	EXPECT(52, "Q 45-60");
	assert_string_equal(timeline_thread(&f->m->timeline, 51)->name, "?");
	assert_int_equal(timeline_thread(&f->m->timeline, 51)->pid, 0);
	feed_done(f);
}

static void test_others_are_not_threads(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	SWITCH(10, 0, 1, 77, S | STATE_NEXT_OUT);
	SWITCH(30, 0, 78, 1, STATE_PREV_OUT);
	END(60);
	feed_finish(f);
	EXPECT(1, "R0 0-10, W1 10-30, R0 30-60");
	assert_int_equal(f->m->timeline.threads.n, 1);
	feed_done(f);
}

static void test_fork_exit(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	EV(10, 0, EV_FORK, .fork = {2, 1, 1, "child"});
	SWITCH(15, 1, 0, 2, 0);
	EV(20, 1, EV_EXIT, .exit = {2, 0});
	SWITCH(22, 1, 2, 0, STATE_PREEMPTED);
	SWITCH(25, 1, 0, 2, 0);
	SWITCH(27, 1, 2, 0, STATE_GONE);
	WAKING(28, 0, 2, 1);				/* of a dead thread: nothing */
	EV(40, 0, EV_FORK, .fork = {2, 1, 1, "again"}); /* the tid is used again */
	SWITCH(45, 1, 0, 2, 0);
	EV(50, 1, EV_EXIT, .exit = {2, 0}); /* its last switch is missing */
	EV(60, 0, EV_FORK, .fork = {3, 1, 1, "left"});
	SWITCH(62, 0, 1, 3, 0);
	EV(70, 0, EV_LEAVE, .leave = {3});
	SWITCH(75, 0, 3, 1, S);
	END(100);
	feed_finish(f);
	EXPECT(1, "R0 0-62, Q 62-75, R0 75-100");
	assert_int_equal(f->m->timeline.threads.n, 4);
	feed_expect_thread(f, f->m->timeline.threads.v[1], "Q 10-15, R1 15-22, Q 22-25, R1 25-27");
	assert_int_equal(f->m->timeline.threads.v[1]->end, 27);
	EXPECT(2, "Q 40-45, R1 45-50");
	assert_string_equal(timeline_thread(&f->m->timeline, 2)->name, "again");
	EXPECT(3, "Q 60-62, R0 62-70");
	feed_done(f);
}

/* Found, and gone before anybody looked: it has no time, whatever it did when it was found. */
static void test_ended_before(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	THREAD(0, 2, 0);
	THREAD(0, 3, S);
	THREAD(0, 4, S);
	THREAD(0, 5, 0);
	WAKING(5, 0, 4, 1);
	EV(50, 0, EV_LEAVE, .leave = {2, 1});
	EV(50, 0, EV_LEAVE, .leave = {3, 1});
	/* What was seen of it was seen. */
	EV(50, 0, EV_LEAVE, .leave = {4, 1});
	EV(50, 0, EV_LEAVE, .leave = {5, 0});
	END(100);
	feed_finish(f);
	EXPECT(2, "");
	EXPECT(3, "");
	EXPECT(4, "W1 0-5, Q 5-50");
	EXPECT(5, "Q 0-50");
	feed_done(f);
}

static void test_tid_reused_after_lost_exit(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	THREAD(0, 2, S);
	WAKING(5, 0, 2, 1);
	EV(40, 0, EV_FORK, .fork = {2, 1, 1, "new"});
	END(50);
	feed_finish(f);
	feed_expect_thread(f, f->m->timeline.threads.v[1], "W1 0-5, L 5-40");
	EXPECT(2, "Q 40-50");
	feed_done(f);
}

static void test_exec_by_other_thread(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, S); /* the leader */
	EV(0, 0, EV_THREAD, .thread = {2, 1, 0, 0, "caller"});
	SWITCH(10, 0, 2, 0, S);
	SWITCH(20, 0, 0, 2, 0);
	EV(30, 0, EV_EXEC, .exec = {1, 2, "fresh"});
	SWITCH(40, 0, 1, 0, S);
	END(50);
	feed_finish(f);
	EXPECT(2, "R0 0-10, W1 10-20, R0 20-30");
	EXPECT(1, "W1 0-30, R0 30-40, W1 40-50");
	assert_string_equal(timeline_thread(&f->m->timeline, 1)->name, "fresh");
	assert_string_equal(timeline_thread(&f->m->timeline, 1)->first_name, "t1");
	feed_done(f);
}

static void test_exec_after_leader_ended(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, S);
	EV(0, 0, EV_THREAD, .thread = {2, 1, 0, 0, "caller"});
	SWITCH(10, 1, 0, 1, 0);
	EV(12, 1, EV_EXIT, .exit = {1, 9});
	SWITCH(15, 1, 1, 0, STATE_GONE);
	EV(30, 0, EV_EXEC, .exec = {1, 2, "fresh"});
	SWITCH(40, 0, 1, 0, S);
	END(50);
	feed_finish(f);
	feed_expect_thread(f, f->m->timeline.threads.v[0], "W1 0-10, R1 10-15");
	EXPECT(2, "R0 0-30");
	EXPECT(1, "R0 30-40, W1 40-50");
	assert_int_equal(timeline_thread(&f->m->timeline, 1)->pid, 1);
	feed_done(f);
}

/* The leader's EXIT is there, its last switch is not: its tid lives on all the same. */
static void test_exec_after_leader_exit_only(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	EV(0, 0, EV_THREAD, .thread = {2, 1, 0, 0, "caller"});
	EV(12, 1, EV_EXIT, .exit = {1, 9});
	EV(30, 0, EV_EXEC, .exec = {1, 2, "fresh"});
	END(50);
	feed_finish(f);
	EXPECT(1, "R1 0-30, R0 30-50");
	EXPECT(2, "R0 0-30");
	feed_done(f);
}

static void test_wait_stacks_arrive_late(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	SWITCH(10, 0, 1, 0, S);
	WAKING(20, 1, 1, 9);
	SWITCH(25, 0, 0, 1, 0);
	EV(26, 0, EV_WAIT, .wait = {1, 5, 0});
	EV(27, 0, EV_WAIT, .wait = {1, 0, 6});
	SWITCH(30, 0, 1, 0, S);
	SWITCH(40, 0, 0, 1, 0);
	EV(41, 0, EV_WAIT, .wait = {1, 7, 8});
	END(50);
	feed_finish(f);
	EXPECT(1, "R0 0-10, W1 10-20, Q 20-25, R0 25-30, W1 30-40, R0 40-50");
	assert_int_equal(nth_wait(f, 1, 0)->kstack, 5);
	assert_int_equal(nth_wait(f, 1, 0)->ustack, 6);
	assert_int_equal(nth_wait(f, 1, 1)->kstack, 7);
	assert_int_equal(nth_wait(f, 1, 1)->ustack, 8);
	feed_done(f);
}

static void test_backwards_time(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	SWITCH(50, 0, 1, 0, S);
	WAKING(30, 1, 1, 9); /* before the wait began: it has no length */
	SWITCH(40, 1, 0, 1, 0);
	SWITCH(60, 1, 1, 0, S);
	END(70);
	feed_finish(f);
	EXPECT(1, "R0 0-50, R1 50-60, W1 60-70");
	assert_int_equal(f->m->losses.late, 2);
	feed_done(f);
}

static void test_marks(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	THREAD(90, 1, S); /* seen before the recording began */
	BEGIN(100);
	THREAD(105, 2, S);	 /* taken up later */
	SWITCH(120, 0, 0, 1, 0); /* no end mark: the file is torn; the last event ends it */
	feed_finish(f);
	EXPECT(1, "W1 100-120");
	EXPECT(2, "W1 105-120");
	feed_done(f);

	feed_init(f);
	BEGIN(100);
	THREAD(100, 1, S);
	END(200);
	SWITCH(300, 0, 1, 0, S); /* after the end: not ours */
	feed_finish(f);
	EXPECT(1, "W1 100-200");
	feed_done(f);
}

static void test_window(void **state)
{
	struct feed feed, *f = &feed;

	feed_init_window(f, 5, 25);
	BEGIN(100);
	THREAD(100, 1, 0);
	EV(100, 0, EV_THREAD, .thread = {9, 9, S, 0, "idle"});
	SAMPLE(102, 0, 1);
	SWITCH(110, 0, 1, 0, S);
	WAKING(120, 1, 1, 7);
	SWITCH(123, 0, 0, 1, 0);
	SAMPLE(124, 0, 1);
	EV(140, 0, EV_FORK, .fork = {2, 1, 1, "late"});
	END(150);
	feed_finish(f);
	EXPECT(1, "R0 105-110, W1 110-120, Q 120-123, R0 123-125");
	EXPECT(9, "W1 105-125");
	EXPECT(2, "");
	assert_int_equal(timeline_thread(&f->m->timeline, 1)->samples, 1);
	assert_int_equal(model_window_ns(f->m), 20);
	assert_int_equal(f->m->timeline.cpus.v[0].idle_ns, 13);
	assert_int_equal(f->m->timeline.cpus.v[0].busy_ns, 7);
	feed_done(f);
}

static void test_rename(void **state)
{
	struct feed feed, *f = &feed;
	const struct thread *th;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	EV(5, 0, EV_RENAME, .rename = {1, "b"});
	EV(6, 0, EV_RENAME, .rename = {1, "c"});
	END(9);
	feed_finish(f);
	th = timeline_thread(&f->m->timeline, 1);
	assert_string_equal(th->name, "c");
	assert_true(thread_matches(th, "t1"));
	assert_true(thread_matches(th, "1"));
	assert_false(thread_matches(th, "b"));
	assert_false(thread_matches(th, "1x"));
	feed_done(f);
}

static bool called(const char *name, const char *spec)
{
	struct thread th = {.tid = 7, .name = (char *)name};

	return thread_matches(&th, spec);
}

/* What a headline calls "5 req threads" is found by that name, and nobody else with it. */
static void test_names_in_part(void **state)
{
	static const struct {
		const char *spec, *is, *is_not;
	} cases[] = {
		{"req", "req-1", "request"},
		{"req", "req12", "prereq"},
		{"req-1", "req-1", "req-10"},
		{"req-1", "req-1/io", "req-11"},
		{"pool", "pool-3-thread-1", "spool"},
		{"kworker", "kworker/0:1", "kwork"},
		{"req*", "request", "prereq"},
		{"*-io", "disk-io", "disk-ion"},
		{"w?", "w1", "w12"},
		{"a name of the whole length", "a name of the w", "a name of the x"},
		{"7", "anybody", NULL},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_true(called(cases[i].is, cases[i].spec));
		if (cases[i].is_not)
			assert_false(called(cases[i].is_not, cases[i].spec));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ping_pong),
		cmocka_unit_test(test_hidden_switch),
		cmocka_unit_test(test_hidden_switch_behind_a_stranger),
		cmocka_unit_test(test_waking_not_recorded),
		cmocka_unit_test(test_preemption),
		cmocka_unit_test(test_waking_overtakes_switch),
		cmocka_unit_test(test_switch_in_not_recorded),
		cmocka_unit_test(test_waking_before_switch_in_is_no_race),
		cmocka_unit_test(test_late_waking_belongs_to_the_wait_before),
		cmocka_unit_test(test_first_evidence),
		cmocka_unit_test(test_sample_between_record_and_switch),
		cmocka_unit_test(test_never_introduced),
		cmocka_unit_test(test_others_are_not_threads),
		cmocka_unit_test(test_fork_exit),
		cmocka_unit_test(test_ended_before),
		cmocka_unit_test(test_tid_reused_after_lost_exit),
		cmocka_unit_test(test_exec_by_other_thread),
		cmocka_unit_test(test_exec_after_leader_ended),
		cmocka_unit_test(test_exec_after_leader_exit_only),
		cmocka_unit_test(test_wait_stacks_arrive_late),
		cmocka_unit_test(test_backwards_time),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_rename),
		cmocka_unit_test(test_names_in_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
