// SPDX-License-Identifier: MIT
/* The first sentence of a report, case by case. */
#include "unit/report/stage.h"

#include <stdlib.h>

#include "report/lead.h"
#include "wire/state.h"

static struct stage t;

static int begin(void **state)
{
	stage_init(&t);
	return 0;
}

static int end(void **state)
{
	stage_done(&t);
	return 0;
}

static void expect(const char *want)
{
	struct buf b = {0};

	lead_sentence(&t.s, &b);
	assert_string_equal(b.len ? buf_cstr(&b) : "", want);
	buf_done(&b);
}

/* Four workers, each of which waited 610 ms of its second behind the holder. */
static struct finding *workers(const struct thread *holder, enum lock_kind kind, const char *name)
{
	static const char *const names[] = {"worker-0", "worker-1", "worker-2", "worker-3"};
	size_t lock = stage_lock(&t, kind, name);
	struct finding *f = stage_finding(&t, "worker", 4, lock, 4 * 610 * MS);

	for (int i = 0; i < 4; i++) {
		const struct thread *th = stage_thread(&t, names[i]);

		stage_wait(&t, lock, th, holder, 610 * MS);
		vec_push(&f->victims, th);
	}
	f->holder = f->root = holder;
	f->held = holder ? 4 * 610 * MS : 0;
	return f;
}

static void did(struct finding *f, enum interval_kind kind, enum reason reason)
{
	stage_did(&f->did, kind, reason, f->held);
	f->doing = kind;
	f->reason = reason;
}

/* A reader of a kernel's rwsem leaves no trace: who is known had it for the smallest part. */
static void test_mostly_unknown(void **state)
{
	struct finding *f = workers(NULL, LOCK_RWSEM, "mmap_lock of tiles (482)");
	const struct thread *peer = f->victims.v[0];

	t.s.locks.v[f->lock].known = t.s.locks.v[f->lock].total / 5;
	f->holder = f->root = peer;
	f->held = 400 * MS;
	expect("4 worker threads spent 61% of their time waiting for the kernel rwsem mmap_lock of "
	       "tiles (482); who held it is not known for 80% of that.");
}

static void test_the_demo(void **state)
{
	struct finding *f = workers(stage_thread(&t, "checkpointer"), LOCK_MUTEX, "commit_lock");

	f->function = stage_function(&t, "flush_log");
	did(f, INTERVAL_WAITING, REASON_DISK);
	expect("4 worker threads spent 61% of their time waiting for commit_lock, held by "
	       "checkpointer in flush_log, which was waiting for the disk.");
	/* several things: each with its share, and nothing small */
	doings_add(&f->did, INTERVAL_RUNNING, REASON_UNKNOWN, f->held * 4 / 5);
	doings_add(&f->did, INTERVAL_RUNNABLE, REASON_RUN_QUEUE, f->held / 5);
	doings_add(&f->did, INTERVAL_WAITING, REASON_NETWORK, f->held / 100);
	doings_order(&f->did);
	expect("4 worker threads spent 61% of their time waiting for commit_lock, held by "
	       "checkpointer in flush_log, 50% of that time waiting for the disk, 40% running, 10% "
	       "waiting for "
	       "a CPU.");
}

static void test_holder_runs(void **state)
{
	struct finding *f = workers(stage_thread(&t, "gc"), LOCK_RWLOCK, "heap_lock");

	did(f, INTERVAL_RUNNING, REASON_UNKNOWN);
	expect("4 worker threads spent 61% of their time waiting for heap_lock, held by gc, which "
	       "was running.");
	did(f, INTERVAL_RUNNABLE, REASON_RUN_QUEUE);
	f->held = 2 * 610 * MS;
	f->function = stage_function(&t, "mark");
	expect("4 worker threads spent 61% of their time waiting for heap_lock, mostly held by gc "
	       "in mark, which was waiting for a CPU.");
	did(f, INTERVAL_RUNNABLE, REASON_THROTTLED);
	expect("4 worker threads spent 61% of their time waiting for heap_lock, mostly held by gc "
	       "in mark, which was held up because its cgroup had used up its CPU time.");
	did(f, INTERVAL_WAITING, REASON_SLEEP);
	expect("4 worker threads spent 61% of their time waiting for heap_lock, mostly held by gc "
	       "in mark, which was asleep on a timer.");
}

