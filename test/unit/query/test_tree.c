// SPDX-License-Identifier: MIT
/* Stacks into calls, and trees that are folded: what is written out adds up, and is bounded. */
#include "unit/model/stacks.h"

#include <stdlib.h>

#include "query/grow.h"

#define MS 1000000ull

/* The numbers of a column of an answer. */
struct column {
	long long *v;
	size_t n, room;
};

static struct column column(struct buf *answer, const char *key)
{
	struct column c = {0};
	struct buf want = {0};
	const char *at;
	char *end;

	buf_printf(&want, "\"%s\":[", key);
	at = strstr(buf_cstr(answer), buf_cstr(&want));
	assert_non_null(at);
	for (at += want.len; *at && *at != ']'; at = *end == ',' ? end + 1 : end)
		vec_push(&c, strtoll(at, &end, 10));
	buf_done(&want);
	return c;
}

static void put(struct tree *t, const struct model *m, double min, size_t max, struct buf *answer)
{
	const struct tree_opts opts = {min, max, true};
	struct json j;

	tree_sum(t);
	json_init_buf(&j, answer);
	j.tight = true;
	json_obj(&j, NULL);
	tree_put(t, &j, m, &opts);
	json_obj_end(&j);
}

static uint32_t call_named(const struct feed *f, const struct calls *c, const char *name)
{
	for (uint32_t i = 1; i < c->list.n; i++)
		if (what_is_frame(c->list.v[i].what) &&
		    !strcmp(names_function(&f->m->names, what_function(c->list.v[i].what))->name,
			    name))
			return i;
	fail_msg("%s is not called", name);
	return 0;
}

#define SAMPLE_AT(ts, tid, u) EV(ts, 0, EV_SAMPLE, .sample = {tid, 0, u})

/* main -> work -> leaf, main -> leaf -> main (which calls itself), and a sample without a stack. */
static void story(struct feed *f)
{
	uint32_t one, two;

	feed_init_names(f);
	one = STACK("app:leaf", "app:work", "app:main");
	two = STACK("app:main", "app:leaf", "app:main");
	BEGIN(0);
	THREAD(0, 7, 0);
	THREAD(0, 8, 0);
	SWITCH(MS, 0, 0, 7, 0);
	SAMPLE_AT(2 * MS, 7, one);
	SAMPLE_AT(3 * MS, 7, one);
	SAMPLE_AT(4 * MS, 7, two);
	SAMPLE_AT(5 * MS, 7, 0);
	SAMPLE_AT(6 * MS, 8, one);
	END(10 * MS);
	model_finish(f->m);
}

static void test_calls(void **state)
{
	struct feed feed, *f = &feed;
	struct calls *c, *up;

	story(f);
	c = calls_new(f->m, false);
	up = calls_new(f->m, true);
	/* the root; main, work, leaf; leaf and main under main; no stack */
	assert_int_equal(c->list.n, 7);
	assert_int_equal(c->list.v[call_named(f, c, "work")].caller, call_named(f, c, "main"));
	for (uint32_t i = 1; i < c->list.n; i++)
		assert_true(c->list.v[i].caller < i);
	/* main under main is there again, and nothing else. */
	for (uint32_t i = 1, n = 0; i < c->list.n; i++) {
		n += c->list.v[i].again;
		if (i + 1 == c->list.n)
			assert_int_equal(n, 1);
	}
	/* leaf, work, main; main, leaf, main; no stack */
	assert_int_equal(up->list.n, 8);
	/* The same stacks of two threads are one path. */
	assert_int_equal(c->of_sample[0], c->of_sample[3]);
	assert_int_not_equal(c->of_sample[0], c->of_sample[1]);
	calls_free(c);
	calls_free(up);
	model_free(f->m);
	vec_done(&f->out);
}

