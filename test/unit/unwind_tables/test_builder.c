// SPDX-License-Identifier: MIT
/*
 * Tables built by another thread are those that the same file gives here, they get to where the
 * probes look, and no caller waits for the thread longer than it asked to. Also run under tsan.
 */
#include <fcntl.h>
#include <pthread.h>
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
#include "elf/elf.h"
#include "engine/arrays.h"
#include "unit/unwind/cfi_bytes.h"
#include "unit/unwind/made_elf.h"
#include "unwind_tables/builder.h"
#include "unwind_tables/objects.h"

static char self[4096];
static const char *const files[] = {self, "/usr/lib/x86_64-linux-gnu/libc.so.6",
				    "/usr/lib/x86_64-linux-gnu/libm.so.6"};

static struct build_job *job_of(const char *path)
{
	return build_job_new(&(struct opener_want){.pid = (uint32_t)getpid(), .path = path});
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

static void assert_same_rules(const struct unwind_table *got, const struct unwind_table *want)
{
	uint64_t end = want->first + want->n_leaves * UNWIND_LEAF;

	for (uint64_t at = want->first; at < end; at += 7) {
		struct unwind_rule a = {0}, b = {0};

		assert_int_equal(unwind_table_find(got, at, &a), unwind_table_find(want, at, &b));
		assert_memory_equal(&a, &b, sizeof(a));
	}
}

static struct unwind_arrays arrays;
static struct shelves *shelves;

static int setup(void **state)
{
	assert_true(arrays_open(&arrays, 64 << 20));
	shelves = shelves_new(&arrays);
	return 0;
}

static int teardown(void **state)
{
	shelves_free(shelves);
	arrays_close(&arrays);
	return 0;
}

static struct builder *builder_of_test(void)
{
	struct builder *b = builder_new(&(struct builder_opts){.shelves = shelves});

