// SPDX-License-Identifier: MIT
/* Every nanosecond of waiting for a lock goes to what its holder did in that nanosecond. */
#include "unit/model/futex.h"

#define S STATE_INTERRUPTIBLE
#define D STATE_UNINTERRUPTIBLE
#define L1 0x1000ull
#define L2 0x2000ull
#define L3 0x3000ull

static void begin(struct feed *f, uint32_t threads)
{
	feed_init_names(f);
	BEGIN(1);
	for (uint32_t tid = 1; tid <= threads; tid++) {
		PEER(1, tid, tid == 1 ? "one" : "other");
		SWITCH(2, tid, 0, tid, 0); /* each on the CPU of its number */
	}
}

static struct summary *end(struct feed *f, uint64_t ts)
{
	END(ts);
	feed_finish(f);
	return feed_summary(f);
}

static void finish(struct feed *f, struct summary *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->blame.rows.n; i++)
		sum += s->blame.rows.v[i].total;
	assert_int_equal(sum, s->blame.charged);
	assert_int_equal(s->blame.charged + s->blame.unknown, s->blame.waited);
	/* Nobody gains more than all of its time. */
	for (size_t i = 0; i < f->m->timeline.threads.n; i++) {
		const struct thread *th = f->m->timeline.threads.v[i];
		uint64_t lost = 0;

		for (size_t j = 0; j < s->blame.rows.n; j++)
			for (size_t k = 0; k < s->blame.rows.v[j].victims.n; k++)
				if (s->blame.rows.v[j].victims.v[k].thread == th)
					lost += s->blame.rows.v[j].victims.v[k].total;
		assert_true(lost <= th->total[INTERVAL_WAITING]);
	}
	summary_free(s);
	feed_done(f);
}

static const struct blame_row *row(const struct summary *s, uint32_t culprit,
				   enum interval_kind doing)
{
	for (size_t i = 0; i < s->blame.rows.n; i++)
		if (s->blame.rows.v[i].culprit->tid == culprit && s->blame.rows.v[i].doing == doing)
			return &s->blame.rows.v[i];
	fail_msg("%u is not blamed", culprit);
	return NULL;
}

