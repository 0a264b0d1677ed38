// SPDX-License-Identifier: MIT
/*
 * Tables built by another thread are those that the same file gives here, they get to where the
 * probes look, and nobody waits for the thread longer than he said. Also run under tsan.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/units.h"
#include "capture/builder.h"
#include "capture/objects.h"
#include "elf/elf.h"

static const char *const files[] = {"/proc/self/exe", "/usr/lib/x86_64-linux-gnu/libc.so.6",
				    "/usr/lib/x86_64-linux-gnu/libm.so.6"};

static struct build_job *job_of(const char *path)
{
	return build_job_new(open(path, O_RDONLY | O_CLOEXEC));
}

static struct unwind_table *table_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct unwind_table *t = NULL;
	struct elf *e = NULL;

	assert_int_equal(elf_open_fd(fd, &e), 0);
	assert_int_equal(unwind_table_build(e, &t), 0);
	elf_free(e);
	close(fd);
	return t;
}

static void assert_same_table(const struct unwind_table *a, const struct unwind_table *b)
{
	assert_int_equal(a->first, b->first);
	assert_int_equal(a->n_rows, b->n_rows);
	assert_int_equal(a->n_rules, b->n_rules);
	assert_int_equal(a->n_blocks, b->n_blocks);
	assert_memory_equal(a->rows, b->rows, a->n_rows * sizeof(*a->rows));
	assert_memory_equal(a->rules, b->rules, a->n_rules * sizeof(*a->rules));
	assert_memory_equal(a->blocks, b->blocks, (a->n_blocks + 1) * sizeof(*a->blocks));
}

static void test_same_tables(void **state)
{
	struct builder *b = builder_new();

	assert_non_null(b);
	for (size_t i = 0; i < 3; i++) {
		struct build_job *job = job_of(files[i]);

		job->module = (uint32_t)i;
		assert_true(builder_put(b, job));
	}
	for (size_t i = 0; i < 3; i++) {
		struct build_job *job = builder_take(b, 60 * NSEC_PER_SEC);
		struct unwind_table *want = table_of(files[i]);

		assert_non_null(job);
		assert_int_equal(job->module, i);
		assert_true(job->loads.n > 0);
		assert_same_table(job->table, want);
		unwind_table_free(want);
		build_job_free(job);
	}
	assert_null(builder_take(b, 0));
	assert_null(builder_take(b, NSEC_PER_MSEC));
	builder_free(b);
}

/* No file, a file that is none, another build than the one that is mapped; and the vDSO. */
static void test_no_table(void **state)
{
	struct build_job *none = job_of("/proc/self/status"), *other = job_of(files[1]);
	struct build_job *vdso = build_job_new(-1);
	struct builder *b = builder_new();

	other->build_id_len = 20;
	memset(other->build_id, 7, 20);
	assert_true(builder_put(b, none) && builder_put(b, other) && builder_put(b, vdso));
	assert_ptr_equal(builder_take(b, 60 * NSEC_PER_SEC), none);
	assert_ptr_equal(builder_take(b, 60 * NSEC_PER_SEC), other);
	assert_ptr_equal(builder_take(b, 60 * NSEC_PER_SEC), vdso);
	assert_null(none->table);
	assert_null(other->table);
	assert_int_equal(other->loads.n, 0);
	assert_non_null(vdso->table);
	build_job_free(none);
	build_job_free(other);
	build_job_free(vdso);
	builder_free(b);
}

/* It takes so many and no more, and can be freed with all of them on their way. */
static void test_bounded(void **state)
{
	struct builder *b = builder_new();
	size_t n = 0;

	for (;; n++) {
		struct build_job *job = job_of(files[n % 3]);

		assert_true(n < 1000);
		if (!builder_put(b, job)) {
			build_job_free(job);
			break;
		}
	}
	assert_true(n > 1);
	build_job_free(builder_take(b, 60 * NSEC_PER_SEC));
	assert_true(builder_put(b, job_of(files[0])));
	builder_free(b);
}

/* ---- into the arrays ---- */

enum { ROWS = 1 << 20, BLOCKS = 1 << 16 };

