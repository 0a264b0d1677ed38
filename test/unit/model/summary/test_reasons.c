// SPDX-License-Identifier: MIT
/* Each wait has one reason, by the best evidence that there is. */
#include "unit/model/stacks.h"

#include "model/summary/summary.h"

#define S STATE_INTERRUPTIBLE
#define D STATE_UNINTERRUPTIBLE
#define CALL(nr, file) (((nr) + 1) | ((file) << CALL_FILE_SHIFT))

/* One wait of one thread, from 10 to 110, with what is known of it. */
struct wait {
	uint32_t state, call, kstack, ustack;
	uint32_t flags; /* of the thread */
	bool klock;
};

static struct verdict why(struct feed *f, struct wait w)
{
	struct verdict v;
	size_t n;

	BEGIN(0);
	EV(0, 0, EV_THREAD, .thread = {1, 1, 0, w.flags, "one", 0});
	SWITCH(5, 0, 0, 1, 0);
	if (w.klock)
		EV(9, 0, EV_KLOCK, .klock = {1, 0xffff8000, KLOCK_MUTEX, 0, 0, 0});
	EV(10, 0, EV_SWITCH, .switch_ = {1, 0, w.state, w.call});
	WAKING(110, 1, 1, 9);
	SWITCH(112, 0, 0, 1, 0);
	if (w.kstack || w.ustack)
		EV(113, 0, EV_WAIT, .wait = {1, w.kstack, w.ustack});
	END(120);
	feed_finish(f);
	n = f->m->tally.waits.n;
	assert_int_equal(n, 1);
	v = f->m->tally.waits.v[0].verdict;
	assert_int_equal(timeline_thread(&f->m->timeline, 1)->waits[v.reason], 100);
	feed_done(f);
	return v;
}