static void test_functions(void **state)
{
	struct feed feed, *f = &feed;
	uint64_t samples[] = {2, 1, 1, 1};
	struct weights w = {.sample = samples};
	struct function_values v;
	struct tree callers, callees;
	struct calls *c;

	story(f);
	c = calls_new(f->m, false);
	grow_functions(&v, f->m, c, &w);
	assert_int_equal(v.total, 5);
	assert_int_equal(v.n, 3);
	for (size_t i = 0; i < v.n; i++) {
		const char *name = names_function(&f->m->names, v.v[i].function)->name;
		bool leaf = !strcmp(name, "leaf"), main = !strcmp(name, "main");

		assert_int_equal(v.v[i].self, leaf ? 3 : main ? 1 : 0);
		assert_int_equal(v.v[i].total, leaf || main ? 4 : 3);
	}
	tree_init(&callers);
	tree_init(&callees);
	grow_around(&callers, &callees, f->m, c, &w,
		    what_function(c->list.v[call_named(f, c, "main")].what), 40);
	/* main is never called but by itself; it calls work, leaf, and leaf calls main. */
	assert_int_equal(callers.nodes.v[0].value[0], 4);
	assert_int_equal(callers.nodes.v[0].self[0], 4);
	assert_int_equal(callees.nodes.v[0].value[0], 4);
	assert_int_equal(callees.nodes.n, 5);
	tree_done(&callers);
	tree_done(&callees);
	vec_done(&v);
	calls_free(c);
	model_free(f->m);
	vec_done(&f->out);
}

static void test_by_thread(void **state)
{
	struct feed feed, *f = &feed;
	uint64_t samples[] = {2, 1, 1, 1};
	struct weights w = {.sample = samples};
	struct buf answer = {0};
	struct column parent, value;
	struct tree t;
	struct calls *c;

	story(f);
	c = calls_new(f->m, false);
	tree_init(&t);
	grow_tree(&t, f->m, c, &w, NULL, true);
	assert_int_equal(t.nodes.v[0].value[0], 5);
	/* 7 has six calls, 8 three. */
	assert_int_equal(t.nodes.n, 1 + 1 + 6 + 1 + 3);
	for (size_t i = 0; i < t.nodes.n; i++)
		t.nodes.v[i].value[0] = 0;
	put(&t, f->m, 0, 1000, &answer);
	parent = column(&answer, "parent");
	value = column(&answer, "value");
	assert_int_equal(value.v[0], 5);
	assert_int_equal(value.v[1], 4); /* the larger thread first */
	assert_int_equal(parent.v[1], 0);
	assert_non_null(strstr(buf_cstr(&answer), "\"t7 (7)\""));
	free(parent.v);
	free(value.v);
	buf_done(&answer);
	tree_done(&t);
	calls_free(c);
	model_free(f->m);
	vec_done(&f->out);
}

/* Any tree, folded in any way: parents hold their children, and nothing is lost. */
static void test_fold(void **state)
{
	struct feed feed, *f = &feed;

	story(f);
	calls_free(calls_new(f->m, false));
	srand(1);
	for (unsigned round = 0; round < 60; round++) {
		size_t max = round % 3 ? 20 + (size_t)rand() % 500 : 100000;
		double min = round % 2 ? 0 : 0.0005 * (rand() % 100);
		uint64_t total[2] = {0, 0};
		struct buf answer = {0};
		struct column parent, self, value, value2, inside, inside2;
		struct tree t;

		tree_init(&t);
		t.two = true;
		for (unsigned i = 0; i < 3000; i++) {
			uint32_t node = tree_child(&t, (uint32_t)rand() % (uint32_t)t.nodes.n,
						   (uint32_t)rand() % 6);
			uint64_t v[2] = {(uint64_t)rand() % 1000 * (rand() % 50 == 0),
					 (uint64_t)rand() % 10};

			tree_add(&t, node, rand() % 3, v);
			total[0] += v[0];
			total[1] += v[1];
		}
		put(&t, f->m, min, max, &answer);
		parent = column(&answer, "parent");
		self = column(&answer, "self");
		value = column(&answer, "value");
		value2 = column(&answer, "value2");
		assert_true(parent.n <= max);
		assert_int_equal(value.n, parent.n);
		assert_int_equal(value.v[0], total[0]);
		assert_int_equal(value2.v[0], total[1]);
		assert_int_equal(parent.v[0], -1);
		inside = column(&answer, "value");
		inside2 = column(&answer, "value2");
		for (size_t i = 1; i < parent.n; i++) {
			assert_true(parent.v[i] < (long long)i && parent.v[i] >= 0);
			/* Each child is taken out of its parent: what is left is its own. */
			inside.v[parent.v[i]] -= value.v[i];
			inside2.v[parent.v[i]] -= value2.v[i];
		}
		for (size_t i = 0; i < parent.n; i++) {
			assert_int_equal(inside.v[i], self.v[i]);
			assert_true(inside2.v[i] >= 0);
		}
		free(inside.v);
		free(inside2.v);
		free(parent.v);
		free(self.v);
		free(value.v);
		free(value2.v);
		buf_done(&answer);
		tree_done(&t);
	}
	model_free(f->m);
	vec_done(&f->out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_by_thread),
		cmocka_unit_test(test_fold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
