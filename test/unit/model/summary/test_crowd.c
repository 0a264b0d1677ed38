// SPDX-License-Identifier: MIT
/*
 * Waits behind a lock are charged in two ways: one by one, and all together where many threads
 * meet. Both must come to the same, whatever is seen of the locks: random threads sleep behind
 * random locks, are let go, give up, are in circles, and now and then a wrong holder is reported.
 */
#include "unit/model/futex.h"

#include <string.h>

#include "model/summary/blamed.h"

enum { THREADS_MOST = 24, LOCKS = 3 };

struct sim {
	uint64_t seed, now;
	unsigned threads;
	bool asleep[THREADS_MOST + 1];
	int lock[THREADS_MOST + 1]; /* that it sleeps for; -1: something else */
	VEC(struct event) events;
};

static uint32_t rnd(struct sim *s, uint32_t below)
{
	s->seed = s->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(s->seed >> 33) % below;
}

static void put(struct sim *s, uint32_t cpu, struct event ev)
{
	ev.ts = s->now;
	ev.cpu = (uint16_t)cpu;
	vec_push(&s->events, ev);
}

static uint64_t address(unsigned lock)
{
	return 0x1000ull * (lock + 1);
}

/* Lock 2 is one of the kernel's. */
static void fall_asleep(struct sim *s, uint32_t t)
{
	int lock = (int)rnd(s, LOCKS + 1) - 1;
	uint32_t owner = 1 + rnd(s, s->threads), state = STATE_INTERRUPTIBLE;

	if (rnd(s, 3)) /* mostly the same one has the same lock */
		owner = 1 + (uint32_t)((uint64_t)(lock + 1) + s->now / 40000000) % s->threads;
	if (lock == 2) {
		put(s, t,
		    (struct event){.kind = EV_KLOCK,
				   .klock = {t, address(2), KLOCK_MUTEX, owner, KLOCK_ANY, 0}});
		state = STATE_UNINTERRUPTIBLE;
	} else if (lock >= 0) {
		put(s, t,
		    (struct event){.kind = EV_FUTEX,
				   .futex = {t, address((unsigned)lock), OP_WAIT, 2, 2, 0,
					     rnd(s, 4) ? owner : 0, 1, 0}});
	} else {
		state = STATE_UNINTERRUPTIBLE | STATE_IOWAIT;
	}
	s->now += rnd(s, 2);
	put(s, t, (struct event){.kind = EV_SWITCH, .switch_ = {t, 0, state, 0}});
	s->asleep[t] = true;
	s->lock[t] = lock;
}

static void wake_up(struct sim *s, uint32_t t)
{
	uint32_t by = 1 + rnd(s, s->threads);
	bool release = rnd(s, 3) && !s->asleep[by] && by != t && s->lock[t] >= 0 && s->lock[t] < 2;

	put(s, by,
	    (struct event){.kind = EV_WAKING,
			   .waking = {t, release ? by : 0,
				      release ? WAKE_TASK | WAKE_RELEASE : WAKE_HARDIRQ,
				      release ? rnd(s, 3) : 0, release ? 4 + rnd(s, 3) : 0}});
	s->now += rnd(s, 3) ? rnd(s, 3000) : 0;
	put(s, t, (struct event){.kind = EV_SWITCH, .switch_ = {0, t, 0, 0}});
	if (s->lock[t] == 2 && rnd(s, 3))
		put(s, t,
		    (struct event){.kind = EV_KLOCKED,
				   .klocked = {t, address(2), KLOCK_MUTEX, 0, KLOCK_ANY, 0, 1000,
					       rnd(s, 8) == 0, 0, 0}});
	if (rnd(s, 2))
		put(s, t, (struct event){.kind = EV_WAIT, .wait = {t, rnd(s, 3), 4 + rnd(s, 4)}});
	s->asleep[t] = false;
}

