// SPDX-License-Identifier: MIT
/* Sums over threads, functions and places. */
#include "unit/model/feed.h"

#include <string.h>

#include "model/summary/summary.h"
#include "store/types.h"

#define S STATE_INTERRUPTIBLE

/*
 * Stacks, leaf first; offset / 16 is the function, so that 0x10 and 0x11 are two places in one.
 * 1: f called by g; 2: f elsewhere in it, called by g; 3: g called by g called by g; 4: h, inlined
 * into f
 */
static const struct frame stacks[][4] = {
	{{0, 0}},
	{{1, 0x10}, {1, 0x20}},
	{{1, 0x11}, {1, 0x20}},
	{{1, 0x21}, {1, 0x22}, {1, 0x20}},
	{{1, 0x30}},
};
static const size_t depths[] = {0, 2, 2, 3, 1};

static size_t fake_stack(void *arg, uint32_t index, const struct frame **ret)
{
	*ret = stacks[index];
	return depths[index];
}

static size_t fake_symbol(void *arg, uint32_t module, uint64_t offset, const struct symbol **ret)
{
	static const struct symbol f = {.name = "f", .line = 7}, g = {.name = "g"};
	static const struct symbol both[] = {{.name = "h", .inlined = true},
					     {.name = "f", .line = 3}};

	*ret = offset >= 0x30 ? both : offset >= 0x20 ? &g : &f;
	return offset >= 0x30 ? 2 : 1;
}

static const struct module *fake_module(void *arg, uint32_t index)
{
	static const struct module m = {.kind = MODULE_FILE, .path = "/usr/bin/app"};

	return &m;
}

static const struct frame_source source = {
	.stack = fake_stack, .symbol = fake_symbol, .module = fake_module};

static const struct function_count *function(const struct summary *s, const char *name)
{
	for (size_t i = 0; i < s->functions.n; i++)
		if (!strcmp(names_function(&s->model->names, s->functions.v[i].function)->name,
			    name))
			return &s->functions.v[i];
	fail_msg("%s is not there", name);
	return NULL;
}

static struct summary *sum(struct model *m, const char *thread)
{
	struct summary_opts opts = {.thread = thread};
	struct summary *s = NULL;

	assert_int_equal(summary_new(m, &opts, &s), 0);
	return s;
}

static void test_functions(void **state)
{
	struct model_opts opts = {.frames = &source};
	struct feed feed = {.m = model_new(&opts)}, *f = &feed;
	struct summary *s;

	BEGIN(0);
	THREAD(0, 1, 0);
	THREAD(0, 2, 0);
	EV(10, 0, EV_SAMPLE, .sample = {1, 0, 1});
	EV(11, 0, EV_SAMPLE, .sample = {1, 0, 3}); /* recursion counts once */
	EV(12, 0, EV_SAMPLE, .sample = {1, 0, 3});
	EV(13, 1, EV_SAMPLE, .sample = {2, 0, 4}); /* an inlined function is one of its own */
	EV(14, 1, EV_SAMPLE, .sample = {2, 0, 2});
	EV(15, 1, EV_SAMPLE, .sample = {0, 0, 1}); /* the idle thread is none */
	END(20);
	model_finish(f->m);
	s = sum(f->m, NULL);
	assert_int_equal(s->samples, 5);
	assert_int_equal(function(s, "f")->self, 2);
	assert_int_equal(function(s, "f")->total, 3);
	assert_int_equal(function(s, "g")->self, 2);
	assert_int_equal(function(s, "g")->total, 4);
	assert_int_equal(function(s, "h")->self, 1);
	assert_int_equal(function(s, "h")->total, 1);
	assert_int_equal(names_function(&f->m->names, function(s, "f")->function)->line, 3);
	summary_free(s);
	s = sum(f->m, "2");
	assert_int_equal(s->samples, 2);
	assert_int_equal(function(s, "g")->total, 1);
	summary_free(s);
	feed_done(f);
}

static void test_waits(void **state)
{
	struct model_opts opts = {.frames = &source};
	struct feed feed = {.m = model_new(&opts)}, *f = &feed;
	const struct wait_place *p;
	struct summary *s;

	BEGIN(0);
	THREAD(0, 1, 0);
	THREAD(0, 2, 0);
	THREAD(0, 3, S);
	SWITCH(10, 0, 1, 0, S);
	SWITCH(10, 1, 2, 0, S);
	WAKING(20, 2, 1, 3); /* 10 ns, by a thread */
	SWITCH(21, 0, 0, 1, 0);
	EV(22, 0, EV_WAIT, .wait = {1, 0, 1});
	EV(40, 2, EV_WAKING, .waking = {2, 3, WAKE_HARDIRQ, 0, 0}); /* 30 ns; 3 was interrupted */
	SWITCH(41, 1, 0, 2, 0);
	EV(42, 1, EV_WAIT, .wait = {2, 0, 2}); /* the same place for a person */
	SWITCH(50, 0, 1, 0, S);		       /* a wait without a stack, that does not end */
	END(100);
	model_finish(f->m);
	s = sum(f->m, NULL);
	assert_int_equal(s->waits.n, 1);
	p = &s->waits.v[0];
	assert_int_equal(p->total, 40);
	assert_int_equal(p->count, 2);
	assert_int_equal(p->threads, 2);
	assert_int_equal(p->max, 30);
	assert_int_equal(p->max_start, 10);
	assert_int_equal(p->max_thread->tid, 2);
	assert_int_equal(p->wakers.n, 2);
	assert_true(p->wakers.v[0].interrupt);
	assert_null(p->wakers.v[0].thread); /* the interrupted thread is not to blame */
	assert_int_equal(p->wakers.v[0].total, 30);
	assert_int_equal(p->wakers.v[1].tid, 3);
	assert_int_equal(p->wakers.v[1].total, 10);
	assert_int_equal(s->placeless[REASON_UNKNOWN].total, 50);
	assert_int_equal(s->placeless[REASON_UNKNOWN].open, 1);
	summary_free(s);
	feed_done(f);
}

