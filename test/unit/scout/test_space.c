// SPDX-License-Identifier: MIT
/* Mappings that replace, cut and share each other, beside a table of pages that knows the truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "scout/space.h"

enum { PAGES = 3000, ROUNDS = 20000 };

struct truth {
	uint32_t module[PAGES]; /* 0: nothing */
	uint64_t pgoff[PAGES];
};

static void put(struct truth *t, uint64_t start, uint64_t end, uint32_t module, uint64_t pgoff)
{
	for (uint64_t i = start; i < end; i++) {
		t->module[i] = module;
		t->pgoff[i] = pgoff + (i - start);
	}
}

static void compare(const struct space *s, const struct truth *t)
{
	struct space_pos pos = {0};
	const struct mapped_range *r;
	uint64_t last = 0;
	size_t n = 0;

	for (uint64_t i = 0; i < PAGES; i++) {
		r = space_at(s, i);
		assert_int_equal(r != NULL, t->module[i] != 0);
		assert_int_equal(space_overlaps(s, i, i + 1), r != NULL);
		if (!r)
			continue;
		assert_int_equal(r->module, t->module[i]);
		assert_int_equal(r->pgoff + (i - r->start), t->pgoff[i]);
	}
	for (; (r = space_next(s, &pos)); n++) {
		assert_true(r->start >= last && r->end > r->start);
		last = r->end;
	}
	assert_int_equal(n, space_count(s));
}

static void any_order(void **state)
{
	struct space *s = space_new(1), *child = NULL;
	struct truth *t = calloc(2, sizeof(*t));

	srand(7);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		uint64_t start = (uint64_t)rand() % PAGES,
			 len = 1 + (uint64_t)rand() % (i % 50 ? 3 : 600);
		uint64_t end = start + len < PAGES ? start + len : PAGES;

		s = space_own(s, i);
		space_insert(s, (struct mapped_range){
					.start = start, .end = end, .pgoff = i, .module = i});
		put(&t[0], start, end, i, i);
		if (i % 1000)
			continue;
		compare(s, &t[0]);
		/* A child shares it, and keeps what it had whatever its parent does. */
		if (child)
			compare(child, &t[1]);
		space_put(child);
		child = space_ref(s);
		t[1] = t[0];
	}
	space_put(child);
	space_put(s);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(any_order)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
