// SPDX-License-Identifier: MIT
/* The table of locks and the sections about them: what is picked, in which order, how wide. */
#include "unit/view/stage.h"

#include "base/err.h"
#include "view/locks.h"
#include "view/page.h"

static struct stage t;
static char *text;
static size_t len;

static int begin(void **state)
{
	stage_init(&t);
	return 0;
}

static int end(void **state)
{
	stage_done(&t);
	free(text);
	text = NULL;
	return 0;
}

static FILE *open_text(void)
{
	free(text);
	text = NULL;
	return open_memstream(&text, &len);
}

static void expect_width(size_t width)
{
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		if (strcspn(line, "\n") > width)
			fail_msg("%zu columns, not %zu: %.*s", strcspn(line, "\n"), width,
				 (int)strcspn(line, "\n"), line);
}

/* Four locks; waits are `total` / `max` in milliseconds. */
static void some_locks(void)
{
	static const struct {
		enum lock_kind kind;
		const char *name;
		uint64_t total, max, count;
	} rows[] = {
		{LOCK_MUTEX, "commit_lock", 900, 90, 30},
		{LOCK_RWSEM, "mmap_lock of a process with a long name (4711)", 500, 400, 2},
		{LOCK_FUTEX, "heap 0x55d0c0de", 100, 1, 5000},
		{LOCK_CONDVAR, "queue.ready", 5000, 4000, 10},
	};
	const struct thread *a = stage_thread(&t, "worker-1");
	const struct thread *b = stage_thread(&t, "a-very-long-nam");

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = stage_lock(&t, rows[i].kind, rows[i].name);
		struct lock_sum *l;

		stage_wait(&t, n, a, i == 2 ? NULL : b, rows[i].total * MS);
		l = &t.s.locks.v[n];
		l->max = rows[i].max * MS;
		l->count = rows[i].count;
		l->address = 0x1000 * (i + 1);
	}
}

/* The names of what is picked, separated by '|'. */
static const char *picked(struct locks_opts o)
{
	FILE *out = open_text();
	lock_list list = {0};
	int rc = locks_pick(&t.s, &o, &list);

	for (size_t i = 0; i < list.n; i++)
		fprintf(out, "%s|", list.v[i]->name);
	if (rc)
		fprintf(out, "%s", err_msg());
	fclose(out);
	vec_done(&list);
	return text;
}

#define PICKED(...) picked((struct locks_opts){__VA_ARGS__})
#define LONG "mmap_lock of a process with a long name (4711)|"

static void test_pick(void **state)
{
	some_locks();
	assert_string_equal(PICKED(.order = LOCKS_BY_TOTAL),
			    "commit_lock|" LONG "heap 0x55d0c0de|");
	assert_string_equal(PICKED(.order = LOCKS_BY_MAX), LONG "commit_lock|heap 0x55d0c0de|");
	assert_string_equal(PICKED(.order = LOCKS_BY_WAITS), "heap 0x55d0c0de|commit_lock|" LONG);
	/* however long they took: nobody stood in the way */
	assert_string_equal(PICKED(.signals = true),
			    "commit_lock|" LONG "heap 0x55d0c0de|queue.ready|");
	assert_string_equal(PICKED(.kind = "condvar"), "queue.ready|");
	assert_string_equal(PICKED(.kind = "mutex"), "commit_lock|");
	assert_string_equal(PICKED(.kind = "barrier"), "");
	assert_string_equal(PICKED(.lock = "queue.ready"), "queue.ready|");
	assert_string_equal(PICKED(.lock = "lock"), "commit_lock|" LONG);
	assert_string_equal(PICKED(.lock = "0x3000"), "heap 0x55d0c0de|");
	assert_string_equal(PICKED(.lock = "0x55d0c0de"),
			    "nobody waited for a lock '0x55d0c0de'; thaw locks lists those that "
			    "there are");
	/* an exact name wins over those that contain it */
	t.s.locks.v[2].name = "lock";
	assert_string_equal(PICKED(.lock = "lock"), "lock|");
}

static void test_widths(void **state)
{
	some_locks();
	for (size_t width = 80; width < 200; width += 7) {
		struct locks_opts o = {.signals = true, .width = width, .details = 4};
		lock_list list = {0};
		FILE *out = open_text();

		assert_int_equal(locks_pick(&t.s, &o, &list), 0);
		locks_text(&t.s, &o, &list, out);
		fclose(out);
		expect_width(width);
		assert_non_null(strstr(text, "commit_lock"));
		vec_done(&list);
	}
	/* where there is room, nothing is cut */
	assert_non_null(strstr(text, "mmap_lock of a process with a long name (4711) rwsem"));
	assert_non_null(strstr(text, "  a-very-long-nam\n"));
}

