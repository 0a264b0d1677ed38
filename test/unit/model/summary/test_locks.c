// SPDX-License-Identifier: MIT
/* Which lock a futex is, and who holds it: never a wrong thread for certain. */
#include "unit/model/futex.h"

#define S STATE_INTERRUPTIBLE
#define ADDR 0x55d0c0de0040ull

/* Threads 1 (leader), 2 and 3 of process 1; each on the CPU of its number. */
static void begin(struct feed *f)
{
	feed_init_names(f);
	BEGIN(1);
	PEER(1, 1, "main");
	PEER(1, 2, "waiter");
	PEER(1, 3, "holder");
	SWITCH(2, 2, 0, 2, 0);
	SWITCH(2, 3, 0, 3, 0);
}

static struct summary *end(struct feed *f, uint64_t ts)
{
	END(ts);
	feed_finish(f);
	return feed_summary(f);
}

static void finish(struct feed *f, struct summary *s)
{
	summary_free(s);
	feed_done(f);
}

/* 2 waits from 100 to 200 and is let go by 3. */
static void one_wait(const char *kind, uint32_t holder, uint64_t addr, uint32_t op,
		     const uint32_t words[6], uint64_t want_addr)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f);
	SLEEP_ON(100, 2, 2, addr, op, words[0], words[1], words[2], words[3], words[4], words[5]);
	LET_GO(200, 2, 2, 3);
	s = end(f, 300);
	assert_int_equal(s->locks.n, 1);
	check_lock(lock_at(s, want_addr, 1), kind, 1, 100, holder, 100);
	finish(f, s);
}

#define WORDS(...) ((const uint32_t[6]){__VA_ARGS__})

/* The words of another machine's locks are nobody's: what they are is not known from them. */
static void test_foreign_words(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f);
	f->m->arch = NULL;
	SLEEP_ON(100, 2, 2, ADDR, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	EV(200, 3, EV_WAKING, .waking = {2, 3, WAKE_TASK, 0, 0});
	SWITCH(200, 2, 0, 2, 0);
	s = end(f, 300);
	check_lock(lock_at(s, ADDR, 1), "futex", 1, 100, 0, 0);
	finish(f, s);
}

static void test_kinds_by_words(void **state)
{
	one_wait("mutex", 3, ADDR, OP_WAIT, WORDS(MUTEX_WORDS(3, 1, 0)), ADDR);
	one_wait("mutex", 3, ADDR, OP_WAIT, WORDS(MUTEX_WORDS(3, 1, 1)), ADDR);	  /* recursive */
	one_wait("mutex", 3, ADDR, OP_BITSET, WORDS(MUTEX_WORDS(3, 1, 3)), ADDR); /* timed */
	one_wait("pi_mutex", 3, ADDR, OP_LOCK_PI, WORDS(0, 3 | 0x80000000u, 0, 3, 1, 0x20), ADDR);
	one_wait("robust_mutex", 3, ADDR, OP_WAIT,
		 WORDS(3 | 0x80000000u, 3 | 0x80000000u, 0, 3, 1, 0x10), ADDR);
	/* between two owners: it still is the lock that it was */
	one_wait("robust_mutex", 3, ADDR, OP_WAIT,
		 WORDS(3 | 0x80000000u, 0x80000000u, 0, 0, 0, 0x10), ADDR);
	/* musl: the owner in the word itself, and other things after it */
	one_wait("mutex", 3, ADDR + 4, OP_WAIT,
		 WORDS(3 | 0x80000000u, 3 | 0x80000000u, 1, 0, 0, 77777), ADDR + 4);
	/* a reader on wrphase, a writer on writers_futex: 3 is the writer that has it */
	one_wait("rwlock", 3, ADDR + 8, OP_BITSET, WORDS(3, 3, 1, 0, 0, 3), ADDR);
	one_wait("rwlock", 3, ADDR + 12, OP_BITSET, WORDS(3, 3, 0, 0, 3, 0), ADDR);
	one_wait("join", 0, 0x7f0000001234, OP_BITSET_SHARED, WORDS(3, 3, 0, 0, 0, 0),
		 0x7f0000001234);
	one_wait("semaphore", 0, ADDR, OP_BITSET, WORDS(0, 0, 1, 0, 0, 0), ADDR);
	one_wait("condvar", 0, ADDR + 40, OP_BITSET, WORDS(0, 0, 0, 0, 0, 0), ADDR);
	one_wait("condvar", 0, ADDR + 44, OP_BITSET, WORDS(0, 0, 9, 9, 9, 9), ADDR);
	one_wait("futex", 0, ADDR, OP_WAIT, WORDS(17, 17, 3, 3, 3, 3), ADDR);
}

