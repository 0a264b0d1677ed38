// SPDX-License-Identifier: MIT
/* Times at which threads stood still together, who waits for work, and what is wrong in one word.
 */
#include "unit/model/futex.h"

#define MS 1000000ull
#define S STATE_INTERRUPTIBLE
#define D STATE_UNINTERRUPTIBLE
#define ADDR 0x1000ull

static void begin_window(struct feed *f, uint32_t threads, const char *name, uint64_t from,
			 uint64_t to)
{
	static char names[32][16];

	feed_init_names_window(f, from, to);
	BEGIN(1);
	for (uint32_t tid = 1; tid <= threads; tid++) {
		if (tid == 1)
			snprintf(names[tid], sizeof(names[tid]), "flusher");
		else
			snprintf(names[tid], sizeof(names[tid]), "%s-%u", name, tid);
		PEER(1, tid, names[tid]);
		SWITCH(2, tid, 0, tid, 0);
	}
}

static void begin(struct feed *f, uint32_t threads, const char *name)
{
	begin_window(f, threads, name, 0, 0);
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

/* What keeps thaw itself is not what a recording is about; what its child runs is. */
static void test_own_threads(void **state)
{
	for (unsigned runs_another = 0; runs_another < 2; runs_another++) {
		struct feed feed, *f = &feed;
		struct summary *s;

		feed_init_names(f);
		BEGIN(1);
		EV(1, 0, EV_THREAD, .thread = {1, 1, 0, THREAD_OWN, "thaw", 0});
		SWITCH(2, 1, 0, 1, 0);
		EV(3, 1, EV_FORK, .fork = {2, 2, 1, "thaw", 0});
		SWITCH(4, 2, 0, 2, 0);
		if (runs_another)
			EV(5, 2, EV_EXEC, .exec = {2, 2, "child"});
		EV(10 * MS, 2, EV_SWITCH, .switch_ = {2, 0, D | STATE_IOWAIT, 76});
		EV(11 * MS, 1, EV_SWITCH, .switch_ = {1, 0, D | STATE_IOWAIT, 76});
		WAKING(900 * MS, 3, 2, 9);
		SWITCH(900 * MS, 2, 0, 2, 0);
		s = end(f, 1000 * MS);
		assert_int_equal(s->finding.found, runs_another);
		finish(f, s);
	}
}

/* Everybody wants the lock of 1, which waits for the disk for 80 ms of 10 s. */
static void test_a_freeze_is_found(void **state)
{
	struct feed feed, *f = &feed;
	const struct finding *w;
	const struct stall *st;
	struct summary *s;
	uint32_t u;

	begin(f, 5, "worker");
	u = STACK("libc.so.6:fdatasync", "app:flush_log", "app:main");
	EV(1000 * MS, 1, EV_SWITCH, .switch_ = {1, 0, D | STATE_IOWAIT, 76});
	for (uint32_t tid = 2; tid <= 5; tid++)
		SLEEP_ON((1000 + tid) * MS, tid, tid, ADDR, OP_WAIT, MUTEX_WORDS(1, 1, 0));
	WAKING(1080 * MS, 6, 1, 9);
	SWITCH(1080 * MS, 1, 0, 1, 0);
	STACKS(1080 * MS + 1, 1, 1, 0, u);
	for (uint32_t tid = 2; tid <= 5; tid++)
		LET_GO(1081 * MS + tid, tid, tid, tid == 2 ? 1 : tid - 1);
	s = end(f, 10000 * MS);
	assert_int_equal(s->stalls.list.n, 1);
	st = &s->stalls.list.v[0];
	assert_int_equal(st->start, 1003 * MS); /* when the second one stood */
	assert_int_equal(st->ns, 78 * MS + 2);
	assert_int_equal(st->threads, 4);
	assert_int_equal(st->culprit->tid, 1);
	assert_int_equal(st->reason, REASON_DISK);
	assert_string_equal(names_function(&f->m->names, st->function)->name, "flush_log");
	assert_int_equal(s->locks.v[st->lock].address, ADDR);
	assert_int_equal(s->stalls.total, st->ns);
	/* 0.8% of their time is not worth a sentence */
	w = &s->finding;
	assert_false(w->found);
	finish(f, s);
}

static void test_the_sentence(void **state)
{
	struct feed feed, *f = &feed;
	const struct finding *w;
	struct summary *s;
	uint32_t u;

	begin(f, 5, "worker");
	u = STACK("libc.so.6:fdatasync", "app:flush_log", "app:main");
	EV(10 * MS, 1, EV_SWITCH, .switch_ = {1, 0, D | STATE_IOWAIT, 76});
	for (uint32_t tid = 2; tid <= 5; tid++)
		SLEEP_ON(20 * MS, tid, tid, ADDR, OP_WAIT, MUTEX_WORDS(1, 1, 0));
	WAKING(80 * MS, 6, 1, 9);
	SWITCH(80 * MS, 1, 0, 1, 0);
	STACKS(80 * MS + 1, 1, 1, 0, u);
	for (uint32_t tid = 2; tid <= 5; tid++)
		LET_GO(81 * MS + tid, tid, tid, tid == 2 ? 1 : tid - 1);
	s = end(f, 100 * MS);
	w = &s->finding;
	assert_true(w->found);
	assert_string_equal(w->group, "worker");
	assert_int_equal(w->threads, 4);
	assert_int_equal(w->victims.n, 4);
	assert_in_range(w->waited * 100 / w->wall, 60, 62);
	assert_int_equal(s->locks.v[w->lock].address, ADDR);
	assert_int_equal(w->holder->tid, 1);
	assert_string_equal(names_function(&f->m->names, w->function)->name, "flush_log");
	assert_int_equal(w->root->tid, 1);
	assert_int_equal(w->doing, INTERVAL_WAITING);
	assert_int_equal(w->reason, REASON_DISK);
	finish(f, s);
}

/* In thousandths. */
static void expect_did(const struct doings *d, unsigned disk, unsigned ran)
{
	assert_int_equal(d->n, 2);
	assert_int_equal(d->v[0].reason, REASON_DISK);
	assert_int_equal(d->v[1].kind, INTERVAL_RUNNING);
	assert_in_range(d->v[0].ns * 1000 / d->total, disk - 2, disk + 2);
	assert_in_range(d->v[1].ns * 1000 / d->total, ran - 2, ran + 2);
}

/* 1 waits for the disk for 36 of 60 ms and runs for 24: one sum, wherever it is told. */
static void test_what_the_holder_did_is_one_sum(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 5, "worker");
	for (uint32_t tid = 2; tid <= 5; tid++)
		SLEEP_ON(20 * MS, tid, tid, ADDR, OP_WAIT, MUTEX_WORDS(1, 1, 0));
	for (uint64_t at = 20; at < 80; at += 10) {
		EV(at * MS, 1, EV_SWITCH, .switch_ = {1, 0, D | STATE_IOWAIT, 76});
		WAKING((at + 6) * MS, 6, 1, 9);
		SWITCH((at + 6) * MS, 1, 0, 1, 0);
	}
	for (uint32_t tid = 2; tid <= 5; tid++)
		LET_GO(80 * MS + tid, tid, tid, tid == 2 ? 1 : tid - 1);
	s = end(f, 100 * MS);
	assert_int_equal(s->stalls.list.n, 1);
	expect_did(&s->finding.did, 600, 400);
	expect_did(&s->stalls.list.v[0].did, 600, 400);
	expect_did(&s->locks.v[0].holders.v[0].did, 600, 400);
	assert_int_equal(s->blame.sums.v[0].culprit->tid, 1);
	expect_did(&s->blame.sums.v[0].did, 600, 400);
	assert_in_range(s->blame.sums.v[0].total, 240 * MS - 100, 240 * MS + 100);
	assert_int_equal(s->blame.sums.v[0].victims.n, 4);
	finish(f, s);
}

