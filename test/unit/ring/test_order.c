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
	uint64_t memory[RECORDS];     /* the records' data: their place, until it is released */
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
		f->memory[f->released++] = UINT64_MAX;
}

static const struct source_ops ops = {.pull = pull, .release = release};

struct sink {
	struct fake *fakes;
	struct order *order;
	unsigned stash_every; /* 0: never */
	uint64_t last, now;
	size_t n, disorder, stashes;
	uint8_t seen[SOURCES][RECORDS];
};

static void show(struct fake *fakes, uint64_t now)
{
	for (int i = 0; i < SOURCES; i++)
		fakes[i].now = now;
}

/* Time goes on while somebody is busy with a record; the sources are emptied all the same. */
static void stash(struct sink *s)
{
	for (int i = 0; i < 3; i++) {
		if (s->now != UINT64_MAX)
			show(s->fakes, s->now += (uint64_t)rand() % 300);
		assert_true(order_stash(s->order, s->now, SIZE_MAX));
		for (int k = 0; k < SOURCES; k++)
			assert_int_equal(s->fakes[k].released, s->fakes[k].handed);
	}
	s->stashes++;
}

static void take(void *ctx, const struct record *rec)
{
	struct sink *s = ctx;

	s->disorder += rec->ts < s->last;
	s->last = rec->ts > s->last ? rec->ts : s->last;
	s->n++;
	/* Its data is still there, and it comes for the first time. */
	assert_true(*(const uint64_t *)rec->data < RECORDS);
	assert_int_equal(s->seen[rec->cpu][*(const uint64_t *)rec->data]++, 0);
	if (s->stash_every && (unsigned)rand() % s->stash_every == 0)
		stash(s);
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
						.data = &f->memory[f->n],
						.len = sizeof(f->memory[0]),
						.cpu = (uint16_t)i};
			f->memory[f->n] = f->n;
			/* A ring shows its records in the order of their places. */
			if (f->all[f->n].ts + (uint64_t)rand() % (delay / 2 + 1) > shown)
				shown = f->all[f->n].ts + (uint64_t)rand() % (delay / 2 + 1);
			f->visible_at[f->n] = shown;
		}
	}
	return fakes;
}

static void run(uint64_t delay, unsigned stash_every, struct sink *sink, uint64_t *ret_late)
{
	struct fake *fakes = make(delay);
	struct source *sources[SOURCES];
	struct order *o;

	memset(sink, 0, sizeof(*sink));
	sink->fakes = fakes;
	sink->stash_every = stash_every;
	for (int i = 0; i < SOURCES; i++)
		sources[i] = &fakes[i].base;
	o = sink->order = order_new(sources, SOURCES, WINDOW);
	for (; sink->now < 150000; sink->now += (uint64_t)rand() % 400) {
		show(fakes, sink->now);
		order_run(o, sink->now, take, sink);
	}
	sink->now = UINT64_MAX;
	show(fakes, sink->now);
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
		run(WINDOW / 2, 0, &sink, &late);
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
	run(WINDOW * 20, 0, &sink, &late);
	assert_int_equal(sink.n, SOURCES * RECORDS);
	assert_true(late > 0);
	assert_int_equal(sink.disorder, late);
}

/* Stashing changes nothing but where the data lies. */
static void test_stash(void **state)
{
	static struct sink sink;
	uint64_t late;

	for (unsigned seed = 1; seed <= 20; seed++) {
		srand(seed);
		run(WINDOW / 2, seed % 2 ? 5000 : 50, &sink, &late);
		assert_int_equal(sink.n, SOURCES * RECORDS);
		assert_int_equal(sink.disorder, 0);
		assert_int_equal(late, 0);
		assert_true(sink.stashes > 0);
	}
}

static void stash_twice(void *ctx, const struct record *rec)
{
	struct sink *s = ctx;

	s->n++;
	if (s->n > 1)
		return;
	assert_true(order_stash(s->order, 1, 100));
	/* There is more than that in it now. */
	assert_false(order_stash(s->order, 1, 100));
}

static void test_stash_is_bounded(void **state)
{
	static struct sink sink;
	struct source *sources[1];

	sink.fakes = make(1);
	sources[0] = &sink.fakes[0].base;
	sink.order = order_new(sources, 1, WINDOW);
	show(sink.fakes, UINT64_MAX);
	order_drain(sink.order, stash_twice, &sink);
	assert_int_equal(sink.n, RECORDS);
	assert_int_equal(order_gap_ns(sink.order), 0);
	order_free(sink.order);
	free(sink.fakes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_stash),
		cmocka_unit_test(test_stash_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