/* What might be an owner, and is none that can be asserted. */
static void test_garbage_owners(void **state)
{
	one_wait("futex", 0, ADDR, OP_WAIT, WORDS(MUTEX_WORDS(4711, 1, 0)), ADDR); /* nobody */
	one_wait("futex", 0, ADDR, OP_WAIT, WORDS(MUTEX_WORDS(3, 0, 0)), ADDR);	   /* no users */
	one_wait("futex", 0, ADDR, OP_WAIT, WORDS(MUTEX_WORDS(3, 1u << 30, 0)), ADDR);
	one_wait("futex", 0, ADDR, OP_WAIT, WORDS(MUTEX_WORDS(3, 1, 0xdead0000)), ADDR);
	one_wait("futex", 0, ADDR, OP_WAIT, WORDS(MUTEX_WORDS(2, 1, 0)), ADDR); /* itself */
	one_wait("futex", 0, ADDR, OP_WAIT, WORDS(MUTEX_WORDS(0xffffffff, 1, 0)), ADDR);
	one_wait("futex", 0, ADDR, OP_WAIT | FUTEX_OP_UNREAD, WORDS(MUTEX_WORDS(3, 1, 0)), ADDR);
	one_wait("futex", 0, ADDR + 8, OP_BITSET, WORDS(3, 3, 9, 0, 0, 3), ADDR + 8);
	one_wait("futex", 0, ADDR + 8, OP_BITSET, WORDS(3, 3, 1, 0, 0, 4711), ADDR + 8);
	one_wait("futex", 0, ADDR, OP_BITSET_SHARED, WORDS(4711, 4711, 0, 0, 0, 0), ADDR);
}

/* A PI mutex always is one; but its owner may be none of ours. */
static void test_pi_owner_unknown(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f);
	SLEEP_ON(100, 2, 2, ADDR, OP_LOCK_PI, 0, 4711 | 0x80000000u, 0, 4711, 1, 0x20);
	WAKING(200, 3, 2, 3); /* in no call on this futex */
	SWITCH(200, 2, 0, 2, 0);
	s = end(f, 300);
	check_lock(lock_at(s, ADDR, 1), "pi_mutex", 1, 100, 0, 0);
	assert_int_equal(s->blame.unknown, 100);
	assert_int_equal(s->blame.charged, 0);
	finish(f, s);
}

static void test_other_process(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f);
	EV(3, 0, EV_THREAD, .thread = {50, 50, 0, 0, "other", 0});
	SLEEP_ON(100, 2, 2, ADDR, OP_WAIT, MUTEX_WORDS(50, 1, 0));
	WAKING(200, 3, 2, 3);
	SWITCH(200, 2, 0, 2, 0);
	/* and the same in memory that processes share */
	SLEEP_ON(210, 2, 2, ADDR + 64, OP_WAIT_SHARED, MUTEX_WORDS(50, 1, 0x80));
	WAKING(220, 3, 2, 3);
	SWITCH(220, 2, 0, 2, 0);
	s = end(f, 300);
	check_lock(lock_at(s, ADDR, 1), "futex", 1, 100, 0, 0);
	check_lock(lock_at(s, ADDR + 64, 1), "mutex", 1, 10, 50, 10);
	finish(f, s);
}

/* The words hold numbers of the process's own pid namespace. */
static void test_namespace(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	feed_init_names(f);
	BEGIN(1);
	EV(1, 0, EV_THREAD, .thread = {1002, 1001, 0, 0, "waiter", 12});
	EV(1, 0, EV_THREAD, .thread = {1003, 1001, 0, 0, "holder", 13});
	EV(1, 0, EV_THREAD, .thread = {13, 1001, 0, 0, "decoy", 99});
	EV(1, 0, EV_THREAD, .thread = {2013, 2001, 0, 0, "elsewhere", 13});
	SWITCH(2, 2, 0, 1002, 0);
	SLEEP_ON(100, 2, 1002, ADDR, OP_WAIT, MUTEX_WORDS(13, 1, 0));
	LET_GO(200, 2, 1002, 1003);
	s = end(f, 300);
	check_lock(lock_at(s, ADDR, 1), "mutex", 1, 100, 1003, 100);
	finish(f, s);
}