static void step(struct sim *s)
{
	static const uint32_t pauses[] = {0, 1, 700, 20000, 300000, 1500000, 7000000};
	uint32_t t = 1 + rnd(s, s->threads), most = pauses[rnd(s, 7)];

	s->now += most ? rnd(s, most) : 0;
	if (s->asleep[t] && rnd(s, 3) == 0)
		wake_up(s, t);
	else if (!s->asleep[t] && rnd(s, 3))
		fall_asleep(s, t);
	else if (!s->asleep[t])
		put(s, t,
		    (struct event){.kind = EV_SAMPLE, .sample = {t, rnd(s, 2) * 3, 4 + rnd(s, 4)}});
}

static void simulate(struct sim *s, uint64_t seed, unsigned steps)
{
	*s = (struct sim){.seed = seed, .now = 1000000};
	s->threads = 3 + rnd(s, THREADS_MOST - 2);
	put(s, 0, (struct event){.kind = EV_MARK, .mark = {MARK_BEGIN}});
	for (uint32_t t = 1; t <= s->threads; t++) {
		put(s, 0,
		    (struct event){.kind = EV_THREAD,
				   .thread = {t, 1, 0, 0, t % 3 ? "worker-1" : "other"}});
		put(s, t, (struct event){.kind = EV_SWITCH, .switch_ = {0, t, 0, 0}});
	}
	while (steps--)
		step(s);
	s->now += 10000;
	put(s, 0, (struct event){.kind = EV_MARK, .mark = {MARK_END}});
}

static struct summary *summary_of(struct feed *f, const struct sim *s, size_t crowd_min,
				  size_t notes_max, const char *thread)
{
	struct summary_opts opts = {.thread = thread};
	struct summary *sum = NULL;

	feed_init_names(f);
	/* 1 to 3 are the kernel's */
	(void)STACK("k:schedule", "k:futex_wait_queue", "k:do_futex");
	(void)STACK("k:schedule", "k:io_schedule", "k:folio_wait_bit");
	(void)STACK("k:copy_page");
	(void)STACK("libc.so.6:pthread_mutex_lock", "app:commit", "app:main");
	(void)STACK("app:compute", "app:main");
	(void)STACK("libc.so.6:fsync", "app:flush", "app:main");
	(void)STACK("libc.so.6:pthread_mutex_lock", "app:commit", "app:main");
	f->m->chain.crowd_min = crowd_min;
	f->m->chain.notes_max = notes_max;
	for (size_t i = 0; i < s->events.n; i++)
		model_event(f->m, &s->events.v[i]);
	model_finish(f->m);
	assert_int_equal(summary_new(f->m, &opts, &sum), 0);
	return sum;
}

#define SAME(field) assert_int_equal(a->field, b->field)

/* counts: the number of waits too. */
static void same_row(const struct blame_row *a, const struct blame_row *b, bool counts)
{
	assert_false(b->crowd);
	SAME(culprit->index);
	SAME(doing);
	SAME(reason);
	SAME(lock);
	SAME(first);
	SAME(depth);
	SAME(deadlock);
	SAME(total);
	if (counts)
		SAME(count);
	SAME(max);
	SAME(by);
	SAME(function);
	SAME(victims.n);
	for (size_t i = 0; i < a->victims.n; i++) {
		SAME(victims.v[i].thread->index);
		SAME(victims.v[i].total);
		if (counts)
			SAME(victims.v[i].count);
	}
}

static void same_lock(const struct lock_sum *a, const struct lock_sum *b, bool counts)
{
	SAME(total);
	SAME(known);
	SAME(holders.n);
	for (size_t i = 0; i < a->holders.n; i++) {
		assert_int_equal(!a->holders.v[i].thread, !b->holders.v[i].thread);
		if (a->holders.v[i].thread)
			SAME(holders.v[i].thread->index);
		SAME(holders.v[i].blamed);
		if (counts)
			SAME(holders.v[i].count);
		SAME(holders.v[i].running);
		SAME(holders.v[i].runnable);
		SAME(holders.v[i].waiting);
		SAME(holders.v[i].by);
		SAME(holders.v[i].kstack);
		SAME(holders.v[i].ustack);
	}
}

