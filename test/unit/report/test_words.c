// SPDX-License-Identifier: MIT
/* What a person reads: names from anywhere made safe, shares, clocks, short stacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "report/frames.h"
#include "report/words.h"
#include "store/types.h"

static void expect_safe(const char *in, size_t width, const char *want)
{
	char out[64];

	assert_string_equal(words_safe(out, sizeof(out), in, width), want);
}

static void test_safe(void **state)
{
	char tight[4];

	expect_safe("worker-1", 15, "worker-1");
	expect_safe("\033[2Jboo\n", 15, "?[2Jboo?");
	expect_safe("caf\xc3\xa9 \xe6\xbc\xa2", 15, "caf? ?");
	expect_safe("\xff\xfe", 15, "??");
	expect_safe("abcdefghij", 10, "abcdefghij");
	expect_safe("abcdefghijk", 10, "abcdefgh..");
	expect_safe("abcdefghi\xc3\xa9", 10, "abcdefghi?");
	expect_safe("", 10, "");
	assert_string_equal(words_safe(tight, sizeof(tight), "abcdef", 10), "a..");
}

static void expect_share(uint64_t part, uint64_t whole, const char *want)
{
	char out[16];

	assert_string_equal(words_share(out, sizeof(out), part, whole), want);
}

static void test_share(void **state)
{
	expect_share(0, 0, "-");
	expect_share(0, 7, "0.0%");
	expect_share(1, 1000000, "<0.1%"); /* something is not nothing */
	expect_share(999999, 1000000, ">99.9%");
	expect_share(1000000, 1000000, "100%");
	expect_share(1, 3, "33.3%");
	expect_share(UINT64_MAX / 2, UINT64_MAX, "50.0%");
}

static void test_clock(void **state)
{
	struct model *m = model_new(NULL);
	char out[32];

	setenv("TZ", "UTC", 1);
	m->timeline.begin = 5000000000;
	assert_string_equal(words_moment(out, sizeof(out), m, 6500000000), "+1.500s");
	m->facts.mono_ns = 4000000000;
	m->facts.unix_ns = 1700000000ull * 1000000000; /* 22:13:20 */
	assert_string_equal(words_moment(out, sizeof(out), m, 6250000000),
			    "22:13:22.250 (+1.250s)");
	/* a moment before the two clocks were compared */
	assert_string_equal(words_moment_short(out, sizeof(out), m, 3500000000),
			    "22:13:19.500 +0.000s");
	model_free(m);
}

/* Stack i is the i-th list of names, leaf first; those that start with k: are the kernel's. */
static const char *const stacks[][16] = {
	{NULL},
	{"k:__schedule", "k:schedule", "k:futex_wait_queue", "k:futex_wait", "k:do_futex",
	 "k:__x64_sys_futex", "k:do_syscall_64", NULL},
	{"__lll_lock_wait", "pthread_mutex_lock", "commit", "serve", "main",
	 "__libc_start_call_main", "__libc_start_main_impl", "_start", NULL},
	{"k:bpf_prog_12ab_x", "k:bpf_trace_run1", "k:__traceiter_sched_exit_tp", "k:__schedule",
	 "k:schedule", "k:pipe_read", "k:vfs_read", "k:ksys_read", NULL},
	{"k:__schedule", "k:schedule", "k:worker_thread", "k:kthread", "k:ret_from_fork", NULL},
	{"k:__schedule", "k:schedule", NULL},
	{"k:schedule", "k:ep_poll", "k:do_epoll_wait", NULL},
	{"a_function_with_a_rather_long_name", "another_function_with_a_long_name",
	 "a_third_function_with_a_long_name", "main", NULL},
};

static struct frame frames[16];
static struct symbol symbol;

static size_t fake_stack(void *arg, uint32_t index, const struct frame **ret)
{
	size_t n = 0;

	for (; stacks[index][n]; n++)
		frames[n] = (struct frame){stacks[index][n][1] == ':' ? 2 : 1, index * 100 + n};
	*ret = frames;
	return n;
}

static size_t fake_symbol(void *arg, uint32_t module, uint64_t offset, const struct symbol **ret)
{
	const char *name = stacks[offset / 100][offset % 100];

	symbol = (struct symbol){.name = module == 2 ? name + 2 : name};
	*ret = &symbol;
	return 1;
}

static const struct module *fake_module(void *arg, uint32_t index)
{
	static const struct module user = {.kind = MODULE_FILE, .path = "/bin/app"};
	static const struct module kernel = {.kind = MODULE_KERNEL, .path = ""};

	return index == 2 ? &kernel : &user;
}