static void expect_order(struct model *m, enum thread_order order, const char *want)
{
	struct summary_opts opts = {.order = order};
	struct summary *s;
	char got[32] = "";

	assert_int_equal(summary_new(m, &opts, &s), 0);
	for (size_t i = 0; i < s->threads.n; i++)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%u", s->threads.v[i]->tid);
	assert_string_equal(got, want);
	assert_int_equal(s->active, 3);
	summary_free(s);
}

static void test_orders(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s = NULL;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 9, S); /* sleeps all the time: last in every order */
	THREAD(0, 1, 0);
	THREAD(0, 2, 0);
	THREAD(0, 3, 0);
	SWITCH(60, 0, 1, 0, S);
	SWITCH(10, 1, 2, 0, STATE_UNINTERRUPTIBLE | STATE_IOWAIT);
	SWITCH(30, 2, 3, 0, STATE_PREEMPTED);
	SWITCH(50, 2, 0, 3, 0);
	SWITCH(55, 2, 3, 0, S);
	END(100);
	feed_finish(f);
	expect_order(f->m, ORDER_TELLING, "2139");
	expect_order(f->m, ORDER_RUNNING, "1329");
	expect_order(f->m, ORDER_RUNNABLE, "3219");
	expect_order(f->m, ORDER_WAITING, "2319");
	expect_order(f->m, ORDER_NAME, "1239");
	assert_int_equal(summary_new(f->m, &(struct summary_opts){.thread = "x"}, &s), -2);
	assert_null(s);
	feed_done(f);
}

/* In a recording of the whole machine thaw's own threads wait for each other most of the time. */
static void test_own_threads_come_later(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 9, S);
	EV(0, 0, EV_THREAD, .thread = {1, 1, 0, THREAD_OWN, "thaw"});
	THREAD(0, 2, 0);
	THREAD(0, 3, 0);
	SWITCH(10, 0, 1, 0, STATE_UNINTERRUPTIBLE | STATE_IOWAIT);
	SWITCH(20, 1, 2, 0, S);
	SWITCH(30, 2, 3, 0, S);
	END(100);
	feed_finish(f);
	expect_order(f->m, ORDER_TELLING, "3219");
	expect_order(f->m, ORDER_WAITING, "1239");
	feed_done(f);
}

/* A command that thaw has forked waits twice: what it does before it runs is thaw's. */
static struct summary *launch(struct feed *f, bool exec)
{
	BEGIN(0);
	EV(0, 0, EV_THREAD, .thread = {1, 1, 0, THREAD_LAUNCHED, "thaw"});
	SWITCH(10, 0, 1, 0, S);
	WAKING(50, 1, 1, 2);
	SWITCH(60, 0, 0, 1, 0);
	EV(61, 0, EV_WAIT, .wait = {1, 0, 1});
	if (exec)
		EV(70, 0, EV_EXEC, .exec = {1, 1, "app"});
	SWITCH(80, 0, 1, 0, S);
	WAKING(180, 1, 1, 2);
	SWITCH(190, 0, 0, 1, 0);
	EV(191, 0, EV_WAIT, .wait = {1, 0, 4});
	SWITCH(200, 0, 1, 0, STATE_DEAD);
	END(300);
	model_finish(f->m);
	return sum(f->m, NULL);
}

static void test_launched(void **state)
{
	struct model_opts opts = {.frames = &source};

	for (int exec = 0; exec < 2; exec++) {
		struct feed feed = {.m = model_new(&opts)}, *f = &feed;
		struct summary *s = launch(f, exec);

		assert_int_equal(s->waits.n, 2);
		assert_int_equal(s->waits.v[0].total, 100);
		assert_false(s->waits.v[0].own);
		assert_int_equal(s->waits.v[1].total, 40);
		/* That it ran may be lost: then nothing is taken from the program. */
		assert_int_equal(s->waits.v[1].own, exec);
		assert_true(thread_is_subject(timeline_thread(&f->m->timeline, 1)));
		summary_free(s);
		feed_done(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_launched),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_orders),
		cmocka_unit_test(test_own_threads_come_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
