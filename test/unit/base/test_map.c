// SPDX-License-Identifier: MIT
/* The map against an array that cannot be wrong, under random puts and deletions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/map.h"

#define KEYS 512

struct truth {
	bool there;
	uint64_t val;
};

static uint32_t random_u32(void)
{
	static uint32_t r = 1;

	r = r * 1664525 + 1013904223;
	return r >> 8;
}

/* Keys that a thread table would have: dense, sparse, and the extremes. */
static uint64_t key_of(unsigned i)
{
	return i == 0 ? 0 : i == 1 ? UINT64_MAX : i < 256 ? i : (uint64_t)i << 32;
}

static void check(const struct map *m, const struct truth *truth)
{
	struct map_slot *slot;
	size_t n = 0, walked = 0;

	for (unsigned i = 0; i < KEYS; i++) {
		uint64_t *v = map_get(m, key_of(i));

		assert_int_equal(!!v, truth[i].there);
		if (v)
			assert_int_equal(*v, truth[i].val);
		n += truth[i].there;
	}
	assert_int_equal(m->n, n);
	for (size_t pos = 0; map_next(m, &pos, &slot); walked++)
		assert_ptr_equal(&slot->val, map_get(m, slot->key));
	assert_int_equal(walked, n);
}

static void test_random_operations(void **state)
{
	struct truth truth[KEYS] = {0};
	struct map m = {0};

	for (unsigned step = 0; step < 60000; step++) {
		unsigned i = random_u32() % KEYS;
		/* Phases that fill the map and phases that empty it. */
		bool put = random_u32() % 8 < (step / 5000 % 2 ? 2 : 6);

		if (put) {
			bool is_new;
			uint64_t *v = map_put(&m, key_of(i), &is_new);

			assert_int_equal(is_new, !truth[i].there);
			assert_int_equal(*v, truth[i].there ? truth[i].val : 0);
			*v = step;
			truth[i] = (struct truth){.there = true, .val = step};
		} else {
			assert_int_equal(map_del(&m, key_of(i)), truth[i].there);
			truth[i].there = false;
		}
		if (step % 500 == 0)
			check(&m, truth);
	}
	check(&m, truth);
	map_clear(&m);
	memset(truth, 0, sizeof(truth));
	check(&m, truth);
	*map_put(&m, 5, NULL) = 7;
	assert_int_equal(*map_get(&m, 5), 7);
	map_done(&m);
	assert_null(map_get(&m, 5));
}

static void test_empty(void **state)
{
	struct map m = {0};
	struct map_slot *slot;
	size_t pos = 0;

	assert_null(map_get(&m, 0));
	assert_false(map_del(&m, 0));
	assert_false(map_next(&m, &pos, &slot));
	map_clear(&m);
	map_done(&m);
}

/* Millions of threads that come and go: the table must not grow with them. */
static void test_churn_stays_small(void **state)
{
	struct map m = {0};

	for (uint64_t tid = 0; tid < 200000; tid++) {
		map_put(&m, tid, NULL);
		if (tid >= 30)
			assert_true(map_del(&m, tid - 30));
	}
	assert_int_equal(m.n, 30);
	assert_true(m.mask < 128);
	map_done(&m);
}

static void test_hash_of_bytes(void **state)
{
	assert_true(map_hash_bytes("ab", 2) != map_hash_bytes("ba", 2));
	assert_true(map_hash_bytes("\0", 1) != map_hash_bytes("\0\0", 2));
	assert_true(map_hash_bytes("abc", 3) == map_hash_bytes("abcd", 3));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_operations),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_churn_stays_small),
		cmocka_unit_test(test_hash_of_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