static void test_holder_unknown(void **state)
{
	(void)workers(NULL, LOCK_FUTEX, "heap 0x55d0c0de");
	expect("4 worker threads spent 61% of their time waiting for the futex heap 0x55d0c0de; "
	       "who held it is not known.");
}

static void test_kernel_lock(void **state)
{
	struct finding *f = workers(NULL, LOCK_RWSEM, "mmap_lock of postgres (412)");

	expect("4 worker threads spent 61% of their time waiting for the kernel rwsem mmap_lock of "
	       "postgres (412); who held it is not known.");
	t.s.locks.v[f->lock].kind = LOCK_KMUTEX;
	t.s.locks.v[f->lock].name = "kernel mutex in pipe_write";
	expect("4 worker threads spent 61% of their time waiting for a kernel mutex in pipe_write; "
	       "who held it is not known.");
}

static void test_a_chain(void **state)
{
	const struct thread *b = stage_thread(&t, "flusher"), *c = stage_thread(&t, "archiver");
	struct finding *f = workers(b, LOCK_MUTEX, "commit_lock");
	size_t log = stage_lock(&t, LOCK_MUTEX, "log_lock");
	struct blame_sum *r = stage_blame(&t, c, t.s.locks.v[f->lock].waiters.v[0].thread, f->lock,
					  log, 610 * MS);

	f->function = stage_function(&t, "flush_log");
	f->root = c;
	did(f, INTERVAL_WAITING, REASON_NETWORK);
	r->function = stage_function(&t, "send_log");
	expect("4 worker threads spent 61% of their time waiting for commit_lock, held by flusher "
	       "in flush_log, which stood behind log_lock, held by archiver in send_log, which was "
	       "waiting for the network.");
}

/* A lock that its users hold in turn has no culprit. */
static void test_each_other(void **state)
{
	struct finding *f = workers(NULL, LOCK_MUTEX, "table_lock");

	t.s.locks.v[f->lock].known = t.s.locks.v[f->lock].total;
	f->holder = f->root = f->victims.v[2];
	f->held = 700 * MS;
	f->function = stage_function(&t, "update_table");
	did(f, INTERVAL_RUNNING, REASON_UNKNOWN);
	expect("4 worker threads spent 61% of their time waiting for each other at table_lock, "
	       "longest held in update_table while running.");
}

static void test_one_thread(void **state)
{
	const struct thread *ui = stage_thread(&t, "ui"), *io = stage_thread(&t, "io-3");
	size_t lock = stage_lock(&t, LOCK_MUTEX, "model.lock");
	struct finding *f = stage_finding(&t, "ui", 1, lock, 35 * MS);

	stage_wait(&t, lock, ui, io, 35 * MS);
	vec_push(&f->victims, ui);
	f->holder = f->root = io;
	f->held = 35 * MS;
	expect("ui spent 3.5% of its time waiting for model.lock, held by io-3.");
}

/* Threads whose names have nothing in common: the one that lost most is named. */
static void test_no_common_name(void **state)
{
	const struct thread *io = stage_thread(&t, "io");
	size_t lock = stage_lock(&t, LOCK_MUTEX, "big_lock");
	struct finding *f = stage_finding(&t, "alice", 1, lock, 400 * MS);

	vec_push(&f->victims, stage_thread(&t, "alice"));
	stage_wait(&t, lock, f->victims.v[0], io, 400 * MS);
	stage_wait(&t, lock, stage_thread(&t, "bob"), io, 300 * MS);
	stage_wait(&t, lock, stage_thread(&t, "carol"), io, 200 * MS);
	f->holder = f->root = io;
	f->held = 900 * MS;
	expect("alice spent 40% of its time waiting for big_lock, held by io. 2 others waited for "
	       "it too.");
}

static struct stuck_wait *stuck(const struct thread *th, size_t lock, const struct thread *for_)
{
	struct stuck_wait *w = vec_add(&t.s.stuck.waits);