static struct unwind_arrays arrays_new(uint32_t rows)
{
	return (struct unwind_arrays){
		.rows = mem_zalloc(rows * sizeof(struct unwind_row)),
		.blocks = mem_zalloc(BLOCKS * sizeof(uint32_t)),
		.rules = mem_zalloc(UNWIND_RULES * sizeof(struct unwind_rule)),
		.objects = mem_zalloc(UNWIND_OBJECTS * sizeof(struct unwind_object)),
		.n_rows = rows,
		.n_blocks = BLOCKS,
	};
}

static void arrays_free(struct unwind_arrays *a)
{
	free(a->rows);
	free(a->blocks);
	free(a->rules);
	free(a->objects);
}

/* The executable part of a file, as if this process had mapped it at 4 GiB. */
static struct proc_range range_of(const char *path, uint32_t module)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf *e = NULL;
	struct proc_range r = {.module = module, .kind = MODULE_FILE, .path = path};

	assert_int_equal(elf_open_fd(fd, &e), 0);
	for (size_t i = 0; i < e->n_segments; i++)
		if (e->segments[i].type == 1 && (e->segments[i].flags & 1)) {
			r.pgoff = e->segments[i].offset & ~4095ull;
			r.start = 4ull << 30;
			r.end = r.start + e->segments[i].memsz;
		}
	elf_free(e);
	close(fd);
	return r;
}

static void assert_same_rules(const struct unwind_table *got, const struct unwind_table *want)
{
	uint64_t end = want->first + want->n_blocks * 1024;

	for (uint64_t at = want->first; at < end; at += 7) {
		struct unwind_rule a = {0}, b = {0};

		assert_int_equal(unwind_table_find(got, at, &a), unwind_table_find(want, at, &b));
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

static void test_objects(void **state)
{
	struct unwind_arrays a = arrays_new(ROWS);
	struct objects *o = objects_new(&a);

	for (uint32_t i = 0; i < 3; i++) {
		struct proc_range r = range_of(files[i], i + 1);
		const struct unwind_table *got;
		struct unwind_table *want;
		uint64_t bias;

		assert_int_equal(objects_known(o, &r, &bias), OBJECT_NOT_READY);
		while (!objects_need(o, (uint32_t)getpid(), &r, &got, &bias))
			objects_collect(o, NSEC_PER_SEC);
		assert_non_null(got);
		assert_int_equal(objects_known(o, &r, &bias), OBJECT_FIRST + i);
		want = table_of(files[i]);
		assert_same_rules(got, want);
		unwind_table_free(want);
	}
	objects_free(o);
	arrays_free(&a);
}

/* What was asked for before everything was forgotten does not come back under another number. */
static void test_forgotten_meanwhile(void **state)
{
	struct proc_range r = range_of(files[1], 1), other = range_of(files[0], 1);
	struct unwind_arrays a = arrays_new(ROWS);
	struct objects *o = objects_new(&a);
	const struct unwind_table *got;
	struct unwind_table *want = table_of(files[0]);
	uint64_t bias;

	assert_false(objects_need(o, (uint32_t)getpid(), &r, &got, &bias));
	objects_reset(o);
	while (!objects_need(o, (uint32_t)getpid(), &other, &got, &bias))
		objects_collect(o, NSEC_PER_SEC);
	assert_non_null(got);
	assert_same_rules(got, want);
	unwind_table_free(want);
	objects_free(o);
	arrays_free(&a);
}

/* Without room there is an answer all the same: none, until everything begins anew. */
static void test_no_room(void **state)
{
	struct proc_range r = range_of(files[1], 1);
	struct unwind_arrays a = arrays_new(1024);
	struct objects *o = objects_new(&a);
	const struct unwind_table *got;
	uint64_t bias;

	while (!objects_need(o, (uint32_t)getpid(), &r, &got, &bias))
		objects_collect(o, NSEC_PER_SEC);
	assert_null(got);
	assert_true(objects_full(o));
	assert_int_equal(objects_known(o, &r, &bias), OBJECT_NOT_READY);
	objects_reset(o);
	assert_false(objects_full(o));
	objects_free(o);
	arrays_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_tables),
		cmocka_unit_test(test_no_table),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_forgotten_meanwhile),
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
