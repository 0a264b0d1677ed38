// SPDX-License-Identifier: MIT
/* What is missing is said: where, how much, and in the stream at its place. */
#include "store_test.h"

#include "base/buf.h"
#include "wire/loss.h"

enum { EVENTS = 4000 };

static void make_capture(void)
{
	struct writer *w = open_writer(1000);
	struct frame f = {1, 100};

	writer_meta(w, "host", "a");
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct event ev = numbered(i);

		if (i % 1000 == 0)
			writer_stack(w, &f, 1, 1);
		writer_event(w, &ev);
	}
	assert_int_equal(writer_close(w, END_DONE), 0);
}

static struct index_entry nth_of(unsigned type, size_t n)
{
	struct reader *r = open_reader(0);
	struct index_entry found = {0};
	const struct index_entry *e;

	for (size_t i = 0; (e = reader_chunk(r, i)); i++)
		if (e->type == type && !n--) {
			found = *e;
			break;
		}
	assert_true(found.bytes);
	reader_close(r);
	return found;
}

static void flip(uint64_t at)
{
	int fd = open(temp_path(), O_RDWR);
	uint8_t b;

	assert_int_equal(pread(fd, &b, 1, (off_t)at), 1);
	b ^= 0x10;
	assert_int_equal(pwrite(fd, &b, 1, (off_t)at), 1);
	close(fd);
}

/* Every event must be there but those of one chunk, in whose place stands what was lost. */
static void expect_hole(struct reader *r, const struct index_entry *e, bool exact)
{
	uint32_t first = (uint32_t)((e->ts_min - numbered(0).ts) / 1000), n = 0;
	struct event ev, want;
	bool lost = false;

	while (reader_next(r, &ev) == 1) {
		if (ev.kind == EV_LOST) {
			assert_false(lost);
			assert_int_equal(n, first);
			assert_int_equal(ev.lost.cause, LOSS_DAMAGED);
			assert_true(ev.ts >= e->ts_max && ev.ts <= e->ts_max + 1000);
			assert_true(ev.ts - ev.lost.span_ns <= e->ts_min);
			assert_true(ev.lost.span_ns <= e->ts_max - e->ts_min + 2000);
			if (exact)
				assert_int_equal(ev.lost.count, e->items);
			lost = true;
			n += e->items;
			continue;
		}
		want = numbered(n++);
		assert_same_event(&ev, &want);
	}
	assert_true(lost);
	assert_int_equal(n, EVENTS);
	assert_false(reader_info(r)->complete);
	assert_int_equal(reader_info(r)->chunks_damaged, 1);
	assert_int_equal(reader_info(r)->bytes_lost, e->bytes);
	assert_true(reader_info(r)->damage[0]);
	assert_int_equal(reader_verify(r), -EBADMSG);
}

static void test_bad_payload(void **state)
{
	static const unsigned flags[] = {0, READER_NO_INDEX};
	struct index_entry e;

	make_capture();
	e = nth_of(CHUNK_EVENTS, 3);
	flip(e.offset + HEAD_BYTES + 5);
	for (int i = 0; i < 2; i++) {
		struct reader *r = open_reader(flags[i]);

		expect_hole(r, &e, true);
		assert_non_null(strstr(reader_info(r)->damage, "wrong checksum"));
		reader_close(r);
	}
}

static void test_bad_header(void **state)
{
	struct index_entry e;
	struct reader *r;

	make_capture();
	e = nth_of(CHUNK_EVENTS, 3);
	flip(e.offset + 13);
	r = open_reader(READER_NO_INDEX);
	assert_int_equal(reader_info(r)->bytes_lost, e.bytes);
	expect_hole(r, &e, false);
	reader_close(r);
	r = open_reader(0);
	expect_hole(r, &e, true);
	reader_close(r);
}