	*w = (struct stuck_wait){
		.thread = th, .before = true, .reason = REASON_MUTEX, .lock = lock, .for_ = for_};
	return w;
}

static void recording_ends(uint64_t ts)
{
	t.s.model->timeline.end = ts;
	for (size_t i = 0; i < t.s.stuck.waits.n; i++)
		t.s.stuck.waits.v[i].end = ts;
}

static void test_deadlock(void **state)
{
	const struct thread *a = stage_thread(&t, "transfer-1"),
			    *b = stage_thread(&t, "transfer-2");
	size_t x = stage_lock(&t, LOCK_MUTEX, "from.lock");
	size_t y = stage_lock(&t, LOCK_MUTEX, "to.lock");
	const struct thread *c = stage_thread(&t, "audit");

	stuck(a, x, b)->circle = 1;
	stuck(b, y, a)->circle = 1;
	t.s.stuck.circles = 1;
	expect("transfer-1 and transfer-2 are deadlocked: transfer-1 waits for from.lock, held by "
	       "transfer-2; transfer-2 waits for to.lock, held by transfer-1, since before the "
	       "recording began.");
	/* audit only stands behind the two */
	stuck(c, x, b)->behind = 1;
	t.s.stuck.waits.v[1].before = false;
	t.s.stuck.waits.v[1].start = 0;
	recording_ends(1500 * MS);
	t.s.stuck.circles = 3;
	expect("transfer-1 and transfer-2 are deadlocked: transfer-1 waits for from.lock, held by "
	       "transfer-2; transfer-2 waits for to.lock, held by transfer-1, for the last 1.50s "
	       "of the recording. "
	       "1 "
	       "more thread stands behind them. There are 2 more deadlocks.");
	/* Their process ended first. */
	t.s.stuck.circles = 1;
	t.s.stuck.waits.v[0].with_life = t.s.stuck.waits.v[1].with_life = true;
	t.s.stuck.waits.v[0].end = 1000 * MS;
	expect("transfer-1 and transfer-2 are deadlocked: transfer-1 waits for from.lock, held by "
	       "transfer-2; transfer-2 waits for to.lock, held by transfer-1, for 1.00s, until the "
	       "process ended. 1 more thread stands behind them.");
}

static void test_standstill(void **state)
{
	const struct thread *a = stage_thread(&t, "auditor"), *b = stage_thread(&t, "restock");
	const struct thread *c = stage_thread(&t, "kiosk");
	size_t x = stage_lock(&t, LOCK_RWLOCK, "catalog"), y = stage_lock(&t, LOCK_MUTEX, "dock");
	struct stuck_wait *w = stuck(c, x, NULL);

	w->root = c;
	w->of = 1;
	w->reason = REASON_RWLOCK;
	w = stuck(a, x, NULL);
	w->root = a;
	w->of = 1;
	w->reason = REASON_RWLOCK;
	stuck(b, y, a)->root = a;
	expect("auditor is stuck: it waits for catalog, and who holds that is not known, since "
	       "before the recording began. 2 more threads are stuck behind it. If one of them has "
	       "catalog for reading, that is a deadlock.");
	/* Nobody stands behind the two that wait for the lock. */
	t.s.stuck.waits.n = 2;
	assert_false(lead_standstill(&t.s, NULL, &x));
}

/* A hundred thousand that wait for one lock are looked at once each, not once for each other. */
static void test_standstill_of_many(void **state)
{
	enum { N = 100000 };
	size_t x = stage_lock(&t, LOCK_RWLOCK, "catalog"), y = stage_lock(&t, LOCK_MUTEX, "dock");
	struct thread *all = calloc(N, sizeof(*all));
	const struct thread *last = &all[N - 1];
	struct stuck_wait *w;

	assert_non_null(all);
	for (uint32_t i = 0; i < N; i++) {
		all[i] = (struct thread){.index = 1000 + i, .name = (char *)"kiosk"};
		w = stuck(&all[i], x, NULL);
		w->root = &all[i];
		w->of = 1;
		w->reason = REASON_RWLOCK;
	}
	stuck(stage_thread(&t, "restock"), y, last)->root = last;
	expect("kiosk is stuck: it waits for catalog, and who holds that is not known, since "
	       "before the recording began. 100000 more threads are stuck behind it. If one of "
	       "them has catalog for reading, that is a deadlock.");
	free(all);
}

