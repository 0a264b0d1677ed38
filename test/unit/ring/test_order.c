// SPDX-License-Identifier: MIT
/* The merge: whatever the sources hold, and whenever it becomes visible, the output is in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "ring/order.h"

#define SOURCES 7
#define RECORDS 4000
#define WINDOW 1000

struct fake {
	struct source base;
	struct record all[RECORDS];
	uint64_t visible_at[RECORDS]; /* when the consumer can first see it */
	size_t n, handed, released;
	uint64_t now;
};

static void pull(struct source *s, record_vec *out)
{
	struct fake *f = (struct fake *)s;

	while (f->handed < f->n && f->visible_at[f->handed] <= f->now)
		vec_push(out, f->all[f->handed++]);
}

static void release(struct source *s, uint64_t pos)
{
	struct fake *f = (struct fake *)s;

	while (f->released < f->handed && f->all[f->released].pos < pos)
		f->released++;
}

static const struct source_ops ops = {.pull = pull, .release = release};

struct sink {
	struct fake *fakes;
	uint64_t last;
	size_t n, disorder;
	uint8_t seen[SOURCES][RECORDS];
};

static void take(void *ctx, const struct record *rec)
{
	struct sink *s = ctx;

	s->disorder += rec->ts < s->last;
	s->last = rec->ts > s->last ? rec->ts : s->last;
	s->n++;
	/* Its memory is still held, and it comes for the first time. */
	assert_true(rec->pos >= s->fakes[rec->cpu].released);
	assert_int_equal(s->seen[rec->cpu][rec->pos]++, 0);
}

/* Records appear up to `delay` after their time, and out of place within their source. */
static struct fake *make(uint64_t delay)
{
	struct fake *fakes = mem_zalloc(SOURCES * sizeof(*fakes));

	for (unsigned i = 0; i < SOURCES; i++) {
		struct fake *f = &fakes[i];
		uint64_t ts = 1, shown = 0;

		f->base = (struct source){.ops = &ops, .cpu = (uint16_t)i};
		for (f->n = 0; f->n < RECORDS; f->n++) {
			ts += (uint64_t)rand() % 50;
			f->all[f->n] =
				(struct record){.ts = ts + (uint64_t)rand() % (delay / 4 + 1),
						.pos = f->n,
						.cpu = (uint16_t)i};
			/* A ring shows its records in the order of their places. */
			if (f->all[f->n].ts + (uint64_t)rand() % (delay / 2 + 1) > shown)
				shown = f->all[f->n].ts + (uint64_t)rand() % (delay / 2 + 1);
			f->visible_at[f->n] = shown;
		}
	}
	return fakes;
}

static void run(uint64_t delay, struct sink *sink, uint64_t *ret_late)
{
	struct fake *fakes = make(delay);
	struct source *sources[SOURCES];
	struct order *o;

	memset(sink, 0, sizeof(*sink));
	sink->fakes = fakes;
	for (int i = 0; i < SOURCES; i++)
		sources[i] = &fakes[i].base;
	o = order_new(sources, SOURCES, WINDOW);
	for (uint64_t now = 0; now < 150000; now += (uint64_t)rand() % 400) {
		for (int i = 0; i < SOURCES; i++)
			fakes[i].now = now;
		order_run(o, now, take, sink);
	}
	for (int i = 0; i < SOURCES; i++)
		fakes[i].now = UINT64_MAX;
	order_drain(o, take, sink);
	for (int i = 0; i < SOURCES; i++)
		assert_int_equal(fakes[i].released, RECORDS);
	*ret_late = order_late(o);
	order_free(o);
	free(fakes);
}

static void test_in_order(void **state)
{
	static struct sink sink;
	uint64_t late;

	for (unsigned seed = 1; seed <= 20; seed++) {
		srand(seed);
		run(WINDOW / 2, &sink, &late);
		assert_int_equal(sink.n, SOURCES * RECORDS);
		assert_int_equal(sink.disorder, 0);
		assert_int_equal(late, 0);
	}
}

/* Records that are later than the window are passed on all the same, and counted. */
static void test_late(void **state)
{
	static struct sink sink;
	uint64_t late;

	srand(42);
	run(WINDOW * 20, &sink, &late);
	assert_int_equal(sink.n, SOURCES * RECORDS);
	assert_true(late > 0);
	assert_int_equal(sink.disorder, late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