/* No lock is to blame: the reason itself. */
static void test_the_sentence_without_a_lock(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;
	uint32_t u;

	begin(f, 3, "reader");
	u = STACK("libc.so.6:pread64", "app:load_page", "app:main");
	for (uint32_t tid = 2; tid <= 3; tid++) {
		EV(10 * MS, tid, EV_SWITCH, .switch_ = {tid, 0, D | STATE_IOWAIT, 18});
		WAKING(60 * MS, 6, tid, 9);
		SWITCH(60 * MS, tid, 0, tid, 0);
		STACKS(60 * MS + 1, tid, tid, 0, u);
	}
	s = end(f, 100 * MS);
	assert_true(s->finding.found);
	assert_int_equal(s->finding.lock, SIZE_MAX);
	assert_int_equal(s->finding.reason, REASON_DISK);
	assert_string_equal(s->finding.group, "reader");
	assert_string_equal(names_function(&f->m->names, s->finding.function)->name, "load_page");
	/* and both of them stood, all of those that ever do */
	assert_int_equal(s->stalls.list.n, 1);
	assert_int_equal(s->stalls.list.v[0].lock, SIZE_MAX);
	assert_int_equal(s->stalls.list.v[0].ns, 50 * MS);
	finish(f, s);
}

/*
 * 1 has a lock of the kernel from 100 to 180 ms and waits for the disk; 2 to 4 want it from 101 ms
 * on and get it one after the other. Seen through a window, in ms.
 */