static void test_not_known_to_be_idle(void **state)
{
	const struct thread *a = stage_thread(&t, "consumer"), *b = stage_thread(&t, "producer");
	size_t x = stage_lock(&t, LOCK_CONDVAR, "ready");
	struct stuck_wait *w;

	w = stuck(b, SIZE_MAX, a);
	w->reason = REASON_JOIN;
	w->for_stuck = true;
	w->for_reason = REASON_CONDVAR;
	w = stuck(a, x, NULL);
	w->reason = REASON_CONDVAR;
	expect("consumer has been waiting for a condition variable (ready), since before the "
	       "recording "
	       "began, and nobody signalled it while it was recorded. 1 more thread did not go on "
	       "either. Whether it "
	       "waits "
	       "for work, thaw cannot tell.");
	/* where servers wait, and for what comes from outside */
	t.s.stuck.waits.v[0].reason = REASON_POLL;
	t.s.stuck.waits.v[1].reason = REASON_IDLE;
	expect("Nothing was held up: the threads waited 100% of the time for something to do.");
}

#define ALL_CLEAR "Nothing was held up: the threads waited 100% of the time for something to do."
#define NO_OTHER " Nothing else is known to be held up."

static void nine_pollers(void)
{
	static const char *const names[] = {"poll-0", "poll-1", "poll-2", "poll-3", "poll-4",
					    "poll-5", "poll-6", "poll-7", "poll-8"};

	for (size_t i = 0; i < 9; i++)
		stuck(stage_thread(&t, names[i]), SIZE_MAX, NULL)->reason = REASON_IDLE;
}

/* One thread that hangs, among many that have nothing to do. */
static void test_one_of_many(void **state)
{
	const struct thread *a = stage_thread(&t, "consumer"), *b = stage_thread(&t, "main");
	size_t x = stage_lock(&t, LOCK_CONDVAR, "ready");
	struct stuck_wait *w;

	nine_pollers();
	expect(ALL_CLEAR);
	stuck(b, SIZE_MAX, a);
	w = stuck(a, x, NULL);
	w[-1].reason = REASON_JOIN;
	w[-1].for_stuck = true;
	w[-1].for_reason = w->reason = REASON_CONDVAR;
	expect("consumer has been waiting for a condition variable (ready), since before the "
	       "recording began, and nobody signalled it while it was recorded. 1 more thread did "
	       "not go on either. Whether it waits for work, thaw cannot tell.");
	/* It joins one that has nothing to do. */
	w[-1].for_reason = REASON_IDLE;
	expect("consumer has been waiting for a condition variable (ready), since before the "
	       "recording began, and nobody signalled it while it was recorded. Whether it waits "
	       "for work, thaw cannot tell." NO_OTHER);
	w->reason = REASON_FUTEX;
	expect("consumer has been waiting on a futex of unknown use (ready), since before the "
	       "recording began. Whether it waits for work, thaw cannot tell." NO_OTHER);
	w->reason = REASON_MUTEX;
	expect("consumer has been waiting for a mutex (ready), since before the recording "
	       "began." NO_OTHER);
	/* A child may run for as long as it likes, unless its parent cannot even be killed. */
	w->reason = REASON_CHILD;
	expect(ALL_CLEAR);
	w->state = STATE_UNINTERRUPTIBLE;
	expect("consumer has been waiting for a child process (ready), since before the recording "
	       "began." NO_OTHER);
}

