// SPDX-License-Identifier: MIT
/* Who held a lock when a wait began: from signs alone, as a walk hands them out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "export/holders.h"

enum { A, B, C, THREADS };

struct stage {
	struct holders h;
	struct thread threads[THREADS];
};

static int setup(void **state)
{
	struct stage *s = mem_zalloc(sizeof(*s));

	for (uint32_t i = 0; i < THREADS; i++) {
		s->threads[i].index = i;
		s->threads[i].tid = 100 + i;
	}
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct stage *s = *state;

	holders_done(&s->h);
	free(s);
	return 0;
}

/* `waiter` is about to sleep on the lock, which `owner` has (-1: nobody that is known). */
static void sleeps(struct stage *s, uint64_t ts, int waiter, uint32_t lock, int owner)
{
	struct event ev = {.ts = ts, .kind = EV_FUTEX, .futex = {.tid = 100 + (uint32_t)waiter}};
	struct seen seen = {.ts = ts,
			    .lock = lock,
			    .thread = owner < 0 ? 0 : (uint32_t)owner + 1,
			    .what = owner < 0 ? SEEN_NOBODY : SEEN_HELD};

	holders_event(&s->h, &ev);
	holders_seen(&s->h, &seen);
}

static void lets_go(struct stage *s, uint64_t ts, int who, uint32_t lock, int next)
{
	struct event ev = {.ts = ts, .kind = EV_WAKING};
	struct seen seen = {.ts = ts,
			    .lock = lock,
			    .thread = (uint32_t)who + 1,
			    .next = (uint32_t)next + 1,
			    .what = SEEN_RELEASED};

	holders_event(&s->h, &ev);
	holders_seen(&s->h, &seen);
}

/* -1: not known. */
static int holder(struct stage *s, int waiter, uint32_t lock, uint64_t start)
{
	struct interval iv = {.start = start,
			      .end = start + 1,
			      .thread = &s->threads[waiter],
			      .kind = INTERVAL_WAITING,
			      .lock = lock + 1};

	return (int)holders_interval(&s->h, &iv) - 1;
}

static void the_owner_holds(void **state)
{
	struct stage *s = *state;

	sleeps(s, 10, A, 7, B);
	assert_int_equal(holder(s, A, 7, 10), B);
	lets_go(s, 20, B, 7, A);
	assert_int_equal(holder(s, A, 7, 10), B);
	assert_int_equal(holder(s, A, 8, 10), -1);
	assert_int_equal(holder(s, C, 7, 10), -1);
}

/* A wait is asked for when the thread has gone to sleep once more. */
static void the_wait_before(void **state)
{
	struct stage *s = *state;

	sleeps(s, 10, A, 7, B);
	lets_go(s, 20, B, 7, A);
	sleeps(s, 30, A, 7, C);
	assert_int_equal(holder(s, A, 7, 11), B);
	assert_int_equal(holder(s, A, 7, 30), C);
	sleeps(s, 40, A, 9, B);
	assert_int_equal(holder(s, A, 7, 30), C);
	assert_int_equal(holder(s, A, 9, 41), B);
	assert_int_equal(holder(s, A, 7, 11), -1);
}

/* No thread was seen to have it: the one that lets go of it next had it. */
static void the_next_sign_tells(void **state)
{
	struct stage *s = *state;

	sleeps(s, 10, A, 7, -1);
	assert_int_equal(holder(s, A, 7, 10), -1);
	lets_go(s, 20, C, 7, A);
	assert_int_equal(holder(s, A, 7, 10), C);
}

/* One owner was seen, then another without a word in between: not known. */
static void contradictions(void **state)
{
	struct stage *s = *state;

	sleeps(s, 10, A, 7, B);
	sleeps(s, 15, C, 7, A);
	assert_int_equal(holder(s, A, 7, 10), -1);
	assert_int_equal(holder(s, C, 7, 15), A);
}

static void nobody_waits_for_itself(void **state)
{
	struct stage *s = *state;

	sleeps(s, 10, A, 7, A);
	assert_int_equal(holder(s, A, 7, 10), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_owner_holds, setup, teardown),
		cmocka_unit_test_setup_teardown(the_wait_before, setup, teardown),
		cmocka_unit_test_setup_teardown(the_next_sign_tells, setup, teardown),
		cmocka_unit_test_setup_teardown(contradictions, setup, teardown),
		cmocka_unit_test_setup_teardown(nobody_waits_for_itself, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