static struct summary *kernel_freeze(struct feed *f, uint64_t from, uint64_t to)
{
	const uint64_t lock = 0xffff0010;

	begin_window(f, 4, "worker", from * MS, to * MS);
	EV(100 * MS, 1, EV_SWITCH, .switch_ = {1, 0, D | STATE_IOWAIT, 76});
	for (uint32_t tid = 2; tid <= 4; tid++) {
		EV(101 * MS, tid, EV_KLOCK, .klock = {tid, lock, KLOCK_WRITE, 1, KLOCK_ANY, 0});
		EV(101 * MS, tid, EV_SWITCH, .switch_ = {tid, 0, D, 9});
	}
	WAKING(180 * MS, 6, 1, 9);
	SWITCH(180 * MS, 1, 0, 1, 0);
	for (uint32_t tid = 2; tid <= 4; tid++) {
		uint64_t at = 181 * MS + tid;

		WAKING(at, 1, tid, tid == 2 ? 1 : tid - 1);
		SWITCH(at, tid, 0, tid, 0);
		EV(at, tid, EV_KLOCKED,
		   .klocked = {tid, lock, KLOCK_WRITE, 1, KLOCK_ANY, 0, at - 101 * MS, 0, 0});
	}
	return end(f, 1000 * MS);
}

/* What reaches into a window belongs to it, with the part inside: its locks, holders and stalls. */
static void test_a_window_keeps_what_reaches_in(void **state)
{
	static const struct {
		uint64_t from, to; /* in ms, as asked for */
		uint64_t inside;   /* of the stall, in ms */
	} rows[] = {{0, 0, 80},	   {101, 181, 80}, {120, 150, 30},
		    {50, 140, 39}, {140, 900, 41}, {150, 152, 2}};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct feed feed, *f = &feed;
		struct summary *s = kernel_freeze(f, rows[i].from, rows[i].to);
		const struct lock_sum *l = &s->locks.v[0];
		const struct stall *st = &s->stalls.list.v[0];
		uint64_t want = rows[i].inside * MS;

		assert_int_equal(s->contended, 1);
		assert_string_equal(lock_kind_name(l->kind), "rwsem");
		assert_int_equal(l->count, 3);
		assert_in_range(l->total, 3 * want - 10, 3 * want + 10);
		assert_in_range(l->max, want - 10, want + 10);
		assert_int_equal(l->holders.v[0].thread->tid, 1);
		assert_int_equal(s->stalls.list.n, 1);
		assert_in_range(st->ns, want - 10, want + 10);
		assert_int_equal(st->threads, 3);
		assert_int_equal(st->culprit->tid, 1);
		assert_int_equal(st->reason, REASON_DISK);
		assert_in_range(st->lost, 3 * want - 10, 3 * want + 10);
		finish(f, s);
	}
}

/* The same without a lock; and what is short is no stall because a window cuts it. */
static void test_a_window_cuts_shared_causes(void **state)
{
	for (uint64_t whole = 4; whole <= 50; whole += 46) {
		struct feed feed, *f = &feed;
		struct summary *s;

		begin_window(f, 3, "reader", 11 * MS, 13 * MS);
		for (uint32_t tid = 2; tid <= 3; tid++) {
			EV(10 * MS, tid, EV_SWITCH, .switch_ = {tid, 0, D | STATE_IOWAIT, 18});
			WAKING((10 + whole) * MS, 6, tid, 9);
			SWITCH((10 + whole) * MS, tid, 0, tid, 0);
		}
		s = end(f, 100 * MS);
		assert_int_equal(s->stalls.list.n, whole > 5);
		if (whole > 5)
			assert_int_equal(s->stalls.list.v[0].ns, 2 * MS);
		finish(f, s);
	}
}

