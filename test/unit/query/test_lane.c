// SPDX-License-Identifier: MIT
/* Lanes against an array with an entry for each nanosecond. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "query/lane.h"

enum { TIME = 60000 };

static uint32_t state = 1;

static uint32_t rnd(uint32_t below)
{
	state = state * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)state * below) >> 32);
}

struct fixture {
	struct lane lane;
	struct arena arena;
	uint8_t truth[TIME];
};

/* Some start where the one before is not over yet, some later than its end. */
static void make(struct fixture *f, unsigned longest)
{
	static const uint8_t classes[] = {0, 2, 11, 27, CLASS_RUNNING, CLASS_LOST};
	uint64_t at = rnd(300), covered = 0;

	*f = (struct fixture){0};
	memset(f->truth, CLASS_GONE, sizeof(f->truth));
	while (at < TIME - 2 * longest) {
		uint8_t class = classes[rnd(sizeof(classes))];
		uint64_t start = at, end = at + 1 + rnd(longest);

		if (!rnd(8))
			start += rnd(50);
		else if (!rnd(8) && f->lane.n)
			start -= rnd(20) % (start + 1);
		lane_push(&f->lane, &f->arena, start, end, class, (uint32_t)start, 0);
		for (uint64_t t = start; t < end; t++)
			if (t >= covered)
				f->truth[t] = class;
		if (start < end)
			covered = end > covered ? end : covered;
		at = end > at ? end : at;
	}
	lane_seal(&f->lane);
}

static void done(struct fixture *f)
{
	lane_done(&f->lane);
	arena_done(&f->arena);
}

static void test_every_moment(void **state_)
{
	static struct fixture f;

	make(&f, 40);
	assert_true(f.lane.n > 3 * LANE_BLOCK);
	for (uint64_t t = 0; t < TIME; t++) {
		size_t i = lane_find(&f.lane, t);
		unsigned class = i == SIZE_MAX ? CLASS_GONE : lane_class(&f.lane, i);

		assert_int_equal(class, f.truth[t]);
		if (i != SIZE_MAX)
			assert_true(lane_start(&f.lane, i) <= t && t < lane_end(&f.lane, i));
	}
	done(&f);
}

static void brute(const struct fixture *f, uint64_t from, uint64_t to, uint64_t sums[SLOTS])
{
	memset(sums, 0, SLOTS * sizeof(*sums));
	for (uint64_t t = from; t < to && t < TIME; t++)
		if (f->truth[t] != CLASS_GONE)
			sums[class_slot(f->truth[t])]++;
}

static void test_sums(void **state_)
{
	static struct fixture f;

	for (unsigned round = 0; round < 20; round++) {
		make(&f, 1 + rnd(400));
		for (unsigned i = 0; i < 200; i++) {
			uint64_t from = rnd(TIME), to = from + rnd(TIME), want[SLOTS],
				 got[SLOTS] = {0};

			brute(&f, from, to, want);
			lane_sums(&f.lane, from, to, got);
			assert_memory_equal(got, want, sizeof(got));
		}
		done(&f);
	}
}

/* Steps of all sizes, some of none, and beyond the end. */
static void test_walk(void **state_)
{
	static struct fixture f;

	for (unsigned round = 0; round < 50; round++) {
		uint64_t ts = 0, want[SLOTS], got[SLOTS] = {0};
		struct lane_walk w;

		make(&f, 1 + rnd(100));
		lane_walk_init(&w, &f.lane);
		while (ts < TIME + 1000) {
			ts += rnd(rnd(8) ? 30 : 9000);
			lane_walk_to(&w, ts, got);
			brute(&f, 0, ts, want);
			assert_memory_equal(got, want, sizeof(got));
		}
		done(&f);
	}
}

static void test_nothing(void **state_)
{
	uint64_t sums[SLOTS] = {0};
	struct lane l = {0};

	lane_seal(&l);
	assert_int_equal(lane_find(&l, 0), SIZE_MAX);
	lane_sums(&l, 0, LANE_TIME_MAX, sums);
	for (unsigned s = 0; s < SLOTS; s++)
		assert_int_equal(sums[s], 0);
	lane_done(&l);
}

static void test_the_end_of_time(void **state_)
{
	uint64_t sums[SLOTS] = {0};
	struct arena a = {0};
	struct lane l = {0};

	lane_push(&l, &a, 5, UINT64_MAX, CLASS_RUNNING, 0, 0);
	lane_push(&l, &a, UINT64_MAX - 1, UINT64_MAX, CLASS_LOST, 0, 0);
	lane_seal(&l);
	assert_int_equal(l.n, 1);
	lane_sums(&l, 0, UINT64_MAX, sums);
	assert_true(sums[SLOT_RUNNING] == LANE_TIME_MAX - 5);
	lane_done(&l);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_moment),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_the_end_of_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