/* A wait that began a moment ago may end in a moment. */
static void test_how_long_it_lasts(void **state)
{
	struct timeline *line = &t.s.model->timeline;
	struct stuck_wait *w;

	nine_pollers();
	line->to = 10000 * MS;
	w = stuck(stage_thread(&t, "consumer"), stage_lock(&t, LOCK_CONDVAR, "ready"), NULL);
	w->reason = REASON_CONDVAR;
	w->before = false;
	recording_ends(10000 * MS);
	w->start = 9500 * MS;
	expect(ALL_CLEAR);
	w->start = 9000 * MS;
	expect("consumer has been waiting for a condition variable (ready), for the last 1.00s of "
	       "the recording, and nobody signalled it while it was recorded. Whether it waits for "
	       "work, thaw cannot tell." NO_OTHER);
	/* most of a short recording */
	line->to = 300 * MS;
	recording_ends(300 * MS);
	w->start = 100 * MS;
	expect("consumer has been waiting for a condition variable (ready), for the last 200ms of "
	       "the recording, and nobody signalled it while it was recorded. Whether it waits for "
	       "work, thaw cannot tell." NO_OTHER);
	w->start = 200 * MS;
	expect(ALL_CLEAR);
}

/* A pool that nobody woke may have nothing to do, or have lost its wake-up. */
static void test_pool_that_nobody_woke(void **state)
{
	size_t x = stage_lock(&t, LOCK_CONDVAR, "ready");
	struct stuck_wait *w;

	nine_pollers();
	for (int i = 0; i < 2; i++) {
		w = stuck(stage_thread(&t, i ? "taker-2" : "taker-1"), x, NULL);
		w->reason = REASON_IDLE;
		w->in = REASON_CONDVAR;
	}
	expect(ALL_CLEAR);
	w[-1].unwoken = w->unwoken = true;
	expect("2 taker threads have been waiting for a condition variable (ready), since before "
	       "the recording began, and nobody signalled it while it was recorded. Whether they "
	       "wait for work, thaw cannot tell." NO_OTHER);
	/* A thread whose wait is not known to be idle at all is told first. */
	w = stuck(stage_thread(&t, "closer"), stage_lock(&t, LOCK_MUTEX, "log_lock"), NULL);
	expect("closer has been waiting for a mutex (log_lock), since before the recording began. "
	       "2 more threads waited as well, as it seems for work.");
}

/* What comes from outside may be work, or the answer to a question. */
static void test_no_answer(void **state)
{
	struct stuck_wait *w;

	nine_pollers();
	w = stuck(stage_thread(&t, "client"), SIZE_MAX, NULL);
	w->reason = REASON_POLL;
	expect(ALL_CLEAR);
	w->reason = REASON_NETWORK;
	expect("client has been waiting for the network, since before the recording began. Whether "
	       "for work or for an answer, thaw cannot tell." NO_OTHER);
	w->reason = REASON_PIPE;
	expect("client has been waiting for the other end of a pipe, since before the recording "
	       "began. Whether for work or for an answer, thaw cannot tell." NO_OTHER);
}

/* The same of waits that are over: no thread waits for the network when the recording ends. */
static void test_waits_for_answers(void **state)
{
	const struct thread *th = stage_thread(&t, "client");
	struct wait_place *p = vec_add(&t.s.waits);

	*p = (struct wait_place){.reason = REASON_NETWORK,
				 .lock = SIZE_MAX,
				 .total = STAGE_WALL,
				 .threads = 1,
				 .max_thread = th};
	t.s.reasons[REASON_IDLE] = 0;
	t.s.reasons[REASON_NETWORK] = STAGE_WALL;
	expect("Nothing is known to be held up: the thread waited 100% of the time, for the "
	       "network. Whether for work or for an answer, thaw cannot tell.");
	stage_thread(&t, "poll-0");
	expect("Nothing is known to be held up: the threads waited 100% of the time, client for "
	       "the network. Whether for work or for an answer, thaw cannot tell.");
	p->threads = 3;
	expect("Nothing is known to be held up: the threads waited 100% of the time, 3 threads "
	       "such as client for the network. Whether for work or for an answer, thaw cannot "
	       "tell.");
	/* no place stands out */
	p->total = STAGE_WALL / 3;
	expect("Nothing is known to be held up: the threads waited 100% of the time.");
}

static void run_for(struct thread *th, uint64_t ns)
{
	th->total[INTERVAL_WAITING] -= ns;
	th->total[INTERVAL_RUNNING] += ns;
	t.s.total[INTERVAL_WAITING] -= ns;
	t.s.total[INTERVAL_RUNNING] += ns;
}