#define EXPECT_WHY(want_reason, want_evidence, ...)                                                \
	do {                                                                                       \
		struct verdict v_ = why(f, (struct wait){__VA_ARGS__});                            \
                                                                                                   \
		assert_string_equal(reason_name(v_.reason), reason_name(REASON_##want_reason));    \
		assert_string_equal(evidence_name(v_.evidence),                                    \
				    evidence_name(EVIDENCE_##want_evidence));                      \
	} while (0)
#define NEW feed_init_names(f)

static void test_states(void **state)
{
	struct feed feed, *f = &feed;

	NEW;
	EXPECT_WHY(STOPPED, STATE, .state = STATE_STOPPED, .call = CALL(0, FILE_PIPE));
	NEW;
	EXPECT_WHY(TRACED, STATE, .state = STATE_TRACED | STATE_STOPPED);
	NEW;
	EXPECT_WHY(FROZEN, STATE, .state = STATE_FROZEN);
	NEW;
	EXPECT_WHY(PARKED, STATE, .state = STATE_PARKED);
	NEW;
	EXPECT_WHY(KERNEL_LOCK, STATE, .state = STATE_RTLOCK);
	NEW;
	EXPECT_WHY(DISK, STATE, .state = D | STATE_IOWAIT);
	NEW;
	EXPECT_WHY(UNKNOWN, NONE, .state = D);
	NEW;
	EXPECT_WHY(UNKNOWN, NONE, .state = S);
}

static void test_calls(void **state)
{
	struct feed feed, *f = &feed;

	NEW;
	EXPECT_WHY(PIPE, FILE, .state = S, .call = CALL(0, FILE_PIPE));
	NEW;
	EXPECT_WHY(NETWORK, FILE, .state = S, .call = CALL(0, FILE_SOCKET));
	NEW;
	EXPECT_WHY(DISK, FILE, .state = D, .call = CALL(17, FILE_REGULAR));
	NEW; /* nothing that a disk does can be interrupted */
	EXPECT_WHY(UNKNOWN, NONE, .state = S, .call = CALL(17, FILE_REGULAR));
	NEW;
	EXPECT_WHY(TERMINAL, FILE, .state = S, .call = CALL(0, FILE_CHAR));
	NEW;
	EXPECT_WHY(DISK, CALL, .state = D, .call = CALL(75, FILE_REGULAR)); /* fdatasync */
	NEW;
	EXPECT_WHY(SLEEP, CALL, .state = S, .call = CALL(230, 0));
	NEW;
	EXPECT_WHY(CHILD, CALL, .state = S, .call = CALL(61, 0));
	NEW;
	EXPECT_WHY(FILE_LOCK, CALL, .state = S, .call = CALL(73, FILE_REGULAR));
	NEW;
	EXPECT_WHY(FUTEX, CALL, .state = S, .call = CALL(202, 0));
	NEW; /* the other table has other numbers */
	EXPECT_WHY(UNKNOWN, NONE, .state = S, .call = CALL(61, 0) | CALL_COMPAT);
	NEW; /* number 0 is a call, no number is none */
	EXPECT_WHY(UNKNOWN, NONE, .state = S, .call = FILE_PIPE << CALL_FILE_SHIFT);
	NEW;
	EXPECT_WHY(PAGE_FAULT, CALL, .state = D, .call = CALL_FAULT);
	NEW;
	EXPECT_WHY(PAGE_FAULT, CALL, .state = D | STATE_IOWAIT, .call = CALL_FAULT);
}

/* Numbers of another machine's calls tell nothing; its kernel's functions have their names. */
static void test_foreign_calls(void **state)
{
	struct feed feed, *f = &feed;
	uint32_t k;

	feed_init_opts(f, (struct model_opts){.machine = "x86_64"});
	EXPECT_WHY(CHILD, CALL, .state = S, .call = CALL(61, 0));
	feed_init_opts(f, (struct model_opts){.machine = "riscv64"});
	EXPECT_WHY(UNKNOWN, NONE, .state = S, .call = CALL(61, 0));
	feed_init_opts(f, (struct model_opts){.machine = "riscv64"});
	k = STACK("k:__schedule", "k:schedule", "k:pipe_read", "k:vfs_read");
	EXPECT_WHY(PIPE, KSTACK, .state = S, .kstack = k, .call = CALL(61, 0));
}

static void test_kernel_stacks(void **state)
{
	struct feed feed, *f = &feed;
	uint32_t k;

	NEW;
	k = STACK("k:__schedule", "k:schedule", "k:pipe_read", "k:vfs_read", "k:do_syscall_64");
	EXPECT_WHY(PIPE, KSTACK, .state = S, .kstack = k);
	NEW; /* suffixes of the compiler do not count */
	k = STACK("k:schedule", "k:do_select.constprop.0", "k:core_sys_select");
	EXPECT_WHY(IDLE, HABIT, .state = S, .kstack = k); /* nothing but this all the time */
	NEW;						  /* the innermost telling one decides */
	k = STACK("k:io_schedule", "k:folio_wait_bit_common", "k:filemap_read", "k:tcp_sendmsg");
	EXPECT_WHY(DISK, KSTACK, .state = D | STATE_IOWAIT, .kstack = k);
	NEW; /* somebody else has to answer, whatever the page cache does meanwhile */
	k = STACK("k:request_wait_answer", "k:__fuse_simple_request", "k:fuse_readahead",
		  "k:read_pages", "k:page_cache_ra_unbounded", "k:filemap_read", "k:vfs_read");
	EXPECT_WHY(FILE_SERVER, KSTACK, .state = S, .kstack = k, .call = CALL(0, FILE_REGULAR));
	NEW;
	k = STACK("k:rpc_wait_bit_killable", "k:__wait_on_bit", "k:__rpc_execute",
		  "k:nfs4_call_sync", "k:nfs4_proc_getattr", "k:vfs_statx");
	EXPECT_WHY(FILE_SERVER, KSTACK, .state = D, .kstack = k, .call = CALL(262, 0));
	NEW; /* the one who is to answer has nothing to do */
	k = STACK("k:schedule", "k:fuse_dev_do_read.constprop.0", "k:fuse_dev_read", "k:vfs_read");
	EXPECT_WHY(IDLE, HABIT, .state = S, .kstack = k, .call = CALL(0, FILE_CHAR));
	NEW; /* a fault inside of a call */
	k = STACK("k:io_schedule", "k:folio_wait_bit_common", "k:filemap_fault",
		  "k:handle_mm_fault", "k:exc_page_fault", "k:copy_from_user", "k:tcp_sendmsg");
	EXPECT_WHY(PAGE_FAULT, KSTACK, .state = D | STATE_IOWAIT, .kstack = k,
		   .call = CALL(1, FILE_SOCKET));
	NEW; /* which waits for a lock of the kernel */
	k = STACK("k:schedule", "k:rwsem_down_read_slowpath", "k:down_read", "k:exc_page_fault");
	EXPECT_WHY(KERNEL_LOCK, KSTACK, .state = D, .kstack = k, .call = CALL_FAULT);
	NEW; /* a completion is no reason: who waits for it is */
	k = STACK("k:schedule_timeout", "k:wait_for_completion", "k:synchronize_rcu_normal");
	EXPECT_WHY(KERNEL, KSTACK, .state = D, .kstack = k);
	NEW; /* frames of the probe itself */
	k = STACK("k:bpf_prog_6deef7357e7b4530_thaw", "k:bpf_trace_run2", "k:__traceiter_x",
		  "k:schedule", "k:do_nanosleep");
	EXPECT_WHY(SLEEP, KSTACK, .state = S, .kstack = k);
	NEW; /* the stack is better evidence than the call */
	k = STACK("k:schedule", "k:tty_read", "k:vfs_read");
	EXPECT_WHY(TERMINAL, KSTACK, .state = S, .kstack = k, .call = CALL(0, FILE_PIPE));
	NEW; /* nobody knows this one: the call is left */
	k = STACK("k:schedule", "k:something_new");
	EXPECT_WHY(PIPE, FILE, .state = S, .kstack = k, .call = CALL(0, FILE_PIPE));
}

static void test_kernel_threads(void **state)
{
	struct feed feed, *f = &feed;
	uint32_t k;

	NEW;
	EXPECT_WHY(IDLE, STATE, .state = D | STATE_NOLOAD, .flags = THREAD_KERNEL);
	NEW;
	EXPECT_WHY(IDLE, STATE, .state = S, .flags = THREAD_KERNEL);
	NEW;
	k = STACK("k:schedule", "k:worker_thread", "k:kthread", "k:ret_from_fork");
	EXPECT_WHY(IDLE, KSTACK, .state = S, .flags = THREAD_KERNEL, .kstack = k);
	NEW; /* never heard of, but it sleeps in its main loop */
	k = STACK("k:schedule", "k:new_thing_thread", "k:kthread", "k:ret_from_fork");
	EXPECT_WHY(IDLE, KSTACK, .state = S, .flags = THREAD_KERNEL, .kstack = k);
	NEW; /* a worker that waits for a disk is not idle */
	k = STACK("k:io_schedule", "k:wait_on_buffer", "k:some_work", "k:process_one_work",
		  "k:worker_thread", "k:kthread", "k:ret_from_fork");
	EXPECT_WHY(DISK, KSTACK, .state = D, .flags = THREAD_KERNEL, .kstack = k);
	NEW; /* nor one that waits for who knows what */
	k = STACK("k:schedule", "k:a", "k:some_work", "k:process_one_work", "k:worker_thread",
		  "k:kthread");
	EXPECT_WHY(UNKNOWN, NONE, .state = D, .flags = THREAD_KERNEL, .kstack = k);
}

static void test_contention_beats_all_but_states(void **state)
{
	struct feed feed, *f = &feed;
	uint32_t k;

	NEW;
	k = STACK("k:schedule", "k:folio_wait_bit", "k:exc_page_fault");
	EXPECT_WHY(KERNEL_LOCK, CONTENTION, .state = D, .klock = true, .kstack = k);
	NEW;
	EXPECT_WHY(STOPPED, STATE, .state = STATE_STOPPED, .klock = true);
}

static void test_futex_without_words(void **state)
{
	struct feed feed, *f = &feed;
	uint32_t k, u;

	NEW;
	k = STACK("k:schedule", "k:futex_wait_queue", "k:futex_wait", "k:do_futex");
	u = STACK("libc.so.6:?", "libc.so.6:pthread_cond_wait@@GLIBC_2.3.2", "app:work");
	EXPECT_WHY(CONDVAR, USTACK, .state = S, .kstack = k, .ustack = u);
	NEW;
	k = STACK("k:schedule", "k:futex_wait");
	u = STACK("app:my_own_lock", "app:work");
	EXPECT_WHY(FUTEX, KSTACK, .state = S, .kstack = k, .ustack = u);
	NEW; /* too far from the leaf to be about this wait */
	k = STACK("k:schedule", "k:futex_wait");
	u = STACK("app:a", "app:b", "app:c", "app:d", "app:e", "app:f", "app:g", "app:h",
		  "libc.so.6:pthread_mutex_lock");
	EXPECT_WHY(FUTEX, KSTACK, .state = S, .kstack = k, .ustack = u);
}

static void test_run_queue_and_throttle(void **state)
{
	struct feed feed, *f = &feed;
	const struct thread *th;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	SWITCH(10, 0, 0, 1, 0);
	SWITCH(20, 0, 1, 0, STATE_THROTTLED);
	SWITCH(50, 0, 0, 1, 0);
	SWITCH(60, 0, 1, 0, STATE_PREEMPTED);
	SWITCH(65, 0, 0, 1, 0);
	SWITCH(70, 0, 1, 0, D | STATE_IOWAIT);
	EV(100, 1, EV_WAKING, .waking = {1, 9, WAKE_HARDIRQ | WAKE_THROTTLED, 0, 0});
	SWITCH(107, 0, 0, 1, 0);
	END(110);
	feed_finish(f);
	EXPECT(1, "Q 0-10, R0 10-20, Q 20-50, R0 50-60, Q 60-65, R0 65-70, W10002 70-100, "
		  "Q 100-107, R0 107-110");
	th = timeline_thread(&f->m->timeline, 1);
	assert_int_equal(th->waits[REASON_THROTTLED], 37);
	assert_int_equal(th->waits[REASON_RUN_QUEUE], 15);
	assert_int_equal(th->waits[REASON_DISK], 30);
	feed_done(f);
}

/* Names are for saved reports: a number must never come to mean something else. */
/* Damaged captures name stacks that they do not have: no table grows by such a number. */
static void test_stacks_of_any_number(void **state)
{
	const uint32_t none = 50000000;
	struct feed feed, *f = &feed;
	struct stack_ends *ends;
	struct wait_row *row;
	size_t big;

	feed_init_names(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	SWITCH(5, 0, 0, 1, 0);
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t ustack = i == 1 ? STACK("libc.so.6:read", "app:main") : none;

		SWITCH(10 + 100 * i, 0, 1, 0, S);
		WAKING(50 + 100 * i, 1, 1, 9);
		SWITCH(52 + 100 * i, 0, 0, 1, 0);
		EV(53 + 100 * i, 0, EV_WAIT, .wait = {1, i ? 0 : none, ustack});
	}
	END(400);
	feed_finish(f);
	row = &f->m->tally.waits.v[0];
	assert_true(row->kstack == none && row->ustack == none);
	ends = &f->m->ends;
	assert_int_equal(ends->by_stop[STACK_OF_WAIT][UNWIND_STOP_END], 1);
	assert_int_equal(ends->by_stop[STACK_OF_WAIT][0], 2);
	big = f->m->used.n + f->m->classify.ustacks.n + f->m->classify.kstacks.n;
	assert_in_range(big, 1, 1000);
	feed_done(f);
}

static void test_numbers(void **state)
{
	static const struct {
		unsigned id;
		const char *name;
	} law[] = {{0, "unknown"},   {1, "sleep"},	  {2, "disk"},	 {4, "stopped"},
		   {5, "traced"},    {6, "idle"},	  {7, "parked"}, {8, "dead"},
		   {9, "frozen"},    {10, "kernel_lock"}, {11, "mutex"}, {14, "condvar"},
		   {17, "futex"},    {18, "page_fault"},  {20, "poll"},	 {27, "run_queue"},
		   {28, "throttled"}};

	for (size_t i = 0; i < ARRAY_LEN(law); i++)
		assert_string_equal(reason_name(law[i].id), law[i].name);
	assert_string_equal(reason_name(3), "unknown");
	assert_string_equal(reason_name(9999), "unknown");
	for (unsigned r = 0; r < REASONS; r++)
		assert_true(strlen(reason_label(r)) <= 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_foreign_calls),
		cmocka_unit_test(test_kernel_stacks),
		cmocka_unit_test(test_kernel_threads),
		cmocka_unit_test(test_contention_beats_all_but_states),
		cmocka_unit_test(test_futex_without_words),
		cmocka_unit_test(test_run_queue_and_throttle),
		cmocka_unit_test(test_stacks_of_any_number),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