/* The tid of the owner belongs to another thread by now: the first one has ended. */
static void test_tid_reused(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f);
	SLEEP_ON(100, 2, 2, ADDR, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	EV(110, 3, EV_EXIT, .exit = {3, 0}); /* it ends with the mutex locked */
	SWITCH(120, 3, 3, 0, STATE_GONE);
	EV(130, 3, EV_FORK, .fork = {3, 77, 1, "stranger", 0});
	WAKING(200, 1, 2, 1);
	SWITCH(200, 2, 0, 2, 0);
	SLEEP_ON(300, 2, 2, ADDR, OP_WAIT, MUTEX_WORDS(3, 1, 0)); /* 3 is now somebody else */
	WAKING(400, 1, 2, 1);
	SWITCH(400, 2, 0, 2, 0);
	s = end(f, 500);
	assert_int_equal(s->locks.n, 1);
	assert_int_equal(s->locks.v[0].count, 2);
	for (size_t i = 0; i < s->locks.v[0].holders.n; i++) {
		const struct thread *th = s->locks.v[0].holders.v[i].thread;

		assert_true(!th || (th->pid == 1 && th->tid == 3));
	}
	finish(f, s);
}

/* Freed and used for something else: other kinds are other locks, each with its own sums. */
static void test_address_reused(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f);
	SLEEP_ON(100, 2, 2, ADDR, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	LET_GO(200, 2, 2, 3);
	SLEEP_ON(300, 2, 2, ADDR, OP_BITSET, 0, 0, 1, 0, 0, 0); /* a semaphore */
	LET_GO(310, 2, 2, 3);
	SLEEP_ON(400, 2, 2, ADDR, OP_WAIT, MUTEX_WORDS(0, 0, 0)); /* between two owners: fits */
	LET_GO(401, 2, 2, 3);
	SLEEP_ON(500, 2, 2, ADDR, OP_LOCK_PI, 0, 3 | 0x80000000u, 0, 3, 1, 0x20);
	LET_GO(600, 2, 2, 3);
	s = end(f, 700);
	assert_int_equal(s->locks.n, 4);
	check_lock(lock_at(s, ADDR, 1), "mutex", 1, 100, 3, 100);
	check_lock(lock_at(s, ADDR, 2), "semaphore", 1, 10, 0, 0);
	check_lock(lock_at(s, ADDR, 3), "futex", 1, 1, 0, 0); /* nothing proves it */
	check_lock(lock_at(s, ADDR, 4), "pi_mutex", 1, 100, 3, 100);
	finish(f, s);
}