static void test_the_disk(void **state)
{
	struct finding *f = stage_finding(&t, "loader", 2, SIZE_MAX, 900 * MS);

	vec_push(&f->victims, stage_thread(&t, "loader-1"));
	vec_push(&f->victims, stage_thread(&t, "loader-2"));
	f->doing = INTERVAL_WAITING;
	f->reason = REASON_DISK;
	f->function = stage_function(&t, "load_page");
	expect("2 loader threads spent 45% of their time waiting for the disk in load_page.");
	f->reason = REASON_PAGE_FAULT;
	expect("2 loader threads spent 45% of their time waiting for a page of memory in "
	       "load_page.");
}

static void test_too_few_cpus(void **state)
{
	struct thread *th = stage_thread(&t, "spinner");
	struct finding *f = stage_finding(&t, "spinner", 1, SIZE_MAX, 500 * MS);

	run_for(th, 500 * MS);
	vec_push(&f->victims, th);
	f->doing = INTERVAL_RUNNABLE;
	f->reason = REASON_RUN_QUEUE;
	expect("There were too few CPUs: spinner spent 50% of its time waiting for a CPU.");
	f->reason = REASON_THROTTLED;
	expect("spinner spent 50% of its time held up because its cgroup had used up its CPU "
	       "time.");
}

static void test_a_hot_function(void **state)
{
	struct thread *th = stage_thread(&t, "hot");

	run_for(th, 900 * MS);
	t.s.samples = 100;
	vec_push(&t.s.functions, (struct function_count){stage_function(&t, "crunch"), 80, 90});
	expect("Most CPU time: 80% of the samples are in crunch (app).");
}

static void test_idle(void **state)
{
	struct thread *th = stage_thread(&t, "daemon");

	run_for(th, 10 * MS);
	expect("Nothing was held up: the thread waited 99% of the time for something to do.");
	stage_thread(&t, "pool-1");
	t.s.samples = 10;
	vec_push(&t.s.functions, (struct function_count){stage_function(&t, "tick"), 8, 9});
	expect("Nothing was held up: the threads waited more than 99% of the time for something to "
	       "do. Most "
	       "CPU time: 80% of the samples are in tick (app).");
}

static void test_waiting_unseen(void **state)
{
	struct thread *th = stage_thread(&t, "daemon");

	run_for(th, 10 * MS);
	free(t.s.model->facts.engine);
	t.s.model->facts.engine = strdup("perf");
	t.s.model->facts.unseen = UNSEEN_LOCKS;
	expect("The thread waited 99% of the time; for what, the perf engine does not see.");
}

/* Names come from files that anybody may have made. */
static void test_hostile_names(void **state)
{
	const struct thread *th = stage_thread(&t, "\033[2Jboo\n");
	size_t lock = stage_lock(&t, LOCK_MUTEX, "x\033]0;y\007");
	struct finding *f = stage_finding(&t, "\033[2Jboo\n", 1, lock, 500 * MS);

	vec_push(&f->victims, th);
	stage_wait(&t, lock, th, NULL, 500 * MS);
	expect("?[2Jboo? spent 50% of its time waiting for x?]0;y?; who held it is not known.");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_demo),
		TEST(test_holder_runs),
		TEST(test_mostly_unknown),
		TEST(test_holder_unknown),
		TEST(test_kernel_lock),
		TEST(test_a_chain),
		TEST(test_each_other),
		TEST(test_one_thread),
		TEST(test_no_common_name),
		TEST(test_deadlock),
		TEST(test_standstill),
		TEST(test_standstill_of_many),
		TEST(test_not_known_to_be_idle),
		TEST(test_one_of_many),
		TEST(test_how_long_it_lasts),
		TEST(test_pool_that_nobody_woke),
		TEST(test_no_answer),
		TEST(test_waits_for_answers),
		TEST(test_the_disk),
		TEST(test_too_few_cpus),
		TEST(test_a_hot_function),
		TEST(test_idle),
		TEST(test_waiting_unseen),
		TEST(test_hostile_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