static void test_verify_finds_any_flip(void **state)
{
	uint64_t size;
	struct rng rng = {9};

	make_capture();
	size = size_of(temp_path());
	for (int i = 0; i < 300; i++) {
		uint64_t at = rng_below(&rng, size);
		struct reader *r;

		flip(at);
		if (!reader_open(temp_path(), &r)) {
			if (!reader_verify(r))
				fail_msg("a changed byte %llu was not noticed",
					 (unsigned long long)at);
			reader_close(r);
		}
		flip(at);
	}
}

static void test_lost_stacks(void **state)
{
	struct index_entry e;
	struct reader *r;
	struct event ev;
	uint64_t gone = 0, n = 0;
	const struct frame *f;

	make_capture();
	e = nth_of(CHUNK_STACKS, 1);
	flip(e.offset + HEAD_BYTES);
	r = open_reader(0);
	while (reader_next(r, &ev) == 1) {
		n += ev.kind == EV_SWITCH;
		if (ev.kind == EV_LOST) {
			assert_int_equal(ev.lost.cause, LOSS_STACK_GONE);
			gone += ev.lost.count;
		}
	}
	assert_int_equal(n, EVENTS);
	assert_int_equal(gone, e.items);
	/* The others keep their numbers. */
	assert_int_equal(reader_stack(r, 1, &f), 1);
	assert_int_equal(reader_stack(r, 2, &f), 0);
	assert_int_equal(reader_stack(r, 3, &f), 1);
	assert_int_equal(reader_stacks(r), 4);
	reader_close(r);
}

static void test_torn(void **state)
{
	struct index_entry e;
	struct event ev;
	struct reader *r;
	uint32_t n = 0;
	char words[80];

	make_capture();
	e = nth_of(CHUNK_EVENTS, 5);
	assert_int_equal(truncate(temp_path(), (off_t)(e.offset + e.bytes - 1)), 0);
	r = open_reader(0);
	snprintf(words, sizeof(words), "torn at byte %llu: the last %llu bytes",
		 (unsigned long long)e.offset, (unsigned long long)e.bytes - 1);
	assert_non_null(strstr(reader_info(r)->damage, words));
	assert_false(reader_info(r)->complete);
	assert_false(reader_info(r)->sealed);
	while (reader_next(r, &ev) == 1 && ev.kind != EV_LOST) {
		struct event want = numbered(n++);

		assert_same_event(&ev, &want);
	}
	assert_int_equal(ev.kind, EV_LOST);
	assert_int_equal(ev.lost.count, e.items);
	assert_int_equal(numbered(n).ts, e.ts_min);
	assert_int_equal(reader_next(r, &ev), 0);
	reader_close(r);

	/* Cut between two chunks: nothing is known to be missing, but the end. */
	assert_int_equal(truncate(temp_path(), (off_t)e.offset), 0);
	r = open_reader(0);
	assert_non_null(strstr(reader_info(r)->damage, "not closed"));
	assert_int_equal(reader_info(r)->bytes_lost, 0);
	for (n = 0; reader_next(r, &ev) == 1; n++)
		assert_int_equal(ev.kind, EV_SWITCH);
	assert_int_equal(numbered(n).ts, e.ts_min);
	reader_close(r);
}

/* Chunks of a type from the future lie between those that are known. */
static void test_unknown_chunks(void **state)
{
	struct chunk_head h = {.type = 4711, .stored = 3, .raw = 3, .items = 9};
	struct index_entry e;
	struct file_head head;
	struct reader *r;
	struct event ev;
	int fd, n = 0;

	make_capture();
	e = nth_of(CHUNK_INDEX, 0);
	assert_int_equal(truncate(temp_path(), (off_t)e.offset), 0);
	fd = open(temp_path(), O_RDWR);
	assert_int_equal(pread(fd, &head, sizeof(head), 0), sizeof(head));
	h.salt = head.salt;
	h.seq = e.seq;
	h.payload_crc = format_crc("abc", 3);
	chunk_head_seal(&h);
	assert_int_equal(pwrite(fd, &h, sizeof(h), (off_t)e.offset), sizeof(h));
	assert_int_equal(pwrite(fd, "abc", 3, (off_t)e.offset + HEAD_BYTES), 3);
	close(fd);
	r = open_reader(0);
	assert_int_equal(reader_info(r)->chunks_unknown, 1);
	assert_int_equal(reader_info(r)->chunks_damaged, 0);
	while (reader_next(r, &ev) == 1)
		n++;
	assert_int_equal(n, EVENTS);
	reader_close(r);
}

