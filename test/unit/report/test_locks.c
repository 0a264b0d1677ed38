// SPDX-License-Identifier: MIT
/* The table of locks and the sections about them: what is picked, in which order, how wide. */
#include "unit/report/stage.h"

#include "base/err.h"
#include "report/locks.h"
#include "report/text.h"

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

/* The text in one line, however it was broken. */
static const char *flat(void)
{
	char *to = text;

	for (const char *at = text; *at; at++)
		if (*at != ' ' && *at != '\n')
			*to++ = *at;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	*to = '\0';
	return text;
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
	/* in the order of their totals, whatever they are */
	assert_string_equal(PICKED(.signals = true),
			    "queue.ready|commit_lock|" LONG "heap 0x55d0c0de|");
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

static void section(void (*show)(const struct text_report *), uint64_t top)
{
	FILE *out = open_text();
	struct text_report p = {.s = &t.s, .out = out, .width = 80, .top = top};

	show(&p);
	fclose(out);
	expect_width(80);
}

static void test_not_recorded(void **state)
{
	t.s.kernel_locks = true;
	section(text_locks, 0);
	assert_string_equal(text, "\nLocks   nobody waited for one\n");
	/* a place without a name of its own is not "nobody" */
	t.s.reasons[REASON_MUTEX] = 5 * MS;
	section(text_locks, 0);
	assert_string_equal(text,
			    "\nLocks   threads waited for some, but which ones was not recorded\n");
	t.s.kernel_locks = false;
	section(text_locks, 0);
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
	if (culprit)
		stage_did(&t.s.stalls.list.v[t.s.stalls.list.n - 1].did, INTERVAL_WAITING,
			  REASON_DISK, ns);
	t.s.stalls.count++;
	t.s.stalls.total += ns;
}

static void test_stalls(void **state)
{
	const struct thread *io = stage_thread(&t, "io");
	size_t lock = stage_lock(&t, LOCK_MUTEX, "big_lock");

	section(text_stalls, 0);
	assert_string_equal(text, "");
	add_stall(2000 * MS, 80 * MS, lock, io);
	add_stall(3000 * MS, 70 * MS, lock, io);
	add_stall(4000 * MS, 50 * MS, SIZE_MAX, NULL);
	add_stall(5000 * MS, 40 * MS, lock, NULL);
	vec_push(&t.s.stalls.blackouts, (struct blackout){1000 * MS, 60 * MS, 2});
	section(text_stalls, 0);
	assert_string_equal(
		text,
		"\nStalls   many threads stood still for one cause: 240ms in all\n"
		"   80.0ms  +2.000s                 3 threads stood behind big_lock, while io was\n"
		"                                   waiting for the disk; 1 more like it, 70.0ms\n"
		"                                   in all\n"
		"   60.0ms  +1.000s                 blackout: nothing came from any CPU, with\n"
		"                                   threads on 2; the kernel or the virtual\n"
		"                                   machine stood still\n"
		"   50.0ms  +4.000s                 3 threads were waiting for the disk\n"
		"  and 1 shorter, 40.0ms in all (--top shows them)\n");
	section(text_stalls, 10);
	assert_non_null(strstr(text, "   70.0ms  +3.000s"));
	assert_non_null(strstr(text, "big_lock; who"));
	assert_null(strstr(text, "shorter"));
	/* one who ran for half of it */
	doings_add(&t.s.stalls.list.v[0].did, INTERVAL_RUNNING, REASON_UNKNOWN, 80 * MS);
	section(text_stalls, 1);
	assert_non_null(strstr(
		flat(), "stood behind big_lock, held by io, 50% of that time waiting for the "
			"disk, 50% running"));
}

static void test_blame(void **state)
{
	const struct thread *io = stage_thread(&t, "io"), *w = stage_thread(&t, "worker-1");
	size_t lock = stage_lock(&t, LOCK_MUTEX, "big_lock");
	size_t log = stage_lock(&t, LOCK_MUTEX, "log_lock");
	struct blame_sum *r;

	section(text_blame, 0);
	assert_string_equal(text, "");
	r = stage_blame(&t, io, w, lock, lock, 250 * MS);
	stage_did(&r->did, INTERVAL_WAITING, REASON_DISK, 250 * MS);
	r->function = stage_function(&t, "flush");
	r = stage_blame(&t, io, w, lock, log, 10 * MS);
	stage_did(&r->did, INTERVAL_RUNNING, REASON_UNKNOWN, 10 * MS);
	t.s.blame.waited = 400 * MS;
	t.s.blame.unknown = 140 * MS;
	section(text_blame, 0);
	assert_string_equal(text, "\nWho kept others waiting\n"
				  "    250ms  io (101) in flush held big_lock, waiting for the "
				  "disk. worker-1\n"
				  "           waited for that, 25% of its time.\n"
				  "   10.0ms  by 1 more (--top shows them)\n"
				  "    140ms  behind locks whose holder is not known\n");
	section(text_blame, 5);
	assert_non_null(strstr(flat(), "io (101) held log_lock (which held up threads that wanted "
				       "big_lock), running."));
	/* what it did, in one sum: nothing of it is hidden */
	doings_add(&t.s.blame.sums.v[0].did, INTERVAL_RUNNING, REASON_UNKNOWN, 250 * MS);
	section(text_blame, 0);
	assert_non_null(strstr(flat(), "held big_lock: 50% waiting for the disk, 50% running."));
}

static void add_wait(enum reason reason, uint64_t ns)
{
	vec_push(&t.s.waits, (struct wait_place){.reason = reason,
						 .lock = SIZE_MAX,
						 .total = ns,
						 .count = 2,
						 .max = ns / 2});
}

/* The labels of the rows, in their order. */
static void expect_rows(const char *const *want, size_t n)
{
	const char *at = text;

	for (size_t i = 0; i < n; i++) {
		at = strstr(at, want[i]);
		if (!at)
			fail_msg("no '%s' behind those before it:\n%s", want[i], text);
		at++;
	}
}

#define ROWS(...)                                                                                  \
	expect_rows((const char *const[]){__VA_ARGS__},                                            \
		    sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

/* In the order of their totals; what a thread chose itself gives way, and is summed up. */
static void test_longest_waits(void **state)
{
	add_wait(REASON_SLEEP, 9000 * MS);
	add_wait(REASON_DISK, 2000 * MS);
	add_wait(REASON_MUTEX, 1000 * MS);
	section(text_waits, 0);
	ROWS("\n  a timer        9.00s", "\n  disk           2.00s", "\n  mutex          1.00s");
	add_wait(REASON_PIPE, 500 * MS);
	add_wait(REASON_NETWORK, 400 * MS);
	t.s.placeless[REASON_POLL].total = MS;
	t.s.placeless[REASON_POLL].count = 100;
	section(text_waits, 0);
	ROWS("\n  disk           2.00s", "\n  mutex          1.00s", "\n  pipe           500ms",
	     "\n  others         400ms      2  in 1 more place (--top shows them)\n",
	     "\n  own choice     9.00s      2  timers, and ends of threads and children\n",
	     "\n  no stack      1.00ms    100  most of them were too short for one\n");
	assert_null(strstr(text, "a timer"));
	section(text_waits, 2);
	ROWS("\n  a timer        9.00s", "\n  disk           2.00s",
	     "\n  others         1.90s      6  in 3 more places (--top shows them)\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_pick),	  TEST(test_widths), TEST(test_lines),
		TEST(test_not_recorded),  TEST(test_stalls), TEST(test_blame),
		TEST(test_longest_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
