// SPDX-License-Identifier: MIT
/* Python's global lock, from the sleeps and signals that it is made of. */
#include "unit/model/futex.h"

/* The two conditions in the interpreter's memory, the words slept on in them, and the mutex
 * between. */
#define FIRST 0x9000ull
#define WORD (FIRST + 40)
#define MUTEX (FIRST + 48)
#define SECOND (FIRST + 88)
#define OP_TIMED (9 | 128)

/* Threads 1, 2, 3 and 4 of process 1; each on the CPU of its number. */
static void begin(struct feed *f, const char *symbol)
{
	const uint64_t words[] = {WORD, WORD + 4, MUTEX, SECOND + 40};
	uint32_t module, at;

	feed_init_names(f);
	BEGIN(1);
	PEER(1, 1, "python3");
	PEER(1, 2, "handler");
	PEER(1, 3, "hog");
	PEER(1, 4, "other");
	for (unsigned tid = 2; tid <= 4; tid++)
		SWITCH(2, tid, 0, tid, 0);
	module = fake_module("libpython3.11.so.1.0:");
	at = fake.names_n;
	STACK(symbol, symbol, symbol, symbol);
	for (unsigned i = 0; i < ARRAY_LEN(words); i++)
		EV(3, 0, EV_PLACE, .place = {1, words[i], PLACE_MODULE, module, at + i, 0});
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

#define WANTS(ts, tid, word) SLEEP_ON(ts, tid, tid, word, OP_TIMED, 0, 0, 0, 0, 0, 0)
/* After 5 ms nobody has signalled. */
#define TIMER(ts, tid)                                                                             \
	do {                                                                                       \
		EV((ts), tid, EV_WAKING, .waking = {tid, 0, WAKE_HARDIRQ, 0, 0});                  \
		SWITCH((ts), tid, 0, tid, 0);                                                      \
	} while (0)

static uint64_t blamed(const struct lock_sum *l, uint32_t tid)
{
	for (size_t i = 0; i < l->holders.n; i++)
		if (tid ? l->holders.v[i].thread && l->holders.v[i].thread->tid == tid
			: !l->holders.v[i].thread)
			return l->holders.v[i].blamed;
	return 0;
}

/*
 * The hog computes. The handler waits in two pieces, asks for the GIL and gets it; the hog waits
 * until it has been taken, then for its own turn.
 */
static void one_hog(const char *symbol)
{
	struct feed feed, *f = &feed;
	const struct lock_sum *l;
	struct summary *s;

	begin(f, symbol);
	WANTS(100, 2, WORD);
	TIMER(200, 2);
	WANTS(201, 2, WORD + 4);
	LET_GO(300, 2, 2, 3);
	WANTS(301, 3, SECOND + 40);
	LET_GO(310, 3, 3, 2); /* taken */
	WANTS(320, 3, WORD);
	LET_GO(400, 3, 3, 2);
	s = end(f, 500);
	assert_int_equal(s->locks.n, 1);
	l = lock_at(s, FIRST, 1);
	assert_string_equal(lock_kind_name(l->kind), "gil");
	assert_string_equal(l->name, "the GIL of python3 (1)");
	assert_true(l->named && l->contended);
	assert_int_equal(l->total, 100 + 99 + 9 + 80);
	assert_int_equal(blamed(l, 3), 100 + 99);
	assert_int_equal(blamed(l, 2), 80);
	assert_int_equal(s->reasons[REASON_GIL], l->total);
	assert_int_equal(s->reasons[REASON_CONDVAR], 0);
	finish(f, s);
}

static void test_one_hog(void **state)
{
	one_hog("libpython3.11.so.1.0:_PyRuntime+0x1c8");
	one_hog("libpython3.11.so.1.0:_PyRuntime.ceval.gil.cond"); /* with debug information */
}

/* What is not seen to change hands: the next who is made to let go had it since it last waited for
 * it. */
static void test_signals_that_nobody_needed(void **state)
{
	struct feed feed, *f = &feed;
	const struct lock_sum *l;
	struct summary *s;

	begin(f, "libpython3.11.so.1.0:_PyRuntime+0x1c8");
	WANTS(1000000, 3, WORD);
	LET_GO(1100000, 3, 3, 4); /* 4 had it, 3 has it now */
	WANTS(2000000, 2, WORD);
	TIMER(7000000, 2); /* it got it without being woken */
	WANTS(7100000, 3, SECOND + 40);
	LET_GO(7110000, 3, 3, 2); /* 2 has taken it */
	EV(7200000, 2, EV_SWITCH, .switch_ = {2, 0, STATE_INTERRUPTIBLE, 230 + 1}); /* and sleeps */
	WANTS(9000000, 4, WORD);
	TIMER(14000000, 4);
	WANTS(14050000, 4, WORD); /* once more, at once: it has not had it */
	WANTS(14400000, 3, WORD); /* 3 has run since 7110000 and wants it again: it had it */
	s = end(f, 15000000);
	l = lock_at(s, FIRST, 1);
	assert_int_equal(blamed(l, 4), 100000);
	assert_int_equal(blamed(l, 3), 5000000 + 5000000 + 350000);
	assert_int_equal(blamed(l, 2), 0);
	finish(f, s);
}

/* The GIL goes round: each wait is cut where it changed hands, and no thread waits for itself. */
static void test_three_in_turn(void **state)
{
	struct feed feed, *f = &feed;
	const struct lock_sum *l;
	struct summary *s;

	begin(f, "libpython3.11.so.1.0:_PyRuntime+0x1c8");
	WANTS(100, 2, WORD);
	WANTS(110, 4, WORD);
	LET_GO(200, 2, 2, 3); /* 3 had it up to here, 2 gets it */
	WANTS(210, 3, WORD);
	LET_GO(300, 4, 4, 2); /* 2 had it */
	LET_GO(400, 3, 3, 4); /* 4 had it */
	s = end(f, 500);
	l = lock_at(s, FIRST, 1);
	assert_int_equal(l->total, 100 + 190 + 190);
	assert_int_equal(blamed(l, 3), 100 + 90); /* 100..200 for 2, 110..200 for 4 */
	assert_int_equal(blamed(l, 2), 100 + 90); /* 200..300 for 4, 210..300 for 3 */
	assert_int_equal(blamed(l, 4), 100);	  /* 300..400 for 3 */
	assert_int_equal(s->blame.unknown, 0);
	for (size_t i = 0; i < s->blame.rows.n; i++)
		assert_false(s->blame.rows.v[i].deadlock);
	finish(f, s);
}

/* A thread that waits for the GIL has not got it, whatever comes later. */
static void test_waiter_is_no_holder(void **state)
{
	struct feed feed, *f = &feed;
	const struct lock_sum *l;
	struct summary *s;

	begin(f, "libpython3.11.so.1.0:_PyRuntime+0x1c8");
	WANTS(100, 2, WORD);
	WANTS(100, 4, WORD);
	TIMER(200, 4); /* somebody let go unseen, and 4 took it */
	LET_GO(300, 2, 2, 4);
	s = end(f, 500);
	l = lock_at(s, FIRST, 1);
	assert_int_equal(blamed(l, 4), 100);
	assert_int_equal(blamed(l, 0), 200); /* 100..200, of both */
	finish(f, s);
}

/* Sleeps recorded before its place in memory was known belong to it. */
static void test_place_comes_late(void **state)
{
	struct feed feed, *f = &feed;
	const struct lock_sum *l;
	struct summary *s;
	uint32_t module, at;

	feed_init_names(f);
	BEGIN(1);
	PEER(1, 1, "python3");
	PEER(1, 2, "handler");
	PEER(1, 3, "hog");
	SWITCH(2, 2, 0, 2, 0);
	SWITCH(2, 3, 0, 3, 0);
	WANTS(100, 2, WORD);
	LET_GO(200, 2, 2, 3);
	module = fake_module("python3.11:");
	at = fake.names_n;
	STACK("python3.11:_PyRuntime+0x1c8");
	EV(210, 0, EV_PLACE, .place = {1, WORD, PLACE_MODULE, module, at, 0});
	WANTS(220, 2, WORD);
	LET_GO(300, 2, 2, 3);
	s = end(f, 500);
	assert_int_equal(s->locks.n, 1);
	l = lock_at(s, FIRST, 1);
	assert_int_equal(l->count, 2);
	assert_int_equal(l->total, 180);
	assert_int_equal(s->reasons[REASON_GIL], 180);
	finish(f, s);
}

/* The mutex that guards it, and conditions of other programs, stay what they look like. */
static void test_others_are_none(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, "libpython3.11.so.1.0:_PyRuntime+0x1c8");
	SLEEP_ON(100, 2, 2, MUTEX, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	LET_GO(110, 2, 2, 3);
	s = end(f, 200);
	check_lock(lock_at(s, MUTEX, 1), "mutex", 1, 10, 3, 10);
	finish(f, s);

	begin(f, "server:queue_ready+0x28");
	WANTS(100, 2, WORD);
	LET_GO(110, 2, 2, 3);
	s = end(f, 200);
	assert_int_equal(s->reasons[REASON_GIL], 0);
	finish(f, s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_hog),
		cmocka_unit_test(test_signals_that_nobody_needed),
		cmocka_unit_test(test_three_in_turn),
		cmocka_unit_test(test_waiter_is_no_holder),
		cmocka_unit_test(test_place_comes_late),
		cmocka_unit_test(test_others_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
