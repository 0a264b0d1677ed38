// SPDX-License-Identifier: MIT
/* A capture that was closed as it should be: everything that was put in comes out, in order. */
#include "store_test.h"

enum { MANY = 30000 };

static void test_everything_comes_back(void **state)
{
	static struct event evs[MANY];
	struct rng r = {11};
	struct writer *w = open_writer(20000);
	struct reader *rd;
	struct event ev;
	uint64_t ts = 5000000;

	for (size_t i = 0; i < MANY; i++) {
		evs[i] = rng_event(&r, 0);
		evs[i].ts = ts += rng_below(&r, 5000);
		writer_event(w, &evs[i]);
	}
	assert_int_equal(writer_events(w), MANY);
	assert_int_equal(writer_close(w, END_INTERRUPTED), 0);
	rd = open_reader(0);
	assert_true(reader_info(rd)->complete);
	assert_true(reader_info(rd)->sealed);
	assert_int_equal(reader_info(rd)->cause, END_INTERRUPTED);
	assert_int_equal(reader_info(rd)->first_ts, evs[0].ts);
	assert_int_equal(reader_info(rd)->last_ts, ts);
	assert_string_equal(reader_info(rd)->damage, "");
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < MANY; i++) {
			assert_int_equal(reader_next(rd, &ev), 1);
			assert_same_event(&ev, &evs[i]);
		}
		assert_int_equal(reader_next(rd, &ev), 0);
		reader_rewind(rd);
	}
	assert_int_equal(reader_verify(rd), 0);
	reader_close(rd);
}

static void test_nothing_at_all(void **state)
{
	struct writer *w = open_writer(0);
	struct reader *r;
	struct event ev;
	const struct frame *f;

	assert_int_equal(writer_close(w, END_DONE), 0);
	r = open_reader(0);
	assert_true(reader_info(r)->complete);
	assert_int_equal(reader_next(r, &ev), 0);
	assert_null(reader_meta(r, "host", 0));
	assert_null(reader_module(r, 1));
	assert_int_equal(reader_stack(r, 1, &f), 0);
	assert_int_equal(reader_verify(r), 0);
	reader_close(r);
}

static void test_facts(void **state)
{
	struct writer *w = open_writer(0);
	const char *k, *v;
	struct reader *r;

	writer_meta(w, "host", "a");
	writer_meta(w, "command", "sh");
	writer_flush(w, true);
	writer_meta(w, "command", "-c");
	writer_meta(w, "command", "");
	assert_int_equal(writer_close(w, END_DONE), 0);
	r = open_reader(0);
	assert_string_equal(reader_meta(r, "command", 1), "-c");
	assert_string_equal(reader_meta(r, "command", 2), "");
	assert_null(reader_meta(r, "command", 3));
	assert_true(reader_meta_at(r, 1, &k, &v));
	assert_string_equal(k, "command");
	assert_string_equal(v, "sh");
	assert_false(reader_meta_at(r, 4, &k, &v));
	reader_close(r);
}

static size_t some_frames(struct rng *r, struct frame *f)
{
	size_t n = rng_below(r, 20) ? 1 + rng_below(r, 40) : STACK_FRAMES_MAX;

	for (size_t i = 0; i < n; i++)
		f[i] = (struct frame){(uint32_t)rng_below(r, 5), rng_value(r)};
	return n;
}

static void test_stacks_and_modules(void **state)
{
	struct writer *w = open_writer(3000);
	struct frame f[STACK_FRAMES_MAX];
	const struct frame *g;
	struct rng r = {5};
	struct reader *rd;
	uint32_t n = 0;

	assert_int_equal(writer_stack(w, f, 0, 0), 0);
	for (uint32_t i = 1; i <= 300; i++) {
		char path[40];
		struct module m = {.kind = MODULE_FILE, .path = path, .pid = i, .build_id_len = 20};

		snprintf(path, sizeof(path), "/usr/lib/lib%u.so", i);
		memset(m.build_id, (int)i, sizeof(m.build_id));
		assert_int_equal(writer_module(w, &m), i);
	}
	for (n = 1; n <= 2000; n++)
		assert_int_equal(writer_stack(w, f, some_frames(&r, f), n % 11), n);
	assert_int_equal(writer_close(w, END_DONE), 0);

	r = (struct rng){5};
	rd = open_reader(0);
	assert_int_equal(reader_modules(rd), 300);
	assert_string_equal(reader_module(rd, 299)->path, "/usr/lib/lib299.so");
	assert_int_equal(reader_module(rd, 299)->build_id[19], 299 & 0xff);
	assert_null(reader_module(rd, 0));
	assert_null(reader_module(rd, 301));
	assert_int_equal(reader_stacks(rd), 2000);
	for (n = 1; n <= 2000; n++) {
		size_t depth = some_frames(&r, f);

		assert_int_equal(reader_stack(rd, n, &g), depth);
		for (size_t i = 0; i < depth; i++) {
			assert_int_equal(g[i].module, f[i].module);
			assert_int_equal(g[i].offset, f[i].offset);
		}
	}
	assert_int_equal(reader_stack(rd, 0, &g), 0);
	assert_int_equal(reader_stack(rd, 2001, &g), 0);
	reader_close(rd);
}

