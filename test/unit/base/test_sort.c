// SPDX-License-Identifier: MIT
/* Sorting, by keys and by comparing, against what a plain insertion makes of the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/sort.h"

enum { MOST = 3000 };

static uint64_t random_u64(void)
{
	static uint64_t r = 1;

	r = r * 6364136223846793005ull + 1442695040888963407ull;
	return r ^ r >> 29;
}

/* Numbers as they come: few, close together far from 0, of all sizes, the extremes. */
static uint64_t key_like(unsigned kind)
{
	switch (kind) {
	case 0:
		return random_u64() >> 32 & 7;
	case 1:
		return 1000000000000000ull + (random_u64() >> 40);
	case 2:
		return random_u64() >> (random_u64() >> 58);
	case 3:
		return random_u64() & 1 ? UINT64_MAX : 0;
	}
	return random_u64() << 53;
}

static void insert(struct sort_key *v, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j && v[j - 1].key > v[j].key; j--) {
			struct sort_key k = v[j];

			v[j] = v[j - 1];
			v[j - 1] = k;
		}
}

static void check(size_t n, unsigned kind)
{
	static struct sort_key v[MOST], truth[MOST];

	for (uint32_t i = 0; i < n; i++)
		v[i] = truth[i] = (struct sort_key){.key = key_like(kind), .at = i};
	sort_keys(v, n);
	insert(truth, n);
	for (size_t i = 0; i < n; i++) {
		assert_true(v[i].key == truth[i].key);
		assert_int_equal(v[i].at, truth[i].at);
	}
}

static const uint64_t *compared;

static int by_key(const void *pa, const void *pb)
{
	const struct sort_key *a = pa, *b = pb;

	return (a->key > b->key) - (a->key < b->key);
}

static int by_number_of(const void *pa, const void *pb, void *arg)
{
	const uint64_t *keys = arg;
	uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	assert_ptr_equal(keys, compared);
	return (keys[a] > keys[b]) - (keys[a] < keys[b]);
}

static void check_compared(size_t n, unsigned kind)
{
	static struct sort_key v[MOST], truth[MOST];
	static uint64_t keys[MOST];
	static uint32_t order[MOST];

	for (uint32_t i = 0; i < n; i++) {
		keys[i] = key_like(kind);
		v[i] = truth[i] = (struct sort_key){.key = keys[i], .at = i};
		order[i] = i;
	}
	compared = keys;
	sort_by(v, n, sizeof(v[0]), by_key);
	sort_with(order, n, sizeof(order[0]), by_number_of, keys);
	insert(truth, n);
	for (size_t i = 0; i < n; i++) {
		assert_true(v[i].key == truth[i].key);
		assert_int_equal(v[i].at, truth[i].at);
		assert_int_equal(order[i], truth[i].at);
	}
}

static void test_equals_keep_their_order(void **state)
{
	static const size_t sizes[] = {0, 1, 2, 3, 8, 9, 10, 17, 300, MOST};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (unsigned kind = 0; kind < 5; kind++)
			check_compared(sizes[i], kind);
	sort_by(NULL, 0, 8, by_key);
}

static void test_like_insertion(void **state)
{
	static const size_t sizes[] = {0, 1, 2, 47, 48, 49, 50, 300, MOST};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (unsigned kind = 0; kind < 5; kind++)
			check(sizes[i], kind);
}

static void test_in_order_stays(void **state)
{
	struct sort_key v[100];

	for (uint32_t i = 0; i < 100; i++)
		v[i] = (struct sort_key){.key = i / 3, .at = i};
	sort_keys(v, 100);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(v[i].at, i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_insertion),
		cmocka_unit_test(test_in_order_stays),
		cmocka_unit_test(test_equals_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