/* Many short holds, one after another, are a queue and no stall: nobody held it for long. */
static void test_a_queue_is_no_stall(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;
	uint32_t owner = 1;

	begin(f, 6, "worker");
	for (uint32_t tid = 2; tid <= 6; tid++)
		SLEEP_ON(10 * MS, tid, tid, ADDR, OP_WAIT, MUTEX_WORDS(1, 1, 0));
	for (uint32_t tid = 2; tid <= 6; tid++) { /* each has it for 4 ms */
		LET_GO((10 + 4 * (tid - 1)) * MS, tid, tid, owner);
		owner = tid;
	}
	s = end(f, 100 * MS);
	assert_int_equal(s->stalls.list.n, 0);
	finish(f, s);
}

/* A few of many that wait for the disk are no stall; a CPU limit that hits all is one. */
static void test_shared_causes(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 9, "worker");
	for (uint32_t tid = 2; tid <= 9; tid += 2) { /* two at a time, of eight */
		uint64_t at = tid * 100 * MS;

		for (uint32_t t = tid; t < tid + 2; t++)
			EV(at, t, EV_SWITCH, .switch_ = {t, 0, D | STATE_IOWAIT, 18});
		for (uint32_t t = tid; t < tid + 2; t++) {
			WAKING(at + 10 * MS, 10, t, 99);
			SWITCH(at + 10 * MS, t, 0, t, 0);
		}
	}
	for (uint32_t tid = 2; tid <= 9; tid++)
		SWITCH(2000 * MS, tid, tid, 0, STATE_THROTTLED);
	for (uint32_t tid = 2; tid <= 9; tid++)
		SWITCH(2060 * MS, tid, 0, tid, 0);
	s = end(f, 3000 * MS);
	assert_int_equal(s->stalls.list.n, 1);
	assert_int_equal(s->stalls.list.v[0].reason, REASON_THROTTLED);
	assert_int_equal(s->stalls.list.v[0].ns, 60 * MS);
	assert_int_equal(s->stalls.list.v[0].threads, 8);
	finish(f, s);
}

static void test_blackout(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 2, "worker");
	f->m->facts.freq_hz = 999;
	for (uint64_t at = MS; at < 100 * MS; at += MS) {
		SAMPLE(at, 1, 1);
		SAMPLE(at, 2, 2);
	}
	SAMPLE(180 * MS, 1, 1); /* 81 ms without a word, though 1 and 2 were on their CPUs */
	SWITCH(181 * MS, 1, 1, 0, S);
	SWITCH(181 * MS, 2, 2, 0, S);
	SWITCH(300 * MS, 1, 0, 1, 0); /* nobody ran: silence is no wonder */
	s = end(f, 310 * MS);
	assert_int_equal(s->stalls.blackouts.n, 1);
	assert_int_equal(s->stalls.blackouts.v[0].start, 99 * MS);
	assert_int_equal(s->stalls.blackouts.v[0].ns, 81 * MS);
	assert_int_equal(s->stalls.blackouts.v[0].running, 2);
	summary_free(s);
	f->m->facts.freq_hz = 50; /* a period is 20 ms: four of them missing prove nothing */
	s = feed_summary(f);
	assert_int_equal(s->stalls.blackouts.n, 0);
	finish(f, s);
}

/* A CPU is silent because its thread had left, as is found out when it comes back from elsewhere.
 */
static void test_hidden_switch_is_no_blackout(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 2, "worker");
	f->m->facts.freq_hz = 999;
	SWITCH(2 * MS, 2, 2, 0, S);
	SAMPLE(3 * MS, 1, 1);
	SWITCH(90 * MS, 1, 0, 2, 0); /* the idle task leaves CPU 1, on which 1 was last seen */
	SWITCH(91 * MS, 1, 2, 0, S);
	s = end(f, 100 * MS);
	assert_int_equal(s->stalls.blackouts.n, 0);
	finish(f, s);
}

