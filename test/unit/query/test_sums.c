// SPDX-License-Identifier: MIT
/* Sums of waits in a range, with and without a look at each: the same for any two moments. */
#include "unit/model/stacks.h"

#include <stdlib.h>

#include "query/weights.h"

enum { WAITS = 30000, THREADS = 3, PLACES = 9 };
#define T0 1000000ull

/* Three threads in turn on one CPU, waiting in one of several places for a while. */
static void long_story(struct feed *f, struct columns *c)
{
	struct model_opts opts = {.frames = &fake_source};
	uint32_t places[PLACES];
	uint64_t ts = T0;

	fake = (struct fake){0};
	*f = (struct feed){0};
	columns_init(c, T0);
	columns_attach(c, &opts);
	f->m = model_new(&opts);
	for (unsigned i = 0; i < PLACES; i++)
		places[i] = STACK("app:wait", "app:main");
	BEGIN(T0);
	for (uint32_t i = 0; i < THREADS; i++)
		THREAD(T0, 10 + i, 0);
	for (uint32_t i = 0; i < WAITS; i++) {
		/* The second does little, so that it has no steps; the third begins late. */
		uint32_t tid = 10 + (i % 50 ? i > 5000 && i % 2 ? 2 : 0 : 1);

		WAKING(ts += 1 + (uint64_t)rand() % 5, 0, tid, 0);
		SWITCH(ts += (uint64_t)rand() % 3, 0, 0, tid, 0);
		EV(ts += 1 + (uint64_t)rand() % 100, 0, EV_WAIT,
		   .wait = {tid, 0, places[(uint32_t)rand() % PLACES]});
		SWITCH(ts, 0, tid, 0, STATE_INTERRUPTIBLE);
	}
	END(ts + 1000);
	model_finish(f->m);
	columns_seal(c, f->m);
}

static void one_by_one(const struct columns *c, uint32_t thread, uint64_t from, uint64_t to,
		       uint64_t *out)
{
	const struct lane *l = &c->threads.v[thread];

	for (size_t i = 0; i < l->n; i++) {
		uint64_t start = lane_start(l, i) > from ? lane_start(l, i) : from;
		uint64_t end = lane_end(l, i) < to ? lane_end(l, i) : to;

		if (class_is_wait(lane_class(l, i)) && start < end)
			out[lane_at(l, i)->row] += end - start;
	}
}

static void test_ranges(void **state)
{
	struct feed feed, *f = &feed;
	struct columns c;
	struct row_sums *s;
	uint64_t *want, *got, duration, named = 0;
	size_t rows;

	srand(2);
	long_story(f, &c);
	s = sums_new(f->m, &c);
	rows = f->m->tally.waits.n;
	duration = f->m->timeline.end - f->m->timeline.begin;
	assert_true(rows >= THREADS * PLACES);
	assert_true(s->threads[0].step && s->threads[2].step && !s->threads[1].step);
	want = mem_alloc(rows * sizeof(*want));
	got = mem_alloc(rows * sizeof(*got));
	for (unsigned round = 0; round < 3000; round++) {
		uint64_t a = (uint64_t)rand() % (duration + 10),
			 b = (uint64_t)rand() % (duration + 10);
		uint32_t thread = (uint32_t)rand() % THREADS;
		size_t at = (size_t)rand() % (c.threads.v[thread].n + 1);

		if (round % 4 == 1 && at < c.threads.v[thread].n)
			a = lane_start(&c.threads.v[thread], at / 4096 * 4096);
		if (round % 4 == 2)
			b = UINT64_MAX;
		if (round % 4 == 3)
			a = 0;
		if (a > b) {
			uint64_t swap = a;

			a = b;
			b = swap;
		}
		memset(want, 0, rows * sizeof(*want));
		memset(got, 0, rows * sizeof(*got));
		one_by_one(&c, thread, a, b, want);
		sums_waits(s, f->m, &c, thread, a, b, got);
		assert_memory_equal(want, got, rows * sizeof(*want));
		for (size_t i = 0; i < rows; i++)
			named += got[i] != 0;
	}
	assert_true(named > 10000);
	free(want);
	free(got);
	sums_free(s);
	columns_done(&c);
	model_free(f->m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ranges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