static void test_lines(void **state)
{
	struct locks_opts o = {0};
	lock_list list = {0};

	some_locks();
	assert_int_equal(locks_pick(&t.s, &o, &list), 0);
	for (size_t lines = 4; lines < 8; lines++) {
		FILE *out = open_text();
		size_t n = 0;

		locks_table(&t.s, &o, &list, lines, out);
		fclose(out);
		for (size_t i = 0; i < len; i++)
			n += text[i] == '\n';
		assert_true(n <= lines);
	}
	vec_done(&list);
}

static void section(void (*show)(const struct page *), uint64_t top)
{
	FILE *out = open_text();
	struct page p = {.s = &t.s, .out = out, .width = 80, .top = top};

	show(&p);
	fclose(out);
	expect_width(80);
}

static void test_not_recorded(void **state)
{
	t.s.kernel_locks = true;
	section(page_locks, 0);
	assert_string_equal(text, "\nLocks   nobody waited for one\n");
	/* a place without a name of its own is not "nobody" */
	t.s.reasons[REASON_MUTEX] = 5 * MS;
	section(page_locks, 0);
	assert_string_equal(text, "\nLocks   which ones was not recorded\n");
	t.s.kernel_locks = false;
	section(page_locks, 0);
	assert_non_null(strstr(text, "Locks of the kernel were not recorded"));
}

static void add_stall(uint64_t at, uint64_t ns, size_t lock, const struct thread *culprit)
{
	vec_push(&t.s.stalls.list, (struct stall){.start = at,
						  .ns = ns,
						  .threads = 3,
						  .all = 4,
						  .lock = lock,
						  .culprit = culprit,
						  .doing = INTERVAL_WAITING,
						  .reason = REASON_DISK,
						  .function = UINT32_MAX});
	t.s.stalls.count++;
	t.s.stalls.total += ns;
}

static void test_stalls(void **state)
{
	const struct thread *io = stage_thread(&t, "io");
	size_t lock = stage_lock(&t, LOCK_MUTEX, "big_lock");

	section(page_stalls, 0);
	assert_string_equal(text, "");
	add_stall(2000 * MS, 80 * MS, lock, io);
	add_stall(3000 * MS, 70 * MS, lock, io);
	add_stall(4000 * MS, 50 * MS, SIZE_MAX, NULL);
	add_stall(5000 * MS, 40 * MS, lock, NULL);
	vec_push(&t.s.stalls.blackouts, (struct blackout){1000 * MS, 60 * MS, 2});
	section(page_stalls, 0);
	assert_string_equal(
		text,
		"\nStalls   many threads stood still for one cause: 240ms in all\n"
		"   80.0ms  +2.00s        3 of 4 threads stood behind big_lock, while io was\n"
		"                         waiting for the disk; 1 more like it, 70.0ms in all\n"
		"   60.0ms  +1.00s        blackout: nothing came from any CPU, with threads on 2;\n"
		"                         the kernel or the virtual machine stood still\n"
		"   50.0ms  +4.00s        3 of 4 threads were waiting for the disk\n"
		"  and 1 shorter\n");
	section(page_stalls, 10);
	assert_non_null(strstr(text, "   70.0ms  +3.00s"));
	assert_non_null(strstr(text, "big_lock; who held it is\n"));
	assert_null(strstr(text, "shorter"));
}

static void test_blame(void **state)
{
	const struct thread *io = stage_thread(&t, "io"), *w = stage_thread(&t, "worker-1");
	size_t lock = stage_lock(&t, LOCK_MUTEX, "big_lock");
	size_t log = stage_lock(&t, LOCK_MUTEX, "log_lock");
	struct blame_row *r;

	section(page_blame, 0);
	assert_string_equal(text, "");
	r = stage_blame(&t, io, w, lock, lock, 250 * MS);
	r->doing = INTERVAL_WAITING;
	r->reason = REASON_DISK;
	r->function = stage_function(&t, "flush");
	stage_blame(&t, io, w, lock, log, 10 * MS);
	t.s.blame.waited = 400 * MS;
	t.s.blame.unknown = 140 * MS;
	section(page_blame, 0);
	assert_string_equal(
		text,
		"\nWho kept others waiting\n"
		"    250ms  io (101) in flush, waiting for the disk, held big_lock. Without it\n"
		"           worker-1 would gain at most 250ms (25% of its time).\n"
		"    140ms  behind locks whose holder is not known\n");
	section(page_blame, 5);
	assert_non_null(strstr(text, "io (101), running, held log_lock and so big_lock."));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_pick),	 TEST(test_widths), TEST(test_lines),
		TEST(test_not_recorded), TEST(test_stalls), TEST(test_blame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