/* The same, and nobody ever finds out: the CPU was silent before the others were. */
static void test_silent_cpu_is_no_blackout(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	begin(f, 2, "worker");
	f->m->facts.freq_hz = 999;
	for (uint64_t at = MS; at < 100 * MS; at += MS)
		SAMPLE(at, 2, 2);
	SWITCH(100 * MS, 2, 2, 0, S);
	SWITCH(190 * MS, 2, 0, 2, 0);
	/* nor one that falls silent with the others, and for ever */
	SWITCH(191 * MS, 1, 0, 1, 0);
	SWITCH(192 * MS, 2, 2, 0, S);
	SWITCH(280 * MS, 2, 0, 2, 0);
	s = end(f, 300 * MS);
	assert_int_equal(s->stalls.blackouts.n, 0);
	finish(f, s);
}

/* Lost records are told as lost, not as a blackout. */
static void test_loss_is_no_blackout(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;

	feed_init_names(f);
	model_add_loss_span(f->m, 1, 20 * MS, 90 * MS);
	f->m->facts.freq_hz = 999;
	BEGIN(1);
	PEER(1, 1, "one");
	SWITCH(2, 1, 0, 1, 0);
	SAMPLE(10 * MS, 1, 1);
	SAMPLE(95 * MS, 1, 1);
	s = end(f, 100 * MS);
	assert_int_equal(s->stalls.blackouts.n, 0);
	finish(f, s);
}

/* ---- idle ---- */

/* A wait of 40 ms of `tid` at a condition variable, ended by `by`, or by a timer if 0. */
static void at_condvar(struct feed *f, uint64_t ts, uint64_t until, uint32_t tid, uint32_t by,
		       uint64_t addr, uint32_t u)
{
	SLEEP_ON(ts, tid, tid, addr + 40, OP_BITSET, 0, 0, 0, 0, 0, 0);
	if (by)
		LET_GO(until, tid, tid, by);
	else {
		EV(until, 20, EV_WAKING, .waking = {tid, 0, WAKE_HARDIRQ, 0, 0});
		SWITCH(until, tid, 0, tid, 0);
	}
	STACKS(until + 1, tid, tid, 0, u);
}

static uint64_t waits_for(struct feed *f, uint32_t tid, enum reason r)
{
	return timeline_thread(&f->m->timeline, tid)->waits[r];
}

static void test_a_pool_is_idle(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;
	uint32_t u, other;

	begin(f, 4, "worker");
	u = STACK("libc.so.6:pthread_cond_wait", "app:next_job", "app:worker_main");
	other = STACK("libc.so.6:pthread_cond_wait", "app:await_reply", "app:worker_main");
	for (unsigned i = 0; i < 5; i++)
		for (uint32_t tid = 2; tid <= 4; tid++)
			at_condvar(f, (100 * i + 10 * tid) * MS, (100 * i + 10 * tid + 8) * MS, tid,
				   1, ADDR, u);
	at_condvar(f, 900 * MS, 905 * MS, 2, 1, ADDR + 0x100, other);	  /* not its home */
	SLEEP_ON(950 * MS, 3, 3, ADDR + 40, OP_BITSET, 0, 0, 0, 0, 0, 0); /* does not end */
	s = end(f, 951 * MS);
	assert_int_equal(waits_for(f, 2, REASON_IDLE), 40 * MS);
	assert_int_equal(waits_for(f, 2, REASON_CONDVAR), 5 * MS);
	assert_int_equal(waits_for(f, 3, REASON_IDLE), 41 * MS); /* as the others on that lock */
	assert_int_equal(s->waits.v[s->waits.n - 1].reason, REASON_IDLE); /* behind all others */
	assert_int_equal(s->waits.v[s->waits.n - 1].in, REASON_CONDVAR);
	finish(f, s);
}