static void test_path(void **state)
{
	const struct frame_source source = {
		.stack = fake_stack, .symbol = fake_symbol, .module = fake_module};
	struct names names;
	char out[128];

	names_init(&names, &source);
#define PATH(kstack, ustack, width) words_path(out, sizeof(out), &names, kstack, ustack, width)
	assert_string_equal(PATH(1, 2, 68), "main > serve > commit > pthread_mutex_lock");
	assert_string_equal(PATH(3, 2, 68),
			    "main > serve > commit > pthread_mutex_lock > pipe_read");
	assert_string_equal(PATH(3, 0, 68), "pipe_read");
	assert_string_equal(PATH(4, 0, 68), "worker_thread");
	assert_string_equal(PATH(5, 0, 68), "__schedule"); /* better than nothing */
	assert_string_equal(PATH(0, 0, 68), "");
	assert_string_equal(PATH(0, 7, 80), ".. > another_function_with_a_long_name > "
					    "a_function_with_a_rather_long_name");
	for (size_t width = 12; width < 100; width++)
		assert_true(strlen(PATH(1, 2, width)) <= width);
	assert_string_equal(PATH(6, 2, 68), "main > serve > commit > pthread_mutex_lock");
	names_done(&names);
}

static void test_probe_frames_do_not_tell_places_apart(void **state)
{
	const struct frame_source source = {
		.stack = fake_stack, .symbol = fake_symbol, .module = fake_module};
	const struct named_frame *f;
	struct names names;

	names_init(&names, &source);
	assert_int_equal(names_stack(&names, 3, 0, &f), 8);
	assert_int_equal(names_probed_stack(&names, 3, 0, &f), 5);
	assert_string_equal(names_function(&names, f[0].function)->name, "__schedule");
	names_done(&names);
}

static void expect_function(const char *name, const char *want)
{
	struct function f = {.name = name, .module = "app", .named = true};
	struct names names = {.functions = {.v = &f, .n = 1}};
	char out[64];

	assert_string_equal(words_function(out, sizeof(out), &names, 0, 40), want);
}

/* Of C++, without its arguments. */
static void test_function(void **state)
{
	expect_function("flush_log", "flush_log");
	expect_function("askProvider(int, Position const&)", "askProvider()");
	expect_function("Backlog::submit(std::shared_ptr<Lookup>)", "Backlog::submit()");
	expect_function("std::function<int (char)>::call(int)",
			"std::function<int (char)>::call()");
	expect_function("Task::operator()(int) const", "Task::operator()()");
	expect_function("operator<(Key const&, Key const&)", "operator<()");
	expect_function("(anonymous namespace)::pick(int)", "(anonymous namespace)::pick()");
	expect_function("a_name_of_more_than_forty_characters_in_all(int)",
			"a_name_of_more_than_forty_characters_i..");
}

static void test_wrap(void **state)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	words_wrap(out, "one two", 0, 0, 80);
	words_wrap(out,
		   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		   "aa bbb c",
		   0, 0, 80);
	fclose(out);
	assert_string_equal(text,
			    "one two\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
			    "aaaaaaaaaaaaaaaaaaaa bbb\nc\n");
	free(text);
}

/* A thread that waits for a condition gives the condition's lock back. */
static void test_what_a_holder_did(void **state)
{
	struct doings d = {0};
	struct buf b = {0};

	doings_add(&d, INTERVAL_WAITING, REASON_CONDVAR, 75);
	doings_add(&d, INTERVAL_RUNNING, REASON_UNKNOWN, 25);
	doings_order(&d);
	words_did(&b, &d, "");
	assert_string_equal(buf_cstr(&b), "75% waiting for a condition variable of another lock, "
					  "25% running");
	buf_done(&b);
	doings_done(&d);
}

/* Advice is that of the cause: a larger ring is none where the kernel skipped a probe. */
static void test_losses(void **state)
{
	struct losses l = {0};
	struct buf b = {0};

	assert_int_equal(words_main_loss(&l), LOSS_CAUSES);
	words_loss(&b, LOSS_RECURSION, 1);
	assert_string_equal(buf_cstr(&b), "1 record was lost: the kernel skipped a probe that was "
					  "already running on its CPU");
	buf_clear(&b);
	words_loss(&b, LOSS_RING_FULL, 2);
	assert_non_null(strstr(buf_cstr(&b), "2 records were lost: the ring of a CPU was full"));
	assert_non_null(strstr(buf_cstr(&b), "; a larger --ring-size helps"));
	buf_done(&b);
	/* Stacks are none of the records. */
	l.by_cause[LOSS_WAIT_STACK] = 100;
	assert_int_equal(words_main_loss(&l), LOSS_CAUSES);
	l.by_cause[LOSS_RING_FULL] = 2;
	l.by_cause[LOSS_RECURSION] = 3;
	assert_int_equal(words_main_loss(&l), LOSS_RECURSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_safe),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_clock),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_probe_frames_do_not_tell_places_apart),
		cmocka_unit_test(test_function),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_what_a_holder_did),
		cmocka_unit_test(test_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