/* An event must never be in the file before the stack it names: a kill may come between. */
static void test_tables_come_first(void **state)
{
	struct writer *w = open_writer(2000);
	struct frame f[3] = {{1, 100}, {1, 200}, {1, 300}};
	const struct index_entry *e;
	uint64_t stacks = 0, events = 0;
	struct reader *r;

	for (uint32_t i = 0; i < 3000; i++) {
		struct event ev = {.ts = i, .kind = EV_SAMPLE};

		ev.sample.ustack = writer_stack(w, f, 3, 1);
		writer_event(w, &ev);
	}
	assert_int_equal(writer_close(w, END_DONE), 0);
	r = open_reader(READER_NO_INDEX);
	for (size_t i = 0; (e = reader_chunk(r, i)); i++) {
		stacks += e->type == CHUNK_STACKS ? e->items : 0;
		events += e->type == CHUNK_EVENTS ? e->items : 0;
		assert_true(events <= stacks);
	}
	assert_int_equal(events, 3000);
	reader_close(r);
}

static void test_index_and_scan_agree(void **state)
{
	struct writer *w = open_writer(1000);
	const struct index_entry *a, *b;
	struct reader *x, *y;
	size_t n = 0;

	writer_meta(w, "host", "a");
	for (uint32_t i = 0; i < 5000; i++) {
		struct event ev = numbered(i);

		writer_event(w, &ev);
	}
	assert_int_equal(writer_close(w, END_DONE), 0);
	x = open_reader(0);
	y = open_reader(READER_NO_INDEX);
	assert_memory_equal(reader_info(x), reader_info(y), sizeof(struct reader_info));
	for (; (a = reader_chunk(x, n)); n++) {
		b = reader_chunk(y, n);
		assert_non_null(b);
		assert_int_equal(a->offset, b->offset);
		assert_int_equal(a->bytes, b->bytes);
		assert_int_equal(a->type, b->type);
		assert_int_equal(a->items, b->items);
		assert_int_equal(a->ts_min, b->ts_min);
		assert_int_equal(a->ts_max, b->ts_max);
	}
	assert_null(reader_chunk(y, n));
	assert_true(n > 20);
	reader_close(x);
	reader_close(y);
}

static void test_tick_flushes_by_age(void **state)
{
	struct writer_opts opts = {.flush_ns = 1000, .no_sync = true};
	struct writer *w;
	struct event ev = numbered(1);
	uint64_t before;

	assert_int_equal(writer_open(temp_path(), &opts, &w), 0);
	writer_tick(w, 1000000);
	writer_event(w, &ev);
	before = writer_bytes(w);
	writer_tick(w, 1000999);
	usleep(20000);
	assert_int_equal(writer_bytes(w), before);
	writer_tick(w, 1001000);
	for (int i = 0; i < 500 && writer_bytes(w) == before; i++)
		usleep(10000);
	assert_true(writer_bytes(w) > before);
	assert_int_equal(size_of(temp_path()), writer_bytes(w));
	writer_abandon(w);
}

static void test_refusals(void **state)
{
	struct writer *w;
	struct reader *r;

	assert_int_equal(writer_open("/dev/null", NULL, &w), -EINVAL);
	assert_non_null(strstr(err_msg(), "/dev/null"));
	assert_int_equal(writer_open("/nonexistent/x.thaw", NULL, &w), -ENOENT);
	assert_int_equal(reader_open("/nonexistent/x.thaw", &r), -ENOENT);
	assert_int_equal(reader_open("/tmp", &r), -EINVAL);
	assert_int_equal(reader_open("/etc/passwd", &r), -EPROTO);
	assert_non_null(strstr(err_msg(), "not a capture"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_comes_back),
		cmocka_unit_test(test_nothing_at_all),
		cmocka_unit_test(test_facts),
		cmocka_unit_test(test_stacks_and_modules),
		cmocka_unit_test(test_tables_come_first),
		cmocka_unit_test(test_index_and_scan_agree),
		cmocka_unit_test(test_tick_flushes_by_age),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