/* Woken all at once: they wait for a moment, and whoever makes them wait should be seen. */
static void test_a_phase_is_not_idle(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;
	uint32_t u;

	begin(f, 4, "worker");
	u = STACK("libc.so.6:pthread_cond_wait", "app:next_phase", "app:worker_main");
	for (unsigned i = 0; i < 5; i++) {
		for (uint32_t tid = 2; tid <= 4; tid++)
			SLEEP_ON(100 * i * MS + tid + 10, tid, tid, ADDR + 40, OP_BITSET, 0, 0, 0,
				 0, 0, 0);
		for (uint32_t tid = 2; tid <= 4; tid++)
			LET_GO((100 * i + 50) * MS + 2000 * tid, tid, tid, 1);
		for (uint32_t tid = 2; tid <= 4; tid++)
			STACKS((100 * i + 51) * MS, tid, tid, 0, u);
	}
	s = end(f, 1000 * MS);
	assert_int_equal(waits_for(f, 2, REASON_IDLE), 0);
	assert_true(waits_for(f, 2, REASON_CONDVAR) > 200 * MS);
	finish(f, s);
}

/* Threads that wake each other take turns: a lock that is made of a condition variable. */
static void test_taking_turns_is_not_idle(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;
	uint32_t u;

	begin(f, 3, "py");
	u = STACK("libc.so.6:pthread_cond_timedwait", "python:take_gil", "python:eval");
	for (unsigned i = 0; i < 10; i++) {
		uint32_t tid = 2 + i % 2;

		at_condvar(f, 10 * (i + 1) * MS, 10 * (i + 1) * MS + 8 * MS, tid, 5 - tid, ADDR, u);
	}
	s = end(f, 1000 * MS);
	assert_int_equal(waits_for(f, 2, REASON_IDLE), 0);
	assert_int_equal(waits_for(f, 2, REASON_CONDVAR), 40 * MS);
	assert_int_equal(waits_for(f, 3, REASON_CONDVAR), 40 * MS);
	finish(f, s);
}

static void test_timers(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;
	uint32_t slow, quick;

	begin(f, 3, "timer");
	slow = STACK("libc.so.6:pthread_cond_timedwait", "app:tick");
	quick = STACK("libc.so.6:pthread_cond_timedwait", "app:my_lock");
	for (unsigned i = 0; i < 5; i++) {
		at_condvar(f, 100 * i * MS + 10, 100 * i * MS + 60 * MS, 2, 0, ADDR, slow);
		at_condvar(f, (100 * i + 70) * MS, (100 * i + 75) * MS, 3, 0, ADDR + 64, quick);
	}
	s = end(f, 1000 * MS);
	assert_true(waits_for(f, 2, REASON_IDLE) > 290 * MS);
	assert_int_equal(waits_for(f, 3, REASON_IDLE),
			 0); /* asks again and again: it wants something */
	assert_int_equal(waits_for(f, 3, REASON_CONDVAR), 25 * MS);
	finish(f, s);
}

/* A lone worker: it may as well wait for an answer that it needs. */
static void test_one_is_no_pool(void **state)
{
	struct feed feed, *f = &feed;
	struct summary *s;
	uint32_t u;

	begin(f, 2, "worker");
	u = STACK("libc.so.6:pthread_cond_wait", "app:next_job");
	for (unsigned i = 0; i < 5; i++)
		at_condvar(f, (100 * i + 10) * MS, (100 * i + 90) * MS, 2, 1, ADDR, u);
	s = end(f, 1000 * MS);
	assert_int_equal(waits_for(f, 2, REASON_IDLE), 0);
	assert_int_equal(waits_for(f, 2, REASON_CONDVAR), 400 * MS);
	finish(f, s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_freeze_is_found),
		cmocka_unit_test(test_own_threads),
		cmocka_unit_test(test_the_sentence),
		cmocka_unit_test(test_what_the_holder_did_is_one_sum),
		cmocka_unit_test(test_the_sentence_without_a_lock),
		cmocka_unit_test(test_a_window_keeps_what_reaches_in),
		cmocka_unit_test(test_a_window_cuts_shared_causes),
		cmocka_unit_test(test_a_queue_is_no_stall),
		cmocka_unit_test(test_shared_causes),
		cmocka_unit_test(test_blackout),
		cmocka_unit_test(test_hidden_switch_is_no_blackout),
		cmocka_unit_test(test_silent_cpu_is_no_blackout),
		cmocka_unit_test(test_loss_is_no_blackout),
		cmocka_unit_test(test_a_pool_is_idle),
		cmocka_unit_test(test_a_phase_is_not_idle),
		cmocka_unit_test(test_taking_turns_is_not_idle),
		cmocka_unit_test(test_timers),
		cmocka_unit_test(test_one_is_no_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