static void patch_head(void (*change)(struct file_head *h))
{
	int fd = open(temp_path(), O_RDWR);
	struct file_head h;

	assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
	change(&h);
	h.crc = format_crc(&h, offsetof(struct file_head, crc));
	assert_int_equal(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	close(fd);
}

static void set_incompat(struct file_head *h)
{
	h->incompat = 0x4;
}

static void set_compat(struct file_head *h)
{
	h->compat = 0xffffffff;
	h->version = 9;
}

static void set_text_mode(struct file_head *h)
{
	h->magic[5] = '\n';
	h->magic[6] = 0x1a;
}

static void set_salt(struct file_head *h)
{
	h->salt++;
}

static void test_headers(void **state)
{
	struct reader *r;

	make_capture();
	patch_head(set_compat);
	r = open_reader(0);
	assert_true(reader_info(r)->complete);
	reader_close(r);
	patch_head(set_incompat);
	assert_int_equal(reader_open(temp_path(), &r), -EPROTO);
	assert_non_null(strstr(err_msg(), "newer thaw"));
	make_capture();
	patch_head(set_text_mode);
	assert_int_equal(reader_open(temp_path(), &r), -EPROTO);
	assert_non_null(strstr(err_msg(), "text mode"));
	/* Chunks of another capture are not ours. */
	make_capture();
	patch_head(set_salt);
	r = open_reader(0);
	assert_int_equal(reader_info(r)->chunks, 0);
	assert_int_equal(reader_info(r)->bytes_lost, size_of(temp_path()) - HEAD_BYTES);
	reader_close(r);
}

/* A piece cut out of the middle, and one that is there twice. */
static void test_order_of_chunks(void **state)
{
	struct index_entry a, b;
	struct reader *r;
	struct event ev, want;
	uint8_t *all;
	uint64_t size;
	uint32_t n = 0;
	int fd;

	make_capture();
	a = nth_of(CHUNK_EVENTS, 2);
	b = nth_of(CHUNK_EVENTS, 3);
	size = size_of(temp_path());
	all = malloc(size);
	fd = open(temp_path(), O_RDWR);
	assert_int_equal(read(fd, all, size), size);
	assert_int_equal(pwrite(fd, all + b.offset, size - b.offset, (off_t)a.offset),
			 size - b.offset);
	assert_int_equal(ftruncate(fd, (off_t)(size - a.bytes)), 0);
	r = open_reader(0);
	assert_int_equal(reader_info(r)->chunks_damaged, 1);
	while (reader_next(r, &ev) == 1) {
		if (ev.kind == EV_LOST) {
			assert_int_equal(n, (a.ts_min - numbered(0).ts) / 1000);
			assert_true(ev.ts >= a.ts_max && ev.ts - ev.lost.span_ns <= a.ts_min);
			n += a.items;
		} else {
			want = numbered(n++);
			assert_same_event(&ev, &want);
		}
	}
	assert_int_equal(n, EVENTS);
	reader_close(r);

	assert_int_equal(pwrite(fd, all, b.offset, 0), b.offset);
	assert_int_equal(pwrite(fd, all + a.offset, size - a.offset, (off_t)b.offset),
			 size - a.offset);
	r = open_reader(0);
	for (n = 0; reader_next(r, &ev) == 1;)
		n += ev.kind == EV_SWITCH;
	assert_int_equal(n, EVENTS);
	assert_int_equal(reader_info(r)->bytes_lost, a.bytes);
	reader_close(r);
	free(all);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_payload),
		cmocka_unit_test(test_bad_header),
		cmocka_unit_test(test_lost_stacks),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_unknown_chunks),
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_order_of_chunks),
		cmocka_unit_test(test_verify_finds_any_flip),
	};

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
