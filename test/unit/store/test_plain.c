// SPDX-License-Identifier: MIT
/* A copy with plain chunks says what the capture says, whatever is wrong with that. */
#include "store_test.h"

#include "base/buf.h"
#include "store/plain.h"
#include "wire/loss.h"

enum { EVENTS = 3000 };

static void make_capture(uint64_t seed, bool seal)
{
	struct writer *w = open_writer(2000);
	struct rng rng = {seed};
	struct symtab *st = symtab_new();
	struct symbol sym = {.name = "main", .file = "a.c", .line = 7};
	struct module m = {.kind = MODULE_FILE, .path = "/bin/a"};
	struct frame f = {1, 100};

	writer_meta(w, "host", "a");
	writer_meta(w, "command", "b");
	writer_module(w, &m);
	for (uint32_t i = 0; i < EVENTS; i++) {
		struct event ev = rng_event(&rng, 0);

		ev.ts = 1000000 + 1000ull * i;
		if (i % 500 == 0)
			writer_stack(w, &f, 1, 1);
		writer_event(w, &ev);
	}
	symtab_add(st, 1, 100, &sym, 1);
	writer_symbols(w, st);
	symtab_free(st);
	if (seal) {
		assert_int_equal(writer_close(w, END_INTERRUPTED), 0);
	} else {
		assert_int_equal(writer_flush(w, true), 0);
		writer_abandon(w);
	}
}

static int collect(void *arg, const void *p, size_t n)
{
	buf_put(arg, p, n);
	return 0;
}

/* The copy, as a file of its own. */
static struct reader *copy_of(struct reader *r, char *path, size_t room)
{
	struct buf b = {0};
	struct reader *ret = NULL;
	int fd;

	snprintf(path, room, "/tmp/thaw-test-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(plain_copy(r, collect, &b), 0);
	assert_int_equal(write(fd, b.p, b.len), b.len);
	close(fd);
	buf_done(&b);
	if (reader_open(path, &ret))
		fail_msg("%s", err_msg());
	return ret;
}

static void expect_plain(const char *path, const struct reader *r)
{
	FILE *f = fopen(path, "r");
	const struct index_entry *e;

	assert_non_null(f);
	for (size_t i = 0; (e = reader_chunk(r, i)); i++) {
		struct chunk_head h;

		if (e->state != INDEX_CHUNK)
			continue;
		assert_int_equal(fseek(f, (long)e->offset, SEEK_SET), 0);
		assert_int_equal(fread(&h, sizeof(h), 1, f), 1);
		assert_int_equal(h.flags, 0);
		assert_int_equal(h.stored, h.raw);
	}
	fclose(f);
}

static void expect_same(struct reader *a, struct reader *b)
{
	const struct symbol *s, *t;
	struct event x, y;
	int got;

	for (;;) {
		got = reader_next(a, &x);
		assert_int_equal(reader_next(b, &y), got);
		if (!got)
			break;
		assert_same_event(&x, &y);
	}
	assert_int_equal(reader_info(a)->sealed, reader_info(b)->sealed);
	assert_int_equal(reader_info(a)->complete, reader_info(b)->complete);
	assert_int_equal(reader_info(a)->cause, reader_info(b)->cause);
	assert_int_equal(reader_info(a)->start_unix_ns, reader_info(b)->start_unix_ns);
	assert_int_equal(reader_info(a)->chunks_damaged, reader_info(b)->chunks_damaged);
	assert_string_equal(reader_info(a)->damage, reader_info(b)->damage);
	assert_int_equal(reader_stacks(a), reader_stacks(b));
	assert_int_equal(reader_modules(a), reader_modules(b));
	assert_int_equal(reader_symbol(a, 1, 100, &s), reader_symbol(b, 1, 100, &t));
	for (unsigned k = 0; k < EV_KINDS; k++) {
		uint64_t n = 0, m = 0;

		assert_int_equal(reader_total(a, k, &n), reader_total(b, k, &m));
		assert_int_equal(n, m);
	}
}

static bool next_event(struct reader *r, struct event *ret)
{
	int got;

	do
		got = reader_next(r, ret);
	while (got > 0 && ret->kind == EV_LOST && ret->lost.cause == LOSS_STACK_GONE);
	return got > 0;
}

/* The engine in the page looks at no checksums: what it takes for damaged is the same. */
static void expect_same_unchecked(struct reader *a, const char *path)
{
	struct reader *b = NULL;
	struct event x, y;
	bool more;

	assert_int_equal(reader_open_flags(path, READER_NO_CHECKSUMS, &b), 0);
	reader_rewind(a);
	do {
		more = next_event(a, &x);
		assert_int_equal(next_event(b, &y), more);
		if (more)
			assert_same_event(&x, &y);
	} while (more);
	assert_string_equal(reader_info(a)->damage, reader_info(b)->damage);
	reader_close(b);
}

static void check_copy(void)
{
	struct reader *r = open_reader(0), *copy;
	char path[64];

	copy = copy_of(r, path, sizeof(path));
	expect_plain(path, copy);
	expect_same(r, copy);
	expect_same_unchecked(r, path);
	reader_close(copy);
	reader_close(r);
	unlink(path);
}

static void test_whole(void **state)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		make_capture(seed, true);
		check_copy();
	}
}

