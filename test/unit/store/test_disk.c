// SPDX-License-Identifier: MIT
/* The disk thread: much data while flushing (run it under ThreadSanitizer), and a disk that is
 * full. */
#include "store_test.h"

#include <signal.h>
#include <sys/resource.h>

static void test_much_while_flushing(void **state)
{
	struct writer_opts opts = {.chunk_bytes = 64 << 10};
	struct writer *w;
	struct reader *r;
	struct event ev, want;
	struct frame f[4] = {{1, 10}, {1, 20}, {1, 30}, {1, 40}};
	uint32_t n = 600000;

	assert_int_equal(writer_open(temp_path(), &opts, &w), 0);
	for (uint32_t i = 0; i < n; i++) {
		ev = numbered(i);
		writer_event(w, &ev);
		if (i % 1000 == 0) {
			writer_stack(w, f, 4, 2);
			writer_tick(w, ev.ts);
			assert_int_equal(writer_status(w), 0);
		}
		if (i % 50000 == 0) {
			assert_int_equal(writer_flush(w, i % 100000 == 0), 0);
			assert_true(writer_bytes(w) >= HEAD_BYTES);
		}
	}
	assert_int_equal(writer_close(w, END_DONE), 0);
	r = open_reader(0);
	for (uint32_t i = 0; i < n; i++) {
		assert_int_equal(reader_next(r, &ev), 1);
		want = numbered(i);
		assert_same_event(&ev, &want);
	}
	assert_int_equal(reader_next(r, &ev), 0);
	assert_true(reader_info(r)->complete);
	reader_close(r);
}

/* A limit on the file's size fails as a full disk does, and needs no mount. */
static void limit(rlim_t bytes)
{
	struct rlimit l = {bytes, RLIM_INFINITY};

	assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void test_no_space(void **state)
{
	enum { ROOM = 100000 };
	struct rng rng = {4};
	struct writer *w = open_writer(8 << 10);
	struct reader *r;
	struct event ev;
	uint32_t n = 0;
	int rc = 0;

	signal(SIGXFSZ, SIG_IGN);
	limit(ROOM);
	for (uint32_t i = 0; i < 200000; i++) {
		ev = numbered(i);
		ev.switch_.state = (uint32_t)rng_next(&rng);
		writer_event(w, &ev);
		if (i % 1000 == 0 && (rc = writer_flush(w, true)))
			break;
	}
	assert_int_equal(rc, -EFBIG);
	assert_non_null(strstr(err_msg(), temp_path()));
	assert_int_equal(writer_status(w), -EFBIG);
	/* The chunk that did not fit is gone: what is left is whole. */
	assert_int_equal(writer_bytes(w), size_of(temp_path()));
	writer_event(w, &ev);
	assert_int_equal(writer_close(w, END_DONE), -EFBIG);
	limit(RLIM_INFINITY);
	r = open_reader(0);
	assert_true(reader_info(r)->sealed);
	assert_int_equal(reader_info(r)->cause, END_NO_SPACE);
	/* The file is in order, the recording is not all there. */
	assert_false(reader_info(r)->complete);
	assert_non_null(strstr(reader_info(r)->damage, "full"));
	assert_int_equal(reader_info(r)->bytes_lost, 0);
	assert_true(reader_info(r)->file_bytes <= ROOM);
	for (; reader_next(r, &ev) == 1; n++)
		assert_int_equal(ev.switch_.prev, n);
	assert_true(n > 1000);
	assert_int_equal(reader_verify(r), 0);
	reader_close(r);
}

static void test_no_space_for_the_header(void **state)
{
	struct writer *w;

	signal(SIGXFSZ, SIG_IGN);
	limit(10);
	assert_int_equal(writer_open(temp_path(), NULL, &w), -EFBIG);
	limit(RLIM_INFINITY);
}

/* What was not handed over is lost, what was flushed is there: as after a SIGKILL. */
static void test_abandon(void **state)
{
	struct writer *w = open_writer(0);
	struct reader *r;
	struct event ev;
	uint32_t n = 0;

	for (uint32_t i = 0; i < 100; i++) {
		ev = numbered(i);
		writer_event(w, &ev);
		if (i == 49)
			assert_int_equal(writer_flush(w, true), 0);
	}
	writer_abandon(w);
	r = open_reader(0);
	assert_false(reader_info(r)->sealed);
	while (reader_next(r, &ev) == 1)
		n++;
	assert_int_equal(n, 50);
	reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_much_while_flushing),
		cmocka_unit_test(test_no_space),
		cmocka_unit_test(test_no_space_for_the_header),
		cmocka_unit_test(test_abandon),
	};

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