static void test_exec_makes_other_locks(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	feed_init_names(f);
	BEGIN(1);
	PEER(1, 1, "main");
	PEER(1, 3, "holder");
	SWITCH(2, 1, 0, 1, 0);
	SLEEP_ON(100, 1, 1, ADDR, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	LET_GO(200, 1, 1, 3);
	EV(210, 1, EV_EXEC, .exec = {1, 1, "new"});
	SLEEP_ON(300, 1, 1, ADDR, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	LET_GO(310, 1, 1, 3);
	s = end(f, 400);
	assert_int_equal(s->locks.n, 2);
	assert_int_equal(s->locks.v[0].total, 100);
	assert_int_equal(s->locks.v[1].total, 10);
	finish(f, s);
}

/* Two processes that map it at different addresses: one lock. */
static void test_shared_memory(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	feed_init_names(f);
	BEGIN(1);
	EV(1, 0, EV_THREAD, .thread = {10, 10, 0, 0, "a", 0});
	EV(1, 0, EV_THREAD, .thread = {20, 20, 0, 0, "b", 0});
	EV(1, 0, EV_THREAD, .thread = {30, 30, 0, 0, "c", 0});
	SWITCH(2, 10, 0, 10, 0);
	SWITCH(2, 20, 0, 20, 0);
	EV(3, 0, EV_PLACE, .place = {10, 0x7000040, PLACE_SHARED, 0, 0x40, 0xabcdef});
	EV(3, 0, EV_PLACE, .place = {20, 0x9000040, PLACE_SHARED, 0, 0x40, 0xabcdef});
	SLEEP_ON(100, 10, 10, 0x7000040, OP_WAIT_SHARED, MUTEX_WORDS(30, 1, 0x80));
	SLEEP_ON(150, 20, 20, 0x9000040, OP_WAIT_SHARED, MUTEX_WORDS(30, 1, 0x80));
	LET_GO(200, 10, 10, 30);
	LET_GO(300, 20, 20, 10);
	s = end(f, 400);
	assert_int_equal(s->locks.n, 1);
	assert_true(s->locks.v[0].shared);
	assert_int_equal(s->locks.v[0].count, 2);
	assert_int_equal(s->locks.v[0].total, 250);
	assert_int_equal(s->locks.v[0].waiters.n, 2);
	assert_string_equal(s->locks.v[0].name, "shared memory+0x40");
	finish(f, s);
}

/* libc's function decides where the words do not; but not for the mutex inside of cond_wait. */
static void test_user_stacks(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;
	uint32_t cond, sem, timed, barrier, arena, own;

	begin(f);
	cond = STACK("libc.so.6:?x", "libc.so.6:pthread_cond_wait", "app:work");
	sem = STACK("libc.so.6:?y", "libc.so.6:sem_timedwait", "app:work");
	timed = STACK("libc.so.6:pthread_rwlock_timedwrlock", "app:work");
	barrier = STACK("libc.so.6:pthread_barrier_wait", "app:work");
	arena = STACK("libc.so.6:?z", "libc.so.6:malloc", "app:work");
	own = STACK("app:my_lock", "app:work");
	/* a mutex whose owner was never there when looked at */
	SLEEP_ON(100, 2, 2, 0x1000, OP_WAIT, MUTEX_WORDS(0, 0, 0));
	LET_GO(110, 2, 2, 3);
	STACKS(111, 2, 2, 0, cond);
	SLEEP_ON(200, 2, 2, 0x2000, OP_BITSET, 0, 0, 5, 5, 5, 5);
	LET_GO(210, 2, 2, 3);
	STACKS(211, 2, 2, 0, sem);
	SLEEP_ON(300, 2, 2, 0x3008, OP_BITSET, 2, 2, 1, 0, 0, 0); /* readers have it */
	LET_GO(310, 2, 2, 3);
	STACKS(311, 2, 2, 0, timed);
	SLEEP_ON(320, 2, 2, 0x300c, OP_BITSET, 3, 3, 0, 0, 0, 0);
	LET_GO(330, 2, 2, 3);
	STACKS(331, 2, 2, 0, timed);
	SLEEP_ON(400, 2, 2, 0x4004, OP_WAIT, 2, 2, 2, 0, 0, 0); /* the second round of two */
	LET_GO(410, 2, 2, 3);
	STACKS(411, 2, 2, 0, barrier);
	SLEEP_ON(500, 2, 2, 0x5000, OP_WAIT, 2, 2, 0, 1, 0, 0x7f001234);
	LET_GO(510, 2, 2, 3);
	STACKS(511, 2, 2, 0, arena);
	SLEEP_ON(600, 2, 2, 0x6000, OP_WAIT, 2, 2, 0, 1, 0, 0x7f001234);
	LET_GO(610, 2, 2, 3);
	STACKS(611, 2, 2, 0, own);
	s = end(f, 700);
	check_lock(lock_at(s, 0x1000, 1), "mutex", 1, 10, 3, 10); /* it was let go by 3 */
	check_lock(lock_at(s, 0x2000, 1), "semaphore", 1, 10, 0, 0);
	check_lock(lock_at(s, 0x3000, 1), "rwlock", 2, 20, 3, 20); /* one lock, two words */
	check_lock(lock_at(s, 0x4004, 1), "barrier", 1, 10, 0, 0);
	check_lock(lock_at(s, 0x5000, 1), "mutex", 1, 10, 3, 10);
	check_lock(lock_at(s, 0x6000, 1), "futex", 1, 10, 0, 0);
	assert_true(lock_at(s, 0x6000, 1)->contended); /* but used as a mutex is */
	assert_false(lock_at(s, 0x2000, 1)->contended);
	assert_int_equal(s->contended, 4);
	finish(f, s);
}

static void test_names(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;
	uint32_t app, named;

	begin(f);
	app = fake_module("server:");
	STACK("server:pad", "server:pad", "server:pad"); /* offsets up to here are theirs */
	named = fake.names_n;
	STACK("server:commit_lock", "server:table_lock+0x8", "server:server_state+0x4c");
	EV(3, 0, EV_PLACE, .place = {1, 0x1040, PLACE_MODULE, app, 0x40, 0});
	EV(3, 0, EV_PLACE, .place = {1, 0x2048, PLACE_HEAP, 0, 0x48, 0});
	SLEEP_ON(100, 2, 2, 0x1040, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	LET_GO(110, 2, 2, 3);
	SLEEP_ON(200, 2, 2, 0x2048, OP_BITSET, 3, 3, 1, 0, 0, 3); /* wrphase of a lock at 0x2040 */
	LET_GO(210, 2, 2, 3);
	SLEEP_ON(300, 2, 2, 0x7f000010, OP_BITSET_SHARED, 3, 3, 0, 0, 0, 0);
	LET_GO(310, 2, 2, 3);
	/* data that has a name: the lock itself, and a word inside of it */
	EV(4, 0, EV_PLACE, .place = {1, 0x4000, PLACE_MODULE, app, named, 0});
	EV(4, 0, EV_PLACE, .place = {1, 0x5008, PLACE_MODULE, app, named + 1, 0});
	EV(4, 0, EV_PLACE, .place = {1, 0x600c, PLACE_MODULE, app, named + 2, 0});
	SLEEP_ON(320, 2, 2, 0x4000, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	LET_GO(321, 2, 2, 3);
	SLEEP_ON(330, 2, 2, 0x5008, OP_BITSET, 3, 3, 1, 0, 0, 3);
	LET_GO(331, 2, 2, 3);
	SLEEP_ON(340, 2, 2, 0x600c, OP_BITSET, 3, 3, 0, 0, 3, 0);
	LET_GO(341, 2, 2, 3);
	s = end(f, 400);
	assert_string_equal(lock_at(s, 0x4000, 1)->name, "commit_lock");
	assert_true(lock_at(s, 0x4000, 1)->named);
	assert_string_equal(lock_at(s, 0x5000, 1)->name, "table_lock");
	assert_string_equal(lock_at(s, 0x6000, 1)->name, "server_state+0x40");
	assert_false(lock_at(s, 0x1040, 1)->named);
	assert_string_equal(lock_at(s, 0x1040, 1)->name, "server+0x40");
	assert_string_equal(lock_at(s, 0x2040, 1)->name, "heap 0x2040");
	assert_string_equal(lock_at(s, 0x7f000010, 1)->name, "end of holder (3)");
	finish(f, s);
}

/* A thread that is woken and finds the lock taken again has waited twice. */
static void test_beaten(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f);
	SLEEP_ON(100, 2, 2, ADDR, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	LET_GO(200, 2, 2, 3);
	SLEEP_ON(210, 2, 2, ADDR, OP_WAIT, MUTEX_WORDS(1, 1, 0));
	LET_GO(250, 2, 2, 1);
	s = end(f, 300);
	assert_int_equal(s->locks.n, 1);
	assert_int_equal(s->locks.v[0].count, 2);
	assert_int_equal(s->locks.v[0].total, 140);
	assert_int_equal(s->locks.v[0].known, 140);
	assert_int_equal(s->locks.v[0].holders.v[0].thread->tid, 3);
	assert_int_equal(s->locks.v[0].holders.v[0].blamed, 100);
	assert_int_equal(s->locks.v[0].holders.v[1].thread->tid, 1);
	assert_int_equal(s->locks.v[0].holders.v[1].blamed, 40);
	finish(f, s);
}

/* The waking is recorded before the switch that it overtakes: a wait of no length, but a wait. */
static void test_waked_at_once(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f);
	EV(99, 3, EV_WAKING, .waking = {2, 3, WAKE_TASK | WAKE_RELEASE, 0, 0});
	SLEEP_ON(100, 2, 2, ADDR, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	SWITCH(120, 2, 0, 2, 0);
	s = end(f, 300);
	EXPECT(2, "Q 1-2, R2 2-100, Q 100-120, R2 120-300");
	check_lock(&s->locks.v[0], "mutex", 1, 0, 0, 0);
	finish(f, s);
}

/* An announcement whose switch is lost says nothing about the next wait. */
static void test_stale_announcement(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f);
	EV(50, 2, EV_FUTEX, .futex = {2, ADDR, OP_WAIT, MUTEX_WORDS(3, 1, 0)});
	SWITCH(60, 2, 0, 2, 0); /* it came in once more: it must have been out */
	EV(100, 2, EV_SWITCH, .switch_ = {2, 0, S, 230 + 1});
	WAKING(200, 3, 2, 3);
	s = end(f, 300);
	assert_int_equal(s->locks.n, 0);
	assert_int_equal(timeline_thread(&f->m->timeline, 2)->waits[REASON_SLEEP], 100);
	finish(f, s);
}

static void test_open_and_lost(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f);
	model_add_loss_span(f->m, 5, 120, 130); /* too late to be believed: spans come first */
	feed_done(f);
	feed_init_names(f);
	model_add_loss_span(f->m, 5, 120, 130);
	BEGIN(1);
	PEER(1, 1, "main");
	PEER(1, 2, "waiter");
	PEER(1, 3, "holder");
	SWITCH(2, 2, 0, 2, 0);
	SWITCH(2, 3, 0, 3, 0);
	SLEEP_ON(100, 2, 2, ADDR, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	s = end(f, 300);
	assert_int_equal(s->locks.v[0].count, 1);
	assert_int_equal(s->locks.v[0].open, 1);
	assert_int_equal(s->locks.v[0].total, 190);
	check_lock(&s->locks.v[0], "mutex", 1, 190, 3, 190);
	finish(f, s);
}

static void test_kernel_locks(void **state)
{
	struct feed feed, *f = &feed;
	const struct lock_sum *l;
	struct summary *s;
	uint32_t k;

	begin(f);
	k = STACK("k:__traceiter_contention_begin", "k:__mutex_lock.constprop.0", "k:pipe_write",
		  "k:vfs_write");
	/* asleep from 100 to 200; wanted since 80, spinning first, got it at 210 */
	EV(100, 2, EV_KLOCK, .klock = {2, 0xffff0010, KLOCK_MUTEX, 3, KLOCK_ANY, 0});
	EV(100, 2, EV_SWITCH, .switch_ = {2, 0, STATE_UNINTERRUPTIBLE, 2});
	WAKING(200, 3, 2, 3);
	SWITCH(205, 2, 0, 2, 0);
	EV(210, 2, EV_KLOCKED,
	   .klocked = {2, 0xffff0010, KLOCK_MUTEX | KLOCK_SPIN, 3, KLOCK_ANY, 0, 130, 0, k});
	EV(220, 3, EV_KLOCKED,
	   .klocked = {3, 0xffff0020, KLOCK_SPIN, 0, KLOCK_RUNQUEUE, 5, 7, 0, 0});
	EV(221, 3, EV_KLOCKED,
	   .klocked = {3, 0xffff0030, KLOCK_READ, 0, KLOCK_MMAP_LOCK, 1, 9, 1, 0});
	/* an interrupt that met 3 there */
	EV(220, 3, EV_KLOCKED,
	   .klocked = {3, 0xffff0020, KLOCK_SPIN | KLOCK_IN_INTERRUPT, 0, KLOCK_RUNQUEUE, 5, 40, 0,
		       0});
	/* the same address as another thing: another lock */
	EV(222, 3, EV_KLOCKED,
	   .klocked = {3, 0xffff0030, KLOCK_WRITE, 0, KLOCK_INODE, 42, 11, 0, 0});
	/* three times, added up, and once */
	EV(230, 3, EV_KLOCKED,
	   .klocked = {3, 0xffff0050, KLOCK_MUTEX, 0, KLOCK_ANY, 0, 60, 0, 0, 2});
	EV(231, 3, EV_KLOCKED, .klocked = {3, 0xffff0050, KLOCK_MUTEX, 0, KLOCK_ANY, 0, 50, 0, 0});
	/* more than there are numbers for */
	EV(232, 3, EV_KLOCKED,
	   .klocked = {3, 0xffff0060, KLOCK_MUTEX, 0, KLOCK_ANY, 0, 60, 0, 0, UINT32_MAX});
	s = end(f, 300);
	assert_true(s->kernel_locks);
	l = lock_at(s, 0xffff0050, 1);
	assert_int_equal(l->total, 110);
	assert_int_equal(l->count, 4);
	assert_int_equal(l->max, 50);
	assert_in_range(l->p50, 19, 21);
	assert_int_equal(lock_at(s, 0xffff0060, 1)->count, UINT32_MAX);
	l = lock_at(s, 0xffff0010, 1);
	check_lock(l, "kernel_mutex", 1, 130, 3, 100);
	assert_string_equal(l->name, "kernel mutex in pipe_write");
	assert_int_equal(timeline_thread(&f->m->timeline, 2)->waits[REASON_KERNEL_LOCK], 100);
	l = lock_at(s, 0xffff0020, 1);
	check_lock(l, "spinlock", 2, 47, 0, 0);
	assert_int_equal(l->waiters.n, 1);
	assert_int_equal(l->waiters.v[0].total, 7);
	assert_null(l->max_thread);
	assert_string_equal(lock_at(s, 0xffff0020, 1)->name, "runqueue of CPU 5");
	assert_string_equal(lock_at(s, 0xffff0030, 1)->name, "mmap_lock of main (1)");
	assert_int_equal(lock_at(s, 0xffff0030, 1)->failed, 1);
	assert_string_equal(lock_at(s, 0xffff0030, 2)->name, "i_rwsem of inode 42");
	finish(f, s);
}

/* A driver's thread that sleeps on a semaphore until there is something to do, and another that has
 * to wait for its turn. */
static void test_semaphore_for_work(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;
	uint32_t k;

	begin(f);
	EV(3, 0, EV_THREAD, .thread = {9, 9, 0, THREAD_KERNEL, "UVM queue"});
	SWITCH(4, 4, 0, 9, 0);
	k = STACK("k:schedule_timeout", "k:__down_common", "k:__down_interruptible",
		  "k:down_interruptible", "k:_main_loop", "k:kthread", "k:ret_from_fork");
	/* And one that slept there before anybody looked: only its stack tells. */
	EV(5, 0, EV_THREAD, .thread = {10, 10, STATE_INTERRUPTIBLE, THREAD_KERNEL, "nv_queue"});
	EV(5, 0, EV_ASLEEP, .asleep = {10, STATE_INTERRUPTIBLE, 0, k, 0});
	EV(100, 4, EV_KLOCK, .klock = {9, 0xffff0070, 0, 0, KLOCK_ANY, 0});
	EV(100, 4, EV_SWITCH, .switch_ = {9, 0, STATE_INTERRUPTIBLE, 0});
	WAKING(200, 3, 9, 3);
	SWITCH(205, 4, 0, 9, 0);
	EV(206, 4, EV_WAIT, .wait = {9, k, 0});
	EV(207, 4, EV_KLOCKED, .klocked = {9, 0xffff0070, 0, 0, KLOCK_ANY, 0, 107, 0, 0});
	EV(210, 2, EV_KLOCK, .klock = {2, 0xffff0080, 0, 0, KLOCK_ANY, 0});
	EV(210, 2, EV_SWITCH, .switch_ = {2, 0, STATE_UNINTERRUPTIBLE, 2});
	s = end(f, 300);
	assert_int_equal(timeline_thread(&f->m->timeline, 9)->waits[REASON_IDLE], 100);
	assert_true(timeline_thread(&f->m->timeline, 10)->waits[REASON_IDLE] > 200);
	assert_int_equal(timeline_thread(&f->m->timeline, 10)->waits[REASON_KERNEL_LOCK], 0);
	assert_false(lock_at(s, 0xffff0070, 1)->contended);
	assert_int_equal(timeline_thread(&f->m->timeline, 2)->waits[REASON_KERNEL_LOCK], 90);
	assert_true(lock_at(s, 0xffff0080, 1)->contended);
	assert_int_equal(s->contended, 1);
	finish(f, s);
}

/* Wanted, and never got during the recording: its name does not depend on a stack. */
static void test_kernel_lock_without_an_end(void **state)
{
	struct feed *f = &(struct feed){0};
	struct summary *s;
	uint32_t symbol;

	begin(f);
	STACK("k:vfs_write");
	symbol = fake.names_n;
	STACK("k:cgroup_mutex");
	EV(100, 2, EV_KLOCK, .klock = {2, 0xffff0010, KLOCK_MUTEX, 3, KLOCK_GLOBAL, symbol});
	EV(100, 2, EV_SWITCH, .switch_ = {2, 0, STATE_UNINTERRUPTIBLE, 2});
	s = end(f, 300);
	assert_string_equal(lock_at(s, 0xffff0010, 1)->name, "cgroup_mutex");
	finish(f, s);
}

/* A PI mutex is an rtmutex inside of the kernel: one wait, on the program's lock. */
static void test_pi_is_one_lock(void **state)
{
	for (int first = 0; first < 2; first++) {
		struct feed feed, *f = &feed;
		struct summary *s;

		begin(f);
		for (int i = 0; i < 2; i++) {
			if (i == first)
				EV(100, 2, EV_FUTEX,
				   .futex = {2, ADDR, OP_LOCK_PI, 0, 3 | 0x80000000u, 0, 3, 1, 32});
			else
				EV(100, 2, EV_KLOCK, .klock = {2, 0xffff0040, KLOCK_RT, 3, 0, 0});
		}
		EV(100, 2, EV_SWITCH, .switch_ = {2, 0, S, 203});
		LET_GO(200, 2, 2, 3);
		s = end(f, 300);
		check_lock(lock_at(s, ADDR, 1), "pi_mutex", 1, 100, 3, 100);
		assert_int_equal(timeline_thread(&f->m->timeline, 2)->waits[REASON_MUTEX], 100);
		finish(f, s);
	}
}

static uint64_t blamed_on(const struct lock_sum *l, uint32_t tid)
{
	for (size_t i = 0; i < l->holders.n; i++)
		if (l->holders.v[i].thread && l->holders.v[i].thread->tid == tid)
			return l->holders.v[i].blamed;
	return 0;
}

#define SLEEP_ON_PI(ts, tid, owner)                                                                \
	SLEEP_ON(ts, tid, tid, ADDR, OP_LOCK_PI, 0, (owner) | 0x80000000u, 0, 0, 0, 0)

/* 4 hands the mutex to 5, which sleeps; 3 reads the word before 5 is woken: 5 did not have it yet.
 */
static void test_pi_word_before_the_waking(void **state)
{
	struct feed feed, *f = &feed;
	const struct lock_sum *l;
	struct summary *s;

	begin(f);
	for (uint32_t tid = 4; tid <= 5; tid++) {
		PEER(2, tid, "other");
		SWITCH(2, tid, 0, tid, 0);
	}
	SLEEP_ON_PI(100, 2, 3);
	SLEEP_ON_PI(110, 4, 3);
	SLEEP_ON_PI(120, 5, 3);
	LET_GO(200, 4, 4, 3);
	SLEEP_ON_PI(300, 3, 5);
	LET_GO(301, 5, 5, 4);
	LET_GO(400, 2, 2, 5);
	s = end(f, 500);
	l = lock_at(s, ADDR, 1);
	assert_string_equal(lock_kind_name(l->kind), "pi_mutex");
	assert_int_equal(blamed_on(l, 3), 100 + 90 + 80);
	assert_int_equal(blamed_on(l, 4), 101 + 101 + 1);
	assert_int_equal(blamed_on(l, 5), 99 + 99);
	finish(f, s);
}

/* No record of contention: inferred from the stacks of waits, and marked so. */
static void test_inferred(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;
	uint32_t k;

	begin(f);
	k = STACK("k:schedule", "k:rwsem_down_write_slowpath", "k:down_write", "k:do_rename");
	SWITCH(100, 2, 2, 0, STATE_UNINTERRUPTIBLE);
	WAKING(200, 3, 2, 3);
	SWITCH(200, 2, 0, 2, 0);
	STACKS(201, 2, 2, k, 0);
	f->m->facts.no_kernel_locks = true;
	s = end(f, 300);
	assert_false(s->kernel_locks);
	assert_int_equal(s->locks.n, 1);
	assert_true(s->locks.v[0].inferred);
	check_lock(&s->locks.v[0], "rwsem", 1, 100, 0, 0);
	assert_string_equal(s->locks.v[0].name, "kernel rwsem in do_rename");
	finish(f, s);
}

static void test_histogram(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;
	uint64_t at = 1000;
	unsigned n = 0;

	for (unsigned i = 0; i < HIST_BUCKETS; i++) {
		assert_int_equal(hist_bucket(hist_from(i)), i);
		if (i + 1 < HIST_BUCKETS)
			assert_int_equal(hist_bucket(hist_from(i + 1) - 1), i);
	}
	assert_int_equal(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
	begin(f);
	for (unsigned i = 1; i <= 200; i++, at += 100000) { /* 10, 20, ... 2000 */
		SLEEP_ON(at, 2, 2, ADDR, OP_WAIT, MUTEX_WORDS(3, 1, 0));
		LET_GO(at + 10 * i, 2, 2, 3);
	}
	s = end(f, at);
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		n += s->locks.v[0].histogram[i];
	assert_int_equal(n, 200);
	assert_in_range(s->locks.v[0].p50, 900, 1100);
	assert_in_range(s->locks.v[0].p99, 1900, 2000);
	assert_int_equal(s->locks.v[0].max, 2000);
	finish(f, s);
}

/* Of waits of equal length, half took up to just that: a bucket is known by its mean, too. */
static void test_equal_waits(void **state)
{
	const uint64_t ns = 4760000000;
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f);
	for (uint64_t at = 1000; at < 2 * ns; at += ns + 1000) {
		SLEEP_ON(at, 2, 2, ADDR, OP_WAIT, MUTEX_WORDS(3, 1, 0));
		LET_GO(at + ns, 2, 2, 3);
	}
	s = end(f, 2 * ns + 3000);
	assert_int_equal(s->locks.v[0].count, 2);
	assert_int_equal(s->locks.v[0].p50, ns);
	assert_int_equal(s->locks.v[0].p99, ns);
	finish(f, s);
}

static void test_hundred_thousand(void **state)
{
	enum { LOCKS = 100000 };
	struct feed feed, *f = &feed;
	struct summary *s;
	uint64_t at = 1000;

	begin(f);
	for (unsigned i = 0; i < LOCKS; i++, at += 100) {
		SLEEP_ON(at, 2, 2, ADDR + 64ull * i, OP_WAIT, MUTEX_WORDS(3, 1, 0));
		LET_GO(at + 10, 2, 2, 3);
	}
	END(at);
	model_finish(f->m);
	s = feed_summary(f);
	assert_int_equal(s->locks.n, LOCKS);
	assert_int_equal(s->contended, LOCKS);
	assert_int_equal(s->blame.charged, 10ull * LOCKS);
	finish(f, s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds_by_words),
		cmocka_unit_test(test_foreign_words),
		cmocka_unit_test(test_garbage_owners),
		cmocka_unit_test(test_pi_owner_unknown),
		cmocka_unit_test(test_other_process),
		cmocka_unit_test(test_namespace),
		cmocka_unit_test(test_tid_reused),
		cmocka_unit_test(test_address_reused),
		cmocka_unit_test(test_exec_makes_other_locks),
		cmocka_unit_test(test_shared_memory),
		cmocka_unit_test(test_user_stacks),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_beaten),
		cmocka_unit_test(test_waked_at_once),
		cmocka_unit_test(test_stale_announcement),
		cmocka_unit_test(test_open_and_lost),
		cmocka_unit_test(test_kernel_locks),
		cmocka_unit_test(test_semaphore_for_work),
		cmocka_unit_test(test_kernel_lock_without_an_end),
		cmocka_unit_test(test_pi_is_one_lock),
		cmocka_unit_test(test_pi_word_before_the_waking),
		cmocka_unit_test(test_inferred),
		cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_equal_waits),
		cmocka_unit_test(test_hundred_thousand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