static void test_torn(void **state)
{
	uint64_t size;

	make_capture(20, false);
	check_copy();
	make_capture(21, true);
	size = size_of(temp_path());
	for (uint64_t cut = 64; cut < size; cut += size / 37) {
		make_capture(21, true);
		assert_int_equal(truncate(temp_path(), (off_t)cut), 0);
		check_copy();
	}
}

static void test_damaged(void **state)
{
	struct rng rng = {42};

	for (unsigned i = 0; i < 60; i++) {
		uint64_t at, size;
		uint8_t junk[96];
		int fd;

		make_capture(30, true);
		size = size_of(temp_path());
		fd = open(temp_path(), O_RDWR);
		for (size_t k = 0; k < sizeof(junk); k++)
			junk[k] = (uint8_t)rng_next(&rng);
		at = 64 + rng_below(&rng, size - 64 - sizeof(junk));
		assert_int_equal(pwrite(fd, junk, 1 + rng_below(&rng, sizeof(junk)), (off_t)at) > 0,
				 1);
		close(fd);
		check_copy();
	}
}

/* A chunk that is not there at all: its number is missing. */
static void test_cut_out(void **state)
{
	struct index_entry cut = {0};
	const struct index_entry *e;
	struct reader *r;
	uint64_t size;
	uint8_t *bytes;
	FILE *f;

	make_capture(50, true);
	r = open_reader(0);
	for (size_t i = 0, events = 0; (e = reader_chunk(r, i)); i++)
		if (e->type == CHUNK_EVENTS && events++ == 3)
			cut = *e;
	reader_close(r);
	assert_true(cut.bytes);
	size = size_of(temp_path());
	bytes = malloc(size);
	f = fopen(temp_path(), "r");
	assert_int_equal(fread(bytes, 1, size, f), size);
	fclose(f);
	f = fopen(temp_path(), "w");
	fwrite(bytes, 1, cut.offset, f);
	fwrite(bytes + cut.offset + cut.bytes, 1, size - cut.offset - cut.bytes, f);
	fclose(f);
	free(bytes);
	check_copy();
}

/* Names that were made after the fact go with the copy. */
static void test_names(void **state)
{
	struct writer *w = open_writer(0);
	struct frame f = {1, 100};
	struct symtab *st = symtab_new();
	struct symbol sym = {.name = "later", .file = "b.c", .line = 3};
	struct module m = {.kind = MODULE_FILE, .path = "/bin/a"};
	const struct symbol *got;
	struct reader *r, *copy;
	struct event ev = numbered(0);
	char path[64];

	writer_module(w, &m);
	writer_stack(w, &f, 1, 1);
	writer_event(w, &ev);
	assert_int_equal(writer_flush(w, true), 0);
	writer_abandon(w);
	r = open_reader(0);
	assert_int_equal(reader_symbol(r, 1, 100, &got), 0);
	symtab_add(st, 1, 100, &sym, 1);
	reader_set_symtab(r, st);
	copy = copy_of(r, path, sizeof(path));
	assert_int_equal(reader_symbol(copy, 1, 100, &got), 1);
	assert_string_equal(got->name, "later");
	assert_true(reader_info(copy)->has_symbols);
	reader_close(copy);
	reader_close(r);
	unlink(path);
}

static int refuse(void *arg, const void *p, size_t n)
{
	size_t *left = arg;

	if (n > *left)
		return err_set(-ENOSPC, "full");
	*left -= n;
	return 0;
}

/* Who takes the bytes may have enough of them at any time. */
static void test_full(void **state)
{
	make_capture(60, true);
	for (size_t room = 0; room < 20000; room += 997) {
		struct reader *r = open_reader(0);
		size_t left = room;

		assert_int_equal(plain_copy(r, refuse, &left), -ENOSPC);
		reader_close(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),	cmocka_unit_test(test_torn),
		cmocka_unit_test(test_damaged), cmocka_unit_test(test_cut_out),
		cmocka_unit_test(test_names),	cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