/* The holder runs, waits for a CPU and for the disk while it is waited for. */
static void test_what_the_holder_did(void **state)
{
	struct feed feed, *f = &feed;
	const struct blame_row *r;
	struct summary *s;
	uint32_t code, wait;

	begin(f, 2);
	code = STACK("libc.so.6:memcpy", "app:compress", "app:main");
	wait = STACK("libc.so.6:fdatasync", "app:flush_log", "app:main");
	SLEEP_ON(100, 1, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	EV(120, 2, EV_SAMPLE, .sample = {2, 0, code});
	SWITCH(130, 2, 2, 0, STATE_PREEMPTED);	/* 30 running */
	SWITCH(150, 2, 0, 2, 0);		/* 20 in the run queue */
	SWITCH(160, 2, 2, 0, D | STATE_IOWAIT); /* 10 running */
	WAKING(260, 3, 2, 9);			/* 100 for the disk */
	SWITCH(265, 2, 0, 2, 0);		/* 5 in the run queue */
	STACKS(266, 2, 2, 0, wait);
	LET_GO(300, 1, 1, 2); /* 35 running */
	s = end(f, 400);
	assert_int_equal(s->blame.charged, 200);
	r = row(s, 2, INTERVAL_WAITING);
	assert_int_equal(r->total, 100);
	assert_int_equal(r->reason, REASON_DISK);
	assert_int_equal(r->by, HELD_BY_WAIT);
	assert_string_equal(names_function(&f->m->names, r->function)->name, "flush_log");
	assert_int_equal(r->victims.n, 1);
	assert_int_equal(r->victims.v[0].thread->tid, 1);
	assert_int_equal(r->max, 100);
	r = row(s, 2, INTERVAL_RUNNING);
	assert_int_equal(r->total, 75);
	assert_int_equal(r->count, 1); /* one wait, in three pieces */
	assert_int_equal(r->by, HELD_BY_SAMPLE);
	assert_string_equal(names_function(&f->m->names, r->function)->name, "compress");
	r = row(s, 2, INTERVAL_RUNNABLE);
	assert_int_equal(r->total, 25);
	assert_int_equal(r->reason, REASON_RUN_QUEUE);
	assert_int_equal(s->locks.v[0].holders.v[0].waiting, 100);
	assert_int_equal(s->locks.v[0].holders.v[0].running, 75);
	assert_int_equal(s->locks.v[0].holders.v[0].runnable, 25);
	finish(f, s);
}

/* 1 waits for L1 of 2, 2 for L2 of 3, 3 for a pipe: the pipe pays for all of it. */
static void test_chain(void **state)
{
	struct feed feed, *f = &feed;
	const struct blame_row *r;
	struct summary *s;

	begin(f, 3);
	EV(50, 3, EV_SWITCH, .switch_ = {3, 0, S, 1 | FILE_PIPE << CALL_FILE_SHIFT});
	SLEEP_ON(100, 2, 2, L2, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	SLEEP_ON(150, 1, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	WAKING(400, 7, 3, 9);
	SWITCH(400, 3, 0, 3, 0);
	LET_GO(410, 2, 2, 3); /* 10 running */
	LET_GO(420, 1, 1, 2); /* 10 running, of the next */
	s = end(f, 500);
	r = row(s, 3, INTERVAL_WAITING);
	assert_int_equal(r->reason, REASON_PIPE);
	assert_int_equal(s->blame.rows.v[0].total, 300); /* 2's, which waits for L2 itself */
	assert_int_equal(s->blame.rows.v[0].depth, 1);
	assert_int_equal(s->blame.rows.v[1].total, 250); /* 1's, through L1 */
	assert_int_equal(s->blame.rows.v[1].depth, 2);
	assert_int_equal(s->blame.rows.v[1].culprit->tid, 3);
	assert_int_equal(s->locks.v[s->blame.rows.v[1].first].address, L1);
	assert_int_equal(s->locks.v[s->blame.rows.v[1].lock].address, L2);
	assert_int_equal(row(s, 2, INTERVAL_RUNNING)->total, 10);
	finish(f, s);
}

#define CONDITION 0x9028ull
#define CONDITION_WORDS 0, 0, 0, 0, 0, 0

static bool blames_condition(const struct summary *s)
{
	for (size_t i = 0; i < s->blame.rows.n; i++)
		if (s->blame.rows.v[i].reason == REASON_CONDVAR)
			return true;
	return false;
}

/* 2 gives L1 back while it waits for a condition, and is seen with it again when it is back. */
static void test_condition_gives_back(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 4);
	SLEEP_ON(100, 1, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	LET_GO(150, 1, 1, 2);
	SLEEP_ON(160, 2, 2, CONDITION, OP_BITSET, CONDITION_WORDS);
	SLEEP_ON(170, 3, 3, L1, OP_WAIT, MUTEX_WORDS(0, 1, 0)); /* between two owners */
	WAKING(300, 9, 2, 9);
	SWITCH(300, 2, 0, 2, 0);
	SLEEP_ON(320, 4, 4, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	LET_GO(350, 3, 3, 2);
	LET_GO(360, 4, 4, 3);
	s = end(f, 400);
	assert_false(blames_condition(s));
	assert_int_equal(row(s, 2, INTERVAL_RUNNING)->total, 50 + 50 + 30);
	assert_int_equal(s->blame.unknown, 130); /* from 170 on, until 2 is back */
	finish(f, s);
}

/* What it holds beside the condition's mutex, it keeps: that is seen while it waits. */
static void test_condition_keeps_others(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 3);
	SLEEP_ON(100, 1, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	SLEEP_ON(120, 2, 2, CONDITION, OP_BITSET, CONDITION_WORDS);
	SLEEP_ON(150, 3, 3, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	WAKING(300, 9, 2, 9);
	SWITCH(300, 2, 0, 2, 0);
	LET_GO(310, 1, 1, 2);
	LET_GO(320, 3, 3, 1);
	s = end(f, 400);
	assert_int_equal(row(s, 2, INTERVAL_WAITING)->total, 180 + 150);
	assert_int_equal(row(s, 2, INTERVAL_WAITING)->reason, REASON_CONDVAR);
	finish(f, s);
}

#define ASLEEP(ts, tid_) EV(ts, 0, EV_ASLEEP, .asleep = {tid_, S, 202 + 1, 0, 0})
#define WORDS_LATER(ts, tid, addr, op, ...)                                                        \
	EV(ts, 0, EV_FUTEX, .futex = {tid, addr, (op) | FUTEX_OP_LATER, __VA_ARGS__})

/* 1 sleeps before anybody looks. By the time its lock is read, 2 is back from a condition. */
static void test_words_read_later(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	feed_init_names(f);
	BEGIN(1);
	for (uint32_t tid = 1; tid <= 3; tid++)
		PEER(1, tid, "other");
	WORDS_LATER(1, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	ASLEEP(1, 1);
	WORDS_LATER(1, 2, CONDITION, OP_BITSET, CONDITION_WORDS);
	ASLEEP(1, 2);
	WAKING(100, 9, 2, 9);
	SWITCH(100, 2, 0, 2, 0);
	EV(150, 0, EV_FUTEX, .futex = {1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0)});
	LET_GO(200, 1, 1, 2);
	s = end(f, 300);
	assert_false(blames_condition(s));
	assert_int_equal(s->blame.charged, 100);
	finish(f, s);
}

/*
 * The words of the end are read after it: a thread that slept on, as its waiter did, had the lock
 * at the end.
 */
static void test_words_read_behind_the_end(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 3);
	SLEEP_ON(100, 3, 3, L2, OP_WAIT, MUTEX_WORDS(0, 1, 0));
	SLEEP_ON(200, 2, 2, CONDITION, OP_BITSET, CONDITION_WORDS);
	SLEEP_ON(200, 1, 1, L1, OP_WAIT, MUTEX_WORDS(0, 1, 0));
	for (uint32_t tid = 1; tid <= 2; tid++)
		ASLEEP(300, tid);
	WORDS_LATER(300, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0)); /* 2 is told to sleep on */
	WORDS_LATER(300, 2, L2, OP_WAIT, MUTEX_WORDS(3, 1, 0)); /* 3 is not */
	s = end(f, 300);
	assert_int_equal(row(s, 2, INTERVAL_WAITING)->total, 100);
	assert_int_equal(s->blame.charged, 100);
	finish(f, s);
}

/* The lock goes from 2 to 3 while 1 waits: each pays for its own part. */
static void test_ownership_moves(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 4);
	SLEEP_ON(100, 1, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	SLEEP_ON(110, 3, 3, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	LET_GO(200, 3, 3, 2);					/* 2 lets go; 3 is woken */
	SLEEP_ON(220, 4, 4, L1, OP_WAIT, MUTEX_WORDS(3, 1, 0)); /* and has it */
	LET_GO(300, 1, 1, 3);
	LET_GO(350, 4, 4, 1);
	s = end(f, 400);
	assert_int_equal(s->locks.v[0].count, 3);
	assert_int_equal(s->locks.v[0].total, 200 + 90 + 130);
	assert_int_equal(s->blame.unknown, 0);
	/* 2: 1's 100..200 and 3's 110..200; 3: 1's 200..300 and 4's 220..300; 1: 4's 300..350 */
	assert_int_equal(s->locks.v[0].holders.n, 3);
	assert_int_equal(s->locks.v[0].holders.v[0].thread->tid, 2);
	assert_int_equal(s->locks.v[0].holders.v[0].blamed, 190);
	assert_int_equal(s->locks.v[0].holders.v[1].thread->tid, 3);
	assert_int_equal(s->locks.v[0].holders.v[1].blamed, 180);
	assert_int_equal(s->locks.v[0].holders.v[2].thread->tid, 1);
	assert_int_equal(s->locks.v[0].holders.v[2].blamed, 50);
	finish(f, s);
}

/* A woken thread has nothing before it runs: meanwhile any other thread may take the lock. */
static void test_woken_and_waiting_for_a_cpu(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 4);
	SLEEP_ON(100, 1, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	SLEEP_ON(110, 3, 3, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	EV(200, 2, EV_WAKING, .waking = {3, 2, WAKE_TASK | WAKE_RELEASE, 0, 0});
	SWITCH(260, 3, 0, 3, 0);
	s = end(f, 400); /* 1 sleeps on */
	assert_int_equal(s->blame.unknown, 60);
	assert_int_equal(s->locks.v[0].holders.v[0].thread->tid, 2);
	assert_int_equal(s->locks.v[0].holders.v[0].blamed, 190);
	assert_int_equal(s->locks.v[0].holders.v[1].thread->tid, 3);
	assert_int_equal(s->locks.v[0].holders.v[1].blamed, 140);
	finish(f, s);
}

/* No thread keeps a kernel lock while it sleeps by choice; it may well keep one while it waits. */
static void test_kernel_lock_is_not_taken_along(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 2);
	EV(100, 1, EV_KLOCK, .klock = {1, L1, KLOCK_READ, 2, KLOCK_MMAP_LOCK, 1});
	EV(100, 1, EV_SWITCH, .switch_ = {1, 0, D, 9 + 1}); /* in mmap */
	EV(120, 2, EV_SWITCH, .switch_ = {2, 0, D, 9 + 1});
	WAKING(150, 2, 2, 0);
	SWITCH(150, 2, 0, 2, 0);
	EV(160, 2, EV_SWITCH, .switch_ = {2, 0, S, 230 + 1}); /* in clock_nanosleep */
	WAKING(250, 2, 2, 0);
	SWITCH(250, 2, 0, 2, 0);
	WAKING(300, 1, 1, 2);
	SWITCH(300, 1, 0, 1, 0);
	EV(300, 1, EV_KLOCKED, .klocked = {1, L1, KLOCK_READ, 0, KLOCK_MMAP_LOCK, 1, 200, 0, 0});
	s = end(f, 400);
	assert_int_equal(row(s, 2, INTERVAL_RUNNING)->total, 20 + 10);
	assert_int_equal(row(s, 2, INTERVAL_WAITING)->total, 30);
	assert_int_equal(s->blame.unknown, 300 - 160);
	finish(f, s);
}

/* Another holder, with nothing seen in between: who had it when is not known, and not made up. */
static void test_missing_hand_over(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 4);
	SLEEP_ON(100, 1, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	SLEEP_ON(200, 4, 4, L1, OP_WAIT, MUTEX_WORDS(3, 1, 0)); /* 2's release was lost */
	LET_GO(250, 1, 1, 3);
	LET_GO(260, 4, 4, 1);
	s = end(f, 300);
	assert_int_equal(s->blame.unknown, 100);
	assert_int_equal(s->blame.charged, 50 + 50 + 10);
	assert_null(s->locks.v[0].holders.v[s->locks.v[0].holders.n - 1].thread);
	finish(f, s);
}

static void test_deadlock(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;
	uint64_t dead = 0;

	begin(f, 3);
	SLEEP_ON(100, 1, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	SLEEP_ON(200, 2, 2, L2, OP_WAIT, MUTEX_WORDS(1, 1, 0));
	SLEEP_ON(300, 3, 3, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0)); /* a victim, not part of it */
	s = end(f, 1000);
	for (size_t i = 0; i < s->blame.rows.n; i++)
		dead += s->blame.rows.v[i].deadlock ? s->blame.rows.v[i].total : 0;
	assert_int_equal(row(s, 2, INTERVAL_RUNNING)->total, 100); /* 1's first part */
	assert_int_equal(dead, 800 + 800 + 700);
	finish(f, s);
}

/* A circle of three, and one that leads into a lock whose holder nobody knows. */
static void test_circles_and_ends(void **state)
{
	struct feed feed, *f = &feed;
	const struct blame_row *r;
	struct summary *s;

	begin(f, 3);
	SLEEP_ON(100, 1, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	SLEEP_ON(100, 2, 2, L2, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	SLEEP_ON(100, 3, 3, L3, OP_LOCK_PI, 0, 999 | 0x80000000u, 0, 0, 0, 0);
	s = end(f, 200);
	assert_int_equal(s->blame.unknown, 100); /* 3's own */
	r = row(s, 3, INTERVAL_WAITING);	 /* both others wait for 3, which waits */
	assert_int_equal(r->reason, REASON_MUTEX);
	assert_false(r->deadlock);
	assert_int_equal(s->blame.charged, 200);
	finish(f, s);
	begin(f, 3);
	SLEEP_ON(100, 1, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	SLEEP_ON(100, 2, 2, L2, OP_WAIT, MUTEX_WORDS(3, 1, 0));
	SLEEP_ON(100, 3, 3, L3, OP_WAIT, MUTEX_WORDS(1, 1, 0));
	s = end(f, 200);
	assert_int_equal(s->blame.charged, 300);
	for (size_t i = 0; i < s->blame.rows.n; i++)
		assert_true(s->blame.rows.v[i].deadlock);
	finish(f, s);
}

/* Longer than any chain that is followed: it ends somewhere, and adds up. */
static void test_long_chain(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 30);
	for (uint32_t tid = 1; tid < 30; tid++)
		SLEEP_ON(100, tid, tid, 0x1000ull * tid, OP_WAIT, MUTEX_WORDS(tid + 1, 1, 0));
	s = end(f, 200);
	assert_int_equal(s->blame.charged, 29 * 100);
	finish(f, s);
}

/* Only condition variables in between: nobody holds one, so nobody is blamed through it. */
static void test_condvar_is_no_lock(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 2);
	SLEEP_ON(100, 1, 1, L1 + 40, OP_BITSET, 0, 0, 0, 2, 1, 0);
	LET_GO(200, 1, 1, 2);
	SLEEP_ON(300, 1, 1, 0x7f001000, OP_BITSET_SHARED, 2, 2, 0, 0, 0, 0);
	LET_GO(400, 1, 1, 2);
	s = end(f, 500);
	assert_int_equal(s->blame.waited, 0);
	assert_int_equal(s->blame.rows.n, 0);
	assert_int_equal(s->contended, 0);
	assert_int_equal(timeline_thread(&f->m->timeline, 1)->waits[REASON_CONDVAR], 100);
	assert_int_equal(timeline_thread(&f->m->timeline, 1)->waits[REASON_JOIN], 100);
	finish(f, s);
}

/* An interrupt that runs on top of a thread lets nothing go. */
static void test_interrupt_is_not_to_blame(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 3);
	SLEEP_ON(100, 1, 1, L1, OP_WAIT, MUTEX_WORDS(0, 0, 0));
	EV(200, 3, EV_WAKING, .waking = {1, 3, WAKE_HARDIRQ | WAKE_RELEASE, 0, 0});
	SWITCH(200, 1, 0, 1, 0);
	SLEEP_ON(210, 1, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	LET_GO(220, 1, 1, 2);
	s = end(f, 300);
	for (size_t i = 0; i < s->blame.rows.n; i++)
		assert_int_not_equal(s->blame.rows.v[i].culprit->tid, 3);
	assert_int_equal(s->blame.unknown, 100);
	assert_int_equal(s->blame.charged, 10);
	finish(f, s);
}

/* Where it let go is better than nothing, if no sample met the holder. */
static void test_release_stack(void **state)
{
	struct feed feed, *f = &feed;
	const struct blame_row *r;
	struct summary *s;
	uint32_t u;

	begin(f, 2);
	u = STACK("libc.so.6:pthread_mutex_unlock", "app:append", "app:main");
	SLEEP_ON(100, 1, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	EV(200, 2, EV_WAKING, .waking = {1, 2, WAKE_TASK | WAKE_RELEASE, 0, u});
	SWITCH(200, 1, 0, 1, 0);
	s = end(f, 300);
	r = row(s, 2, INTERVAL_RUNNING);
	assert_int_equal(r->by, HELD_BY_RELEASE);
	assert_string_equal(names_function(&f->m->names, r->function)->name, "append");
	assert_int_equal(s->locks.v[0].holders.v[0].release_ustack, u);
	finish(f, s);
}

/* Lost time is nobody's: what was seen around it stays. */
static void test_holder_out_of_sight(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	feed_init_names(f);
	model_add_loss_span(f->m, 2, 140, 160);
	BEGIN(1);
	PEER(1, 1, "one");
	PEER(1, 2, "two");
	SWITCH(2, 1, 0, 1, 0);
	SWITCH(2, 2, 0, 2, 0);
	SLEEP_ON(100, 1, 1, L1, OP_WAIT, MUTEX_WORDS(2, 1, 0));
	SAMPLE(170, 2, 2);
	LET_GO(200, 1, 1, 2);
	s = end(f, 300);
	/* 1 waited 100..140 and 160..200; 2 was on its CPU in both */
	assert_int_equal(s->blame.charged, 80);
	assert_int_equal(row(s, 2, INTERVAL_RUNNING)->total, 80);
	finish(f, s);
}

static uint32_t rnd(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*seed >> 33) % below;
}

enum { PARTY = 8, LOCKS = 3 };

/*
 * A party of threads that fight for locks, with a truth: who had which lock when is known, so the
 * time of each (waiter, holder) pair is too.
 */
static void party(struct feed *f, uint64_t seed, unsigned steps, size_t notes_max,
		  uint64_t truth[PARTY + 1][PARTY + 1])
{
	uint32_t owner[LOCKS] = {0}, wants[PARTY + 1] = {0}; /* lock + 1 */
	uint64_t since[PARTY + 1] = {0}, now = 1000;

	begin(f, PARTY);
	if (notes_max)
		f->m->chain.notes_max = notes_max;
	for (unsigned i = 0; i < steps; i++, now += 10 + rnd(&seed, 5000)) {
		uint32_t tid = 1 + rnd(&seed, PARTY), lock = rnd(&seed, LOCKS), next = 0;

		if (wants[tid])
			continue;
		if (owner[lock] == tid) { /* lets go: a waiter gets it, if there is one */
			for (uint32_t t = 1; t <= PARTY; t++) {
				if (wants[t] != lock + 1)
					continue;
				truth[t][tid] += now - since[t];
				since[t] = now;
				next = next ? next : t;
			}
			owner[lock] = next;
			if (next) {
				wants[next] = 0;
				LET_GO(now, next, next, tid);
			}
		} else if (!owner[lock]) {
			owner[lock] = tid;
		} else {
			bool holds = false;

			for (unsigned l = 0; l < LOCKS; l++)
				holds |= owner[l] == tid;
			if (holds)
				continue; /* chains are another test's */
			wants[tid] = lock + 1;
			since[tid] = now;
			SLEEP_ON(now, tid, tid, 0x1000ull * (lock + 1), OP_WAIT,
				 MUTEX_WORDS(owner[lock], 1, 0));
		}
	}
	for (uint32_t t = 1; t <= PARTY; t++)
		if (wants[t])
			truth[t][owner[wants[t] - 1]] += now - since[t];
	END(now);
	model_finish(f->m);
}

static void test_truth(void **state)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		uint64_t truth[PARTY + 1][PARTY + 1] = {{0}}, got[PARTY + 1][PARTY + 1] = {{0}};
		struct feed feed, *f = &feed;
		struct summary *s;

		party(f, seed, 2000, seed % 2 ? 0 : 64 * seed, truth);
		s = feed_summary(f);
		for (size_t i = 0; i < s->blame.rows.n; i++) {
			const struct blame_row *r = &s->blame.rows.v[i];

			for (size_t k = 0; k < r->victims.n; k++)
				got[r->victims.v[k].thread->tid][r->culprit->tid] +=
					r->victims.v[k].total;
		}
		for (uint32_t v = 1; v <= PARTY; v++)
			for (uint32_t c = 1; c <= PARTY; c++)
				assert_int_equal(got[v][c], truth[v][c]);
		assert_int_equal(s->blame.unknown, 0);
		finish(f, s);
	}
}

/* However often the notes are worked off in between, the sums are the same. */
static void test_notes_are_bounded(void **state)
{
	uint64_t truth[PARTY + 1][PARTY + 1] = {{0}}, want = 0;

	for (size_t max = 0; max <= 4096; max = max ? max * 4 : 16) {
		struct feed feed, *f = &feed;
		struct summary *s;

		party(f, 7, 5000, max, truth);
		assert_true(!max || f->m->chain.notes.room <= 4 * max + 64);
		s = feed_summary(f);
		want = want ? want : s->blame.charged;
		assert_int_equal(s->blame.charged, want);
		finish(f, s);
	}
}

/* Events dropped and shuffled: whatever comes out adds up, and nobody waits for itself. */
static void test_broken_streams(void **state)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t s1 = seed, at = 1000;
		struct feed feed, *f = &feed;
		struct summary *s;

		begin(f, PARTY);
		f->m->chain.notes_max = 100;
		for (unsigned i = 0; i < 1500; i++, at += rnd(&s1, 3) ? 1 + rnd(&s1, 900) : 0) {
			uint32_t tid = 1 + rnd(&s1, PARTY + 1), by = rnd(&s1, PARTY + 3);
			uint64_t addr = 0x1000 + 4 * rnd(&s1, 8);

			switch (rnd(&s1, 8)) {
			case 0:
				EV(at, tid, EV_FUTEX,
				   .futex = {tid, addr, rnd(&s1, 512), rnd(&s1, 4), rnd(&s1, 4),
					     rnd(&s1, 4), by, rnd(&s1, 3), rnd(&s1, 12)});
				break;
			case 1:
				SLEEP_ON(at, tid, tid, addr, OP_WAIT, MUTEX_WORDS(by, 1, 0));
				break;
			case 2:
				LET_GO(at, tid, tid, by);
				break;
			case 3:
				EV(at, tid, EV_KLOCK,
				   .klock = {tid, addr, rnd(&s1, 64), by, rnd(&s1, 7), by});
				break;
			case 4:
				EV(at, tid, EV_KLOCKED,
				   .klocked = {tid, addr, rnd(&s1, 64), by, rnd(&s1, 7), by,
					       rnd(&s1, 999), rnd(&s1, 2), 0});
				break;
			case 5:
				SWITCH(at, tid, rnd(&s1, 2) ? tid : 0, by, rnd(&s1, 3));
				break;
			case 6:
				SAMPLE(at, tid, tid);
				break;
			default:
				EV(at, 0, EV_PLACE,
				   .place = {1, addr, rnd(&s1, 9), rnd(&s1, 3), addr, rnd(&s1, 2)});
			}
		}
		END(at);
		feed_finish(f);
		s = feed_summary(f);
		for (size_t i = 0; i < s->blame.rows.n; i++)
			for (size_t k = 0; k < s->blame.rows.v[i].victims.n; k++)
				assert_ptr_not_equal(s->blame.rows.v[i].victims.v[k].thread,
						     s->blame.rows.v[i].culprit);
		finish(f, s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_the_holder_did),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_condition_gives_back),
		cmocka_unit_test(test_condition_keeps_others),
		cmocka_unit_test(test_words_read_later),
		cmocka_unit_test(test_words_read_behind_the_end),
		cmocka_unit_test(test_ownership_moves),
		cmocka_unit_test(test_woken_and_waiting_for_a_cpu),
		cmocka_unit_test(test_kernel_lock_is_not_taken_along),
		cmocka_unit_test(test_missing_hand_over),
		cmocka_unit_test(test_deadlock),
		cmocka_unit_test(test_circles_and_ends),
		cmocka_unit_test(test_long_chain),
		cmocka_unit_test(test_condvar_is_no_lock),
		cmocka_unit_test(test_interrupt_is_not_to_blame),
		cmocka_unit_test(test_release_stack),
		cmocka_unit_test(test_holder_out_of_sight),
		cmocka_unit_test(test_truth),
		cmocka_unit_test(test_notes_are_bounded),
		cmocka_unit_test(test_broken_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
