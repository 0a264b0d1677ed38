// SPDX-License-Identifier: MIT
/* A capture that is read while it is written: all of it in the end, once, and nothing called lost.
 */
#include "store_test.h"

enum { ROUNDS = 20, EACH = 500 };

static void test_grows(void **state)
{
	struct writer *w = open_writer(4000);
	struct reader *r = NULL;
	uint32_t put = 0, got = 0, stacks = 0;
	struct event ev;

	writer_meta(w, "host", "here");
	for (int round = 0; round < ROUNDS; round++) {
		struct frame f = {1, 0x1000u + (unsigned)round};
		const struct frame *back;

		stacks = writer_stack(w, &f, 1, 1);
		for (int i = 0; i < EACH; i++) {
			ev = numbered(put++);
			writer_event(w, &ev);
		}
		assert_int_equal(writer_flush(w, true), 0);
		if (!r)
			r = open_reader(0);
		assert_int_equal(reader_follow(r), 0);
		while (reader_next(r, &ev) > 0) {
			struct event want = numbered(got++);

			assert_same_event(&ev, &want);
		}
		assert_int_equal(got, put);
		assert_int_equal(reader_stacks(r), stacks);
		assert_int_equal(reader_stack(r, stacks, &back), 1);
		assert_int_equal(back->offset, f.offset);
		assert_int_equal(reader_info(r)->last_ts, numbered(put - 1).ts);
	}
	assert_string_equal(reader_meta(r, "host", 0), "here");
	assert_int_equal(writer_close(w, END_DONE), 0);
	assert_int_equal(reader_follow(r), 0);
	assert_int_equal(reader_next(r, &ev), 0);
	reader_close(r);
}

static void write_prefix(const char *bytes, size_t n)
{
	FILE *f = fopen(temp_path(), "r+");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	fclose(f);
	assert_int_equal(truncate(temp_path(), (off_t)n), 0);
}

/* Cut anywhere, even inside of a chunk, and then completed. */
static void test_every_cut(void **state)
{
	struct writer *w = open_writer(600);
	struct event ev;
	struct stat st;
	char *bytes;
	size_t n;
	FILE *f;

	for (uint32_t i = 0; i < 400; i++) {
		ev = numbered(i);
		writer_event(w, &ev);
	}
	assert_int_equal(writer_close(w, END_DONE), 0);
	assert_int_equal(stat(temp_path(), &st), 0);
	n = (size_t)st.st_size;
	bytes = malloc(n);
	f = fopen(temp_path(), "r");
	assert_int_equal(fread(bytes, 1, n, f), n);
	fclose(f);
	for (size_t cut = sizeof(struct file_head); cut <= n; cut++) {
		struct reader *r;
		uint32_t got = 0;

		write_prefix(bytes, cut);
		r = open_reader(0);
		for (int pass = 0; pass < 2; pass++) {
			assert_int_equal(reader_follow(r), 0);
			while (reader_next(r, &ev) > 0) {
				struct event want = numbered(got++);

				assert_same_event(&ev, &want);
			}
			write_prefix(bytes, n);
		}
		assert_int_equal(got, 400);
		reader_close(r);
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grows),
		cmocka_unit_test(test_every_cut),
	};

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