	assert_non_null(b);
	return b;
}

static void test_same_tables(void **state)
{
	struct builder *b = builder_of_test();

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
		assert_true(job->has_table && !job->rc);
		assert_true(job->table.n_loads > 0);
		assert_true(job->cpu_ns > 0);
		assert_same_rules(&job->table, want);
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
	struct build_job *vdso = build_job_new(NULL);
	struct builder *b = builder_of_test();

	other->want.build_id_len = 20;
	memset(other->build_id, 7, 20);
	assert_true(builder_put(b, none) && builder_put(b, other) && builder_put(b, vdso));
	assert_ptr_equal(builder_take(b, 60 * NSEC_PER_SEC), none);
	assert_ptr_equal(builder_take(b, 60 * NSEC_PER_SEC), other);
	assert_ptr_equal(builder_take(b, 60 * NSEC_PER_SEC), vdso);
	assert_false(none->has_table);
	assert_false(other->has_table);
	assert_true(vdso->has_table);
	build_job_free(none);
	build_job_free(other);
	build_job_free(vdso);
	builder_free(b);
}

/* It takes so many and no more, and can be freed with all of them on their way. */
static void test_bounded(void **state)
{
	struct builder *b = builder_of_test();
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

static struct objects *objects_of_test(struct unwind_arrays *a, uint64_t bytes)
{
	assert_true(arrays_open(a, bytes));
	return objects_new(a, &(struct objects_opts){0});
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

static enum objects_answer need(struct objects *o, const struct proc_range *r,
				const struct unwind_table **ret)
{
	enum objects_answer answer;
	uint64_t bias;

	while ((answer = objects_need(o, (uint32_t)getpid(), r, ret, &bias)) == OBJECTS_LATER)
		objects_collect(o, NSEC_PER_SEC);
	return answer;
}

static void test_objects(void **state)
{
	struct unwind_arrays a;
	struct objects *o = objects_of_test(&a, 64 << 20);

	for (uint32_t i = 0; i < 3; i++) {
		struct proc_range r = range_of(files[i], i + 1);
		const struct unwind_table *got;
		struct unwind_table *want;
		uint64_t bias;

		assert_int_equal(objects_known(o, &r, &bias), OBJECT_NOT_READY);
		assert_int_equal(need(o, &r, &got), OBJECTS_TABLE);
		assert_int_equal(objects_known(o, &r, &bias), OBJECT_FIRST + i);
		want = table_of(files[i]);
		assert_same_rules(got, want);
		unwind_table_free(want);
	}
	objects_free(o);
	arrays_close(&a);
}

/* ---- room ---- */

/* A file with so many functions, of two rows each. An assembler would take seconds for it. */
static struct proc_range huge_object(char *path, uint32_t module, unsigned functions)
{
	struct buf frames = {0}, file;
	struct made_elf m = {.type = ET_DYN,
			     .address = MADE_TEXT,
			     .text = calloc(functions, 2),
			     .text_size = 2ul * functions,
			     .sections = {{".text", NULL, true}, {".eh_frame", &frames, false}}};
	size_t cie = put_cie(&frames);
	int fd;

	for (unsigned i = 0; i < functions; i++)
		/* after the first byte the CFA is rsp + 16 */
		put_fde(&frames, cie, MADE_TEXT + 2ul * i, 2, BYTES(0x41, 0x0e, 16));
	put32(&frames, 0);
	file = made_elf(&m);
	strcpy(path, "/tmp/thaw-test-XXXXXX");
	fd = mkstemp(path);
	assert_int_equal(write(fd, file.p, file.len), (ssize_t)file.len);
	close(fd);
	buf_done(&file);
	buf_done(&frames);
	free((void *)m.text);
	return range_of(path, module);
}

static bool go_once(struct objects *o, uint64_t now)
{
	const bool *is_gone;
	bool any = objects_choose_gone(o, &is_gone);

	if (any)
		objects_let_go(o, now);
	return any;
}

/* A table that does not fit even alone is refused once, and not tried again. */
static void test_never_fits(void **state)
{
	struct proc_range small = range_of(files[1], 1), huge;
	struct unwind_arrays a;
	struct objects *o = objects_of_test(&a, 4 * SHELF_WORDS);
	const struct unwind_table *got;
	struct objects_stats st;
	uint64_t bias;
	char path[64];

	assert_int_equal(a.max_shelves, 1);
	huge = huge_object(path, 2, SHELF_WORDS / 2);
	assert_int_equal(need(o, &huge, &got), OBJECTS_NO_ROOM);
	assert_null(got);
	assert_int_equal(objects_known(o, &huge, &bias), OBJECT_NO_ROOM);
	for (uint64_t i = 1; i < 1000; i++)
		assert_false(objects_retry(o, clock_mono_ns() + i * 1000 * NSEC_PER_SEC));
	assert_int_equal(need(o, &huge, &got), OBJECTS_NO_ROOM);
	/* It does not get in the way of others. */
	assert_int_equal(need(o, &small, &got), OBJECTS_TABLE);
	assert_false(go_once(o, clock_mono_ns()));
	objects_stats(o, &st);
	assert_int_equal(st.built, 2);
	assert_int_equal(st.refused, 1);
	assert_int_equal(st.objects, 1);
	unlink(path);
	objects_free(o);
	arrays_close(&a);
}

/*
 * What fits alone, but not beside what is in use, has to wait; when the others are not used any
 * more the longest unused goes first, and no more than have to; and it fits.
 */
static void test_least_used_go(void **state)
{
	struct unwind_arrays a;
	struct objects *o = objects_of_test(&a, 4 * SHELF_WORDS);
	uint64_t now = clock_mono_ns(), bias;
	const struct unwind_table *got;
	struct proc_range old, large, other = range_of(files[0], 1), libc = range_of(files[1], 2);
	struct objects_stats st;
	char paths[2][64];

	/* Two words a function: 3 and 8 tenths of the shelf. */
	old = huge_object(paths[0], 3, SHELF_WORDS / 20 * 3);
	large = huge_object(paths[1], 4, SHELF_WORDS / 20 * 8);
	assert_int_equal(need(o, &old, &got), OBJECTS_TABLE);
	objects_second(o);
	assert_int_equal(need(o, &other, &got), OBJECTS_TABLE);
	assert_int_equal(need(o, &libc, &got), OBJECTS_TABLE);
	assert_int_equal(need(o, &large, &got), OBJECTS_NO_ROOM);
	assert_int_equal(objects_known(o, &large, &bias), OBJECT_NO_ROOM);
	assert_false(go_once(o, now)); /* all are in use */
	for (unsigned i = 0; i < OBJECTS_UNUSED_S; i++)
		objects_second(o);
	assert_true(go_once(o, now - 2 * SHELVES_REST_NS));
	assert_int_equal(objects_known(o, &old, &bias), OBJECT_NOT_READY);
	assert_int_equal(objects_known(o, &other, &bias), OBJECT_FIRST + 1);
	assert_int_equal(objects_known(o, &libc, &bias), OBJECT_FIRST + 2);
	assert_true(objects_retry(o, now + 100 * NSEC_PER_SEC));
	assert_int_equal(objects_known(o, &large, &bias), OBJECT_NOT_READY);
	assert_int_equal(need(o, &large, &got), OBJECTS_TABLE);
	objects_stats(o, &st);
	assert_int_equal(st.evicted, 1);
	assert_int_equal(st.objects, 3);
	unlink(paths[0]);
	unlink(paths[1]);
	objects_free(o);
	arrays_close(&a);
}

/* What rests is not given to anybody else: a walk may still read it. */
static void test_rest(void **state)
{
	struct unwind_table *t = table_of(files[1]);
	struct shelf_parts first, second, third;
	uint64_t now = clock_mono_ns();
	uint32_t dir;

	assert_int_equal(shelves_place(shelves, t, &first), 0);
	dir = first.dir;
	shelves_give_back(shelves, &first, now);
	assert_int_equal(shelves_place(shelves, t, &second), 0);
	assert_int_not_equal(second.dir, dir);
	shelves_give_back(shelves, &second, now - 2 * SHELVES_REST_NS);
	assert_int_equal(shelves_place(shelves, t, &third), 0);
	shelves_give_back(shelves, &third, now);
	unwind_table_free(t);
}

static bool making, asked;
static uint32_t *(*quick_shelf)(void *ctx, uint32_t i);

/* The kernel gives a shelf only when somebody has asked what is left. */
static uint32_t *slow_shelf(void *ctx, uint32_t i)
{
	__atomic_store_n(&making, true, __ATOMIC_RELEASE);
	for (int ms = 0; ms < 10000 && !__atomic_load_n(&asked, __ATOMIC_ACQUIRE); ms++)
		usleep(1000);
	return __atomic_load_n(&asked, __ATOMIC_ACQUIRE) ? quick_shelf(ctx, i) : NULL;
}

static void *run_place(void *arg)
{
	struct shelf_parts parts;
	int rc = shelves_place(shelves, arg, &parts);

	if (!rc)
		shelves_give_back(shelves, &parts, clock_mono_ns());
	return (void *)(intptr_t)rc;
}

/* The thread that drains the rings does not wait while the kernel makes a shelf. */
static void test_nobody_waits_for_a_shelf(void **state)
{
	struct unwind_table *t = table_of(files[1]);
	pthread_t placer;
	void *rc;

	shelves_free(shelves);
	quick_shelf = arrays.shelf;
	arrays.shelf = slow_shelf;
	shelves = shelves_new(&arrays);
	assert_int_equal(pthread_create(&placer, NULL, run_place, t), 0);
	while (!__atomic_load_n(&making, __ATOMIC_ACQUIRE))
		usleep(1000);
	assert_int_equal(shelves_left(shelves), shelves_limit(shelves));
	__atomic_store_n(&asked, true, __ATOMIC_RELEASE);
	assert_int_equal(pthread_join(placer, &rc), 0);
	assert_int_equal((intptr_t)rc, 0);
	unwind_table_free(t);
}

static void test_pace(void **state)
{
	struct builder *b =
		builder_new(&(struct builder_opts){.shelves = shelves, .free_ns = 1, .share = 1});
	struct build_job *job;

	assert_int_equal(builder_pace(7, NSEC_PER_SEC, NSEC_PER_SEC, 1000), 7);
	/* A thousandth of a CPU: what took a millisecond is paid for in a second. */
	assert_int_equal(builder_pace(7, 2 * NSEC_PER_MSEC, NSEC_PER_MSEC, 1000), 7 + NSEC_PER_SEC);
	assert_int_equal(builder_pace(7, 100 * NSEC_PER_SEC, 0, 0), 7);
	/* The second is not begun: nobody need wait for it. */
	assert_true(builder_put(b, job_of(files[0])) && builder_put(b, job_of(files[1])));
	job = builder_take(b, 60 * NSEC_PER_SEC);
	assert_true(job->has_table);
	build_job_free(job);
	while (!builder_rests(b))
		usleep(1000);
	assert_null(builder_take(b, 100 * NSEC_PER_MSEC));
	builder_free(b);
}

static int find_self(void **state)
{
	return readlink("/proc/self/exe", self, sizeof(self) - 1) > 0 ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same_tables, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_table, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_never_fits),
		cmocka_unit_test(test_least_used_go),
		cmocka_unit_test_setup_teardown(test_rest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nobody_waits_for_a_shelf, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pace, setup, teardown),
	};

	return cmocka_run_group_tests(tests, find_self, NULL);
}
