// SPDX-License-Identifier: MIT
/* Sorting by keys against what a plain insertion makes of the same. */
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
