// SPDX-License-Identifier: MIT
/* A stack is in the file once, under however many ids and versions of its process it comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/units.h"
#include "collect/stacks.h"

#define PID 7
#define LIB 0x10000
#define WHOLE UNWIND_STOP_END

static unsigned forgotten;

static void forget(struct engine *e)
{
	forgotten++;
}

static const struct engine_ops ops = {.forget_stacks = forget};

struct fixture {
	char path[64];
	struct engine engine;
	struct writer *w;
	struct procs *procs;
	struct stacks *stacks;
};

static void begin(struct fixture *f, size_t budget)
{
	*f = (struct fixture){.path = "/tmp/thaw-stacks.XXXXXX", .engine = {.ops = &ops}};
	close(mkstemp(f->path));
	unlink(f->path);
	forgotten = 0;
	assert_int_equal(writer_open(f->path, &(struct writer_opts){.no_sync = true}, &f->w), 0);
	f->procs = procs_new(f->w);
	f->stacks = stacks_new(f->w, f->procs, &f->engine, budget);
}

static void end(struct fixture *f)
{
	stacks_free(f->stacks);
	procs_free(f->procs);
	assert_int_equal(writer_close(f->w, END_DONE), 0);
	unlink(f->path);
}

static void map_code(struct fixture *f, uint64_t at, const char *path)
{
	static const uint8_t id[] = {1, 2, 3};
	struct mapping m = {.start = at,
			    .len = 0x1000,
			    .path = path,
			    .build_id = id,
			    .build_id_len = sizeof(id)};

	procs_map(f->procs, PID, &m);
}

static uint32_t add(struct fixture *f, uint64_t id, uint64_t leaf, enum unwind_stop stop)
{
	const uint64_t ips[] = {leaf, LIB + 0x20};

	stacks_add(f->stacks, id, ips, ARRAY_LEN(ips), stop);
	return stacks_user(f->stacks, id, PID);
}

static void test_many_ids(void **state)
{
	struct fixture f;
	uint32_t first;

	begin(&f, 1 << 20);
	map_code(&f, LIB, "/lib/one.so");
	first = add(&f, 1, LIB + 1, WHOLE);
	assert_int_not_equal(first, 0);
	for (uint64_t id = 3; id < 2000; id += 2)
		assert_int_equal(add(&f, id, LIB + 1, WHOLE), first);
	assert_int_equal(add(&f, 2001, LIB + 2, WHOLE), first + 1);
	assert_int_equal(add(&f, 2003, LIB + 1, UNWIND_STOP_NOT_READY), first + 2);
	end(&f);
}

static void test_other_mappings(void **state)
{
	struct fixture f;
	uint32_t first;

	begin(&f, 1 << 20);
	map_code(&f, LIB, "/lib/one.so");
	first = add(&f, 1, LIB + 1, WHOLE);
	for (uint64_t at = 2 * LIB; at < 100 * LIB; at += LIB) {
		map_code(&f, at, "/lib/other.so");
		assert_int_equal(stacks_user(f.stacks, 1, PID), first);
	}
	/* The same addresses are other code now. */
	map_code(&f, LIB, "/lib/two.so");
	assert_int_equal(stacks_user(f.stacks, 1, PID), first + 1);
	end(&f);
}

/* What is written stays known as long as its addresses do: for two generations. */
static void test_generations(void **state)
{
	struct fixture f;
	uint32_t first;
	uint64_t id = 3;

	begin(&f, 4096);
	map_code(&f, LIB, "/lib/one.so");
	first = add(&f, 1, LIB + 1, WHOLE);
	for (; !forgotten; id += 2)
		(void)add(&f, id, LIB + id, WHOLE);
	assert_int_equal(add(&f, id, LIB + 1, WHOLE), first);
	for (forgotten = 0; forgotten < 3; id += 2)
		(void)add(&f, id, LIB + id, WHOLE);
	assert_int_equal(stacks_gone(f.stacks), 0);
	assert_int_equal(stacks_user(f.stacks, 1, PID), 0);
	assert_int_equal(stacks_gone(f.stacks), 1);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_ids),
		cmocka_unit_test(test_other_mappings),
		cmocka_unit_test(test_generations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
