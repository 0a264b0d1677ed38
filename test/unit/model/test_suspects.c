// SPDX-License-Identifier: MIT
/* Who ran in the kernel while others slept on a lock whose holder is not known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "unit/model/feed.h"

enum { WAITER = 2, READER = 3, IDLER = 4, STRANGER = 9, LOCK = 0xffff0010 };

#define SAMPLED(ts, tid, kstack) EV(ts, 0, EV_SAMPLE, .sample = {tid, kstack, 0})
#define SLEEPS(ts)                                                                                 \
	EV(ts, 1, EV_KLOCK, .klock = {WAITER, LOCK, KLOCK_WRITE, 0, KLOCK_MMAP_LOCK, 1});          \
	SWITCH(ts + 1, 1, WAITER, 0, 2)

static struct feed *begin(struct feed *f)
{
	feed_init(f);
	BEGIN(1);
	EV(2, 0, EV_THREAD, .thread = {WAITER, 1, 0, 0, "waiter"});
	EV(2, 0, EV_THREAD, .thread = {READER, 1, 0, 0, "reader"});
	EV(2, 0, EV_THREAD, .thread = {IDLER, 1, 0, 0, "idler"});
	EV(2, 0, EV_THREAD, .thread = {STRANGER, 8, 0, 0, "stranger"});
	SWITCH(5, 1, 0, WAITER, 0);
	return f;
}

static size_t end(struct feed *f, struct suspect *ret, size_t room, uint64_t *ret_all)
{
	END(1000);
	model_finish(f->m);
	return suspects_of(&f->m->suspects, &f->m->tally, 0, ret, room, ret_all);
}

static void test_only_while_somebody_sleeps(void **state)
{
	struct feed feed, *f = begin(&feed);
	struct suspect who[2];
	uint64_t all;

	SAMPLED(10, READER, 7);
	SLEEPS(20);
	SAMPLED(30, READER, 7);
	SAMPLED(31, READER, 8);
	SAMPLED(32, READER, 8);
	SAMPLED(33, IDLER, 9);
	SAMPLED(34, READER, 0);	  /* not in the kernel */
	SAMPLED(35, STRANGER, 7); /* another process: it cannot hold this one's mmap_lock */
	WAKING(40, 0, WAITER, READER);
	SWITCH(50, 1, 0, WAITER, 0);
	SAMPLED(60, READER, 7);
	assert_int_equal(end(f, who, 2, &all), 2);
	assert_int_equal(all, 4);
	assert_int_equal(who[0].thread->tid, READER);
	assert_int_equal(who[0].samples, 3);
	assert_int_equal(f->m->tally.samples.v[who[0].row].kstack, 8);
	assert_int_equal(who[1].thread->tid, IDLER);
	assert_int_equal(who[1].samples, 1);
	feed_done(f);
}

/* More suspects than there is room for: the most frequent stay. */
static void test_little_room(void **state)
{
	struct feed feed, *f = begin(&feed);
	struct suspect who[1];
	uint64_t all;

	SLEEPS(20);
	SAMPLED(30, IDLER, 9);
	SAMPLED(31, READER, 7);
	SAMPLED(32, READER, 7);
	assert_int_equal(end(f, who, 1, &all), 1);
	assert_int_equal(who[0].thread->tid, READER);
	assert_int_equal(all, 3);
	feed_done(f);
}

static void test_nobody(void **state)
{
	struct feed feed, *f = begin(&feed);
	struct suspect who[1];
	uint64_t all;

	SAMPLED(30, READER, 7);
	assert_int_equal(end(f, who, 1, &all), 0);
	assert_int_equal(all, 0);
	feed_done(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_while_somebody_sleeps),
		cmocka_unit_test(test_little_room),
		cmocka_unit_test(test_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
