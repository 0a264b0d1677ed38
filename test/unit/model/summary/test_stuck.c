// SPDX-License-Identifier: MIT
/* Waits that had not ended, and who waits for whom. */
#include "unit/model/futex.h"

#define X 0x10000
#define Y 0x20000
#define Z 0x30000
#define MS 1000000ull

/* Threads 2 to n are on CPUs of their numbers. */
static void begin(struct feed *f, uint32_t n)
{
	feed_init_names(f);
	BEGIN(1);
	PEER(1, 1, "main");
	for (uint32_t i = 2; i <= n; i++) {
		PEER(1, i, "worker");
		SWITCH(2, i, 0, i, 0);
	}
}

static struct summary *end(struct feed *f, uint64_t ts)
{
	END(ts);
	feed_finish(f);
	return feed_summary(f);
}

static void finish(struct feed *f, struct summary *s)
{
	summary_free(s);
	feed_done(f);
}

static const struct stuck_wait *stuck(const struct summary *s, uint32_t tid)
{
	for (size_t i = 0; i < s->stuck.waits.n; i++)
		if (s->stuck.waits.v[i].thread->tid == tid)
			return &s->stuck.waits.v[i];
	return NULL;
}

static void test_circle(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 6);
	SLEEP_ON(100, 2, 2, X, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	SLEEP_ON(110, 4, 4, X, OP_WAIT, MUTEX_WORDS(3, 1, 0)); /* behind it */
	SLEEP_ON(120, 3, 3, Y, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	SLEEP_ON(130, 5, 5, Z, OP_WAIT, MUTEX_WORDS(6, 1, 0)); /* 6 runs */
	s = end(f, 1000);
	assert_int_equal(s->stuck.circles, 1);
	assert_int_equal(s->stuck.waits.v[0].circle, 1);
	assert_int_equal(s->stuck.waits.v[1].circle, 1);
	assert_int_equal(stuck(s, 2)->circle, 1);
	assert_int_equal(stuck(s, 3)->circle, 1);
	assert_int_equal(stuck(s, 2)->for_->tid, 3);
	assert_int_equal(stuck(s, 4)->circle, 0);
	assert_int_equal(stuck(s, 4)->behind, 1);
	assert_true(stuck(s, 4)->for_stuck);
	assert_int_equal(stuck(s, 5)->behind, 0);
	assert_false(stuck(s, 5)->for_stuck);
	assert_null(stuck(s, 6));
	assert_false(stuck(s, 2)->before);
	finish(f, s);
}

/* From when the circle closed, a deadlock is one stall: of its threads and of those behind them. */
static void test_deadlock_is_a_stall(void **state)
{
	struct feed feed, *f = &feed;
	const struct stall *st;
	struct summary *s;

	begin(f, 4);
	SLEEP_ON(100 * MS, 2, 2, X, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	SLEEP_ON(110 * MS, 4, 4, X, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	SLEEP_ON(300 * MS, 3, 3, Y, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	s = end(f, 1000 * MS);
	assert_int_equal(s->stalls.list.n, 2);
	st = &s->stalls.list.v[0];
	assert_int_equal(st->circle, 1);
	assert_int_equal(st->start, 300 * MS);
	assert_int_equal(st->ns, 700 * MS);
	assert_int_equal(st->threads, 3);
	assert_int_equal(st->lost, 3 * 700 * MS);
	assert_int_equal(st->culprit->tid, 3);
	assert_int_equal(s->locks.v[st->lock].address, X);
	/* Before, two of them stood behind the third, which ran. */
	st = &s->stalls.list.v[1];
	assert_int_equal(st->circle, 0);
	assert_int_equal(st->start, 110 * MS);
	assert_int_equal(st->ns, 190 * MS);
	assert_int_equal(st->threads, 2);
	assert_int_equal(st->lost, 2 * 190 * MS);
	assert_int_equal(s->stalls.total, 890 * MS);
	finish(f, s);
	/* Two threads with nobody behind them are one, too. */
	begin(f, 3);
	SLEEP_ON(100 * MS, 2, 2, X, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	SLEEP_ON(300 * MS, 3, 3, Y, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	s = end(f, 1000 * MS);
	assert_int_equal(s->stalls.list.n, 1);
	assert_int_equal(s->stalls.list.v[0].circle, 1);
	assert_int_equal(s->stalls.list.v[0].threads, 2);
	finish(f, s);
}

/* The lock was let go before the end: it was none. */
static void test_ended(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 3);
	SLEEP_ON(100, 2, 2, X, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	SLEEP_ON(120, 3, 3, Y, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	WAKING(500, 1, 3, 1);
	SWITCH(510, 3, 0, 3, 0);
	s = end(f, 1000);
	assert_int_equal(s->stuck.circles, 0);
	assert_null(stuck(s, 3));
	finish(f, s);
}

/* Woken by another thread, without a release, to its own end. */
static void die(struct feed *f, uint64_t ts, uint32_t tid, uint32_t code)
{
	WAKING(ts, 1, tid, 1);
	SWITCH(ts + 10, tid, 0, tid, 0);
	EV(ts + 20, tid, EV_EXIT, .exit = {tid, code});
	SWITCH(ts + 30, tid, tid, 0, STATE_DEAD);
}

/* Two in a circle, one behind it, and one that waits for work, when the process ends. */
static struct summary *process_ends(struct feed *f, uint32_t code)
{
	begin(f, 5);
	SLEEP_ON(100, 2, 2, X, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	SLEEP_ON(110, 4, 4, X, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	SLEEP_ON(120, 3, 3, Y, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	SLEEP_ON(130, 5, 5, Z, OP_BITSET, 0, 0);
	/* Others are faster to die than the first one, which is preempted meanwhile. */
	WAKING(500, 1, 2, 1);
	SWITCH(505, 2, 0, 2, 0);
	SWITCH(507, 2, 2, 0, STATE_PREEMPTED);
	die(f, 510, 3, code);
	die(f, 550, 4, code);
	die(f, 590, 5, code);
	SWITCH(640, 2, 0, 2, 0);
	/* It waits for the core dump before it ends. */
	EV(642, 2, EV_SWITCH, .switch_ = {2, 0, STATE_UNINTERRUPTIBLE, 202 + 1});
	WAKING(650, 1, 2, 1);
	SWITCH(652, 2, 0, 2, 0);
	EV(660, 2, EV_EXIT, .exit = {2, code});
	SWITCH(670, 2, 2, 0, STATE_DEAD);
	return end(f, 1000);
}

static void test_process_ended(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s = process_ends(f, 0);

	assert_int_equal(s->stuck.circles, 1);
	assert_int_equal(stuck(s, 2)->circle, 1);
	assert_int_equal(stuck(s, 2)->end, 500);
	assert_true(stuck(s, 2)->with_life);
	assert_int_equal(stuck(s, 3)->circle, 1);
	assert_int_equal(stuck(s, 4)->behind, 1);
	assert_null(stuck(s, 5));
	/* Nobody woke them. */
	for (size_t i = 0; i < f->m->tally.wakers.n; i++)
		assert_false(f->m->tally.wakers.v[i].count &&
			     f->m->tally.waits.v[f->m->tally.wakers.v[i].wait].lock);
	finish(f, s);
}

static void test_process_killed(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s = process_ends(f, 9);

	assert_int_equal(s->stuck.circles, 1);
	assert_non_null(stuck(s, 5));
	assert_int_equal(stuck(s, 5)->end, 590);
	finish(f, s);
}

/* A thread that got the lock, or was joined, and then ends, was not woken to end. */
static void test_went_on_and_ended(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 4);
	SLEEP_ON(100, 2, 2, X, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	SLEEP_ON(110, 4, 4, X, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	SLEEP_ON(120, 3, 3, Y, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	EV(500, 3, EV_WAKING, .waking = {2, 1, WAKE_TASK | WAKE_RELEASE, 0, 0});
	SWITCH(510, 2, 0, 2, 0);
	EV(520, 2, EV_EXIT, .exit = {2, 0});
	SWITCH(530, 2, 2, 0, STATE_DEAD);
	/* Interrupted by a signal, it waits for something else before it ends. */
	WAKING(600, 1, 3, 1);
	SWITCH(610, 3, 0, 3, 0);
	SWITCH(620, 3, 3, 0, STATE_INTERRUPTIBLE);
	die(f, 630, 3, 9);
	s = end(f, 1000);
	assert_int_equal(s->stuck.circles, 0);
	assert_null(stuck(s, 2));
	assert_null(stuck(s, 3));
	assert_non_null(stuck(s, 4));
	finish(f, s);
}

/* A row that ends at a thread that does not wait; the process exits. */
static void test_row_without_end(void **state)
{
	struct feed feed, *f = &feed;
	const uint64_t long_after = 2000000000;
	struct summary *s;

	begin(f, 5);
	SLEEP_ON(100, 2, 2, X, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	SLEEP_ON(110, 4, 4, Y, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	SLEEP_ON(120, 3, 3, Z, OP_WAIT, MUTEX_WORDS(1, 1, 0));
	SLEEP_ON(130, 5, 5, 0x40000, OP_BITSET, 0, 0);
	for (uint32_t i = 2; i <= 5; i++)
		die(f, long_after + 100 * i, i, 0);
	s = end(f, long_after + 1000);
	assert_int_equal(s->stuck.circles, 0);
	for (uint32_t i = 2; i <= 4; i++)
		assert_ptr_equal(stuck(s, i)->root, stuck(s, 3)->thread);
	assert_null(stuck(s, 5)); /* it may have had nothing to do */
	finish(f, s);
}

/* Asleep since before anybody looked, as the recorder was told. */
static void test_since_before(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	feed_init_names(f);
	BEGIN(1);
	PEER(1, 1, "main");
	PEER(1, 2, "a");
	PEER(1, 3, "b");
	EV(1, 0, EV_FUTEX, .futex = {2, X, OP_WAIT, MUTEX_WORDS(3, 1, 0)});
	EV(1, 0, EV_ASLEEP, .asleep = {2, STATE_INTERRUPTIBLE, 203, 0, 0});
	EV(1, 0, EV_FUTEX, .futex = {3, Y, OP_WAIT, MUTEX_WORDS(2, 1, 0)});
	EV(1, 0, EV_ASLEEP, .asleep = {3, STATE_INTERRUPTIBLE, 203, 0, 0});
	s = end(f, 1000);
	assert_int_equal(s->stuck.circles, 1);
	assert_true(stuck(s, 2)->before);
	assert_int_equal(stuck(s, 2)->reason, REASON_MUTEX);
	assert_int_equal(timeline_thread(&f->m->timeline, 2)->waits[REASON_MUTEX], 999);
	finish(f, s);
}

/* Two threads at one condition variable since before anybody looked are taken for a pool. Whether
 * anybody woke one of its threads is kept. */
static void test_unwoken_pool(void **state)
{
	for (unsigned woken = 0; woken < 2; woken++) {
		struct feed feed, *f = &feed;
		struct summary *s;
		uint32_t u;

		feed_init_names(f);
		BEGIN(1);
		u = STACK("libc.so.6:pthread_cond_wait", "app:take_next", "app:worker_main");
		for (uint32_t i = 1; i <= 4; i++)
			PEER(1, i, "taker");
		for (uint32_t i = 2; i <= 4; i++) {
			EV(1, 0, EV_FUTEX, .futex = {i, X + 40, OP_BITSET, 0, 0, 0, 0, 0, 0});
			EV(1, 0, EV_ASLEEP, .asleep = {i, STATE_INTERRUPTIBLE, 203, 0, u});
		}
		if (woken)
			LET_GO(500, 4, 4, 1);
		s = end(f, 1000);
		assert_int_equal(stuck(s, 2)->reason, REASON_IDLE);
		assert_int_equal(stuck(s, 2)->in, REASON_CONDVAR);
		assert_int_equal(stuck(s, 2)->unwoken, !woken);
		assert_int_equal(stuck(s, 3)->unwoken, !woken);
		finish(f, s);
	}
}

/* For which file: told of the wait in which the thread is, and of no other one. */
static void test_file(void **state)
{
	const char *path = "/mnt/dead/data";
	struct feed feed, *f = &feed;
	struct summary *s;

	feed_init_names(f);
	BEGIN(1);
	for (uint32_t i = 1; i <= 5; i++)
		PEER(1, i, "reader");
	for (uint32_t i = 2; i <= 5; i++)
		EV(1, 0, EV_ASLEEP, .asleep = {i, STATE_UNINTERRUPTIBLE, 1, 0, 0});
	for (uint32_t i = 2; i <= 5; i++)
		EV(1, 0, EV_FILE, .file = {i, path, "nfs4", "server:/export"});
	/* It comes back, and waits again, for who knows what. */
	WAKING(300, 0, 3, 0);
	SWITCH(310, 0, 0, 3, 0);
	SWITCH(400, 0, 3, 0, STATE_UNINTERRUPTIBLE);
	/* Looked at again, it was another one. */
	EV(900, 0, EV_FILE, .file = {4, "", "", ""});
	EV(900, 0, EV_FILE, .file = {5, path, "nfs4", "server:/export"});
	EV(900, 0, EV_FILE, .file = {77, path, "nfs4", "server:/export"});
	s = end(f, 1000);
	assert_string_equal(stuck(s, 2)->file->path, path);
	assert_string_equal(stuck(s, 2)->file->type, "nfs4");
	assert_string_equal(stuck(s, 2)->file->source, "server:/export");
	assert_string_equal(stuck(s, 2)->call, "read");
	assert_null(stuck(s, 3)->file);
	assert_null(stuck(s, 4)->file);
	assert_ptr_equal(stuck(s, 5)->file, stuck(s, 2)->file);
	assert_int_equal(f->m->files.list.n, 1);
	finish(f, s);
}

/* A row of a hundred thousand, each of whom waits for the next: walked over once. */
static void test_long_row(void **state)
{
	enum { N = 100000 };
	struct feed feed, *f = &feed;
	struct summary *s;

	feed_init_names(f);
	BEGIN(1);
	PEER(1, 1, "main");
	for (uint32_t i = 2; i < N; i++)
		PEER(1, i, "row");
	for (uint32_t i = 2; i < N - 1; i++) {
		EV(1, 0, EV_FUTEX, .futex = {i, X + 64ull * i, OP_WAIT, MUTEX_WORDS(i + 1, 1, 0)});
		EV(1, 0, EV_ASLEEP, .asleep = {i, STATE_INTERRUPTIBLE, 203, 0, 0});
	}
	END(1000);
	model_finish(f->m); /* feed_finish() compares all with all */
	s = feed_summary(f);
	assert_int_equal(s->stuck.circles, 0);
	assert_int_equal(stuck(s, N - 2)->behind, 0);
	finish(f, s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_circle),		cmocka_unit_test(test_deadlock_is_a_stall),
		cmocka_unit_test(test_ended),		cmocka_unit_test(test_process_ended),
		cmocka_unit_test(test_process_killed),	cmocka_unit_test(test_went_on_and_ended),
		cmocka_unit_test(test_row_without_end), cmocka_unit_test(test_since_before),
		cmocka_unit_test(test_unwoken_pool),	cmocka_unit_test(test_file),
		cmocka_unit_test(test_long_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