static void same_stall(const struct stall *a, const struct stall *b)
{
	SAME(start);
	SAME(ns);
	SAME(threads);
	SAME(all);
	SAME(lock);
	assert_int_equal(!a->culprit, !b->culprit);
	if (a->culprit)
		SAME(culprit->index);
	SAME(doing);
	SAME(reason);
	SAME(lost);
}

static void same_summary(const struct summary *a, const struct summary *b, bool counts)
{
	SAME(blame.waited);
	SAME(blame.charged);
	SAME(blame.unknown);
	SAME(blame.rows.n);
	for (size_t i = 0; i < a->blame.rows.n; i++)
		same_row(&a->blame.rows.v[i], &b->blame.rows.v[i], counts);
	SAME(locks.n);
	for (size_t i = 0; i < a->locks.n; i++)
		same_lock(&a->locks.v[i], &b->locks.v[i], counts);
	SAME(stalls.count);
	SAME(stalls.total);
	for (size_t i = 0; i < a->stalls.list.n; i++)
		same_stall(&a->stalls.list.v[i], &b->stalls.list.v[i]);
	SAME(finding.found);
	SAME(finding.lock);
	SAME(finding.doing);
	assert_int_equal(!a->finding.root, !b->finding.root);
	if (a->finding.root)
		SAME(finding.root->index);
}

/* Who had a lock for most of a thread's waiting is found in another way too. */
static void same_blamed(const struct model *a, const struct model *b)
{
	struct blamed_waits one, all;

	blamed_waits_init(&one, a);
	blamed_waits_init(&all, b);
	for (uint32_t lock = 0; lock < a->locks.list.n; lock++)
		for (size_t i = 0; i < a->timeline.threads.n; i++) {
			const struct thread *x =
				blamed_holder(&one, a, lock, a->timeline.threads.v[i]);
			const struct thread *y =
				blamed_holder(&all, b, lock, b->timeline.threads.v[i]);

			assert_int_equal(x ? x->index + 1 : 0, y ? y->index + 1 : 0);
		}
	blamed_waits_done(&one);
	blamed_waits_done(&all);
}

/* crowd: so many threads behind a lock are one; notes: kept until they are charged. */
static void compare(uint64_t seeds, unsigned steps, size_t crowd, size_t notes, const char *thread)
{
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct feed one, all;
		struct sim s;
		struct summary *a, *b;

		simulate(&s, seed, steps);
		a = summary_of(&one, &s, SIZE_MAX, notes, thread);
		b = summary_of(&all, &s, crowd, notes, thread);
		same_summary(a, b, notes == CHAIN_NOTES_MAX);
		same_blamed(one.m, all.m);
		summary_free(a);
		summary_free(b);
		feed_done(&one);
		feed_done(&all);
		vec_done(&s.events);
	}
}

static void test_crowds_are_charged_as_each_wait_is(void **state)
{
	compare(300, 60, 1, CHAIN_NOTES_MAX, NULL);
	compare(200, 600, 1, CHAIN_NOTES_MAX, NULL);
	compare(20, 6000, 1, CHAIN_NOTES_MAX, NULL);
}

static void test_some_locks_have_crowds(void **state)
{
	compare(200, 600, 6, CHAIN_NOTES_MAX, NULL);
}

static void test_crowds_of_some_victims(void **state)
{
	compare(100, 600, 1, CHAIN_NOTES_MAX, "other");
	compare(100, 600, 1, CHAIN_NOTES_MAX, "2");
}

/* Notes are thrown away in between. A wait that is open then may count twice, or not. */
static void test_crowds_over_many_notes(void **state)
{
	compare(200, 600, 1, 100, NULL);
	compare(200, 1200, 6, 300, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crowds_are_charged_as_each_wait_is),
		cmocka_unit_test(test_some_locks_have_crowds),
		cmocka_unit_test(test_crowds_of_some_victims),
		cmocka_unit_test(test_crowds_over_many_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
