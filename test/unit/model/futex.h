/* SPDX-License-Identifier: MIT */
/*
 * Waits on futexes as a recording has them: FUTEX, SWITCH, WAKING, SWITCH. The words are those of
 * glibc's struct pthread_mutex_t and so on, as <bits/struct_mutex.h> has them on x86-64.
 */
#ifndef THAW_TEST_UNIT_MODEL_FUTEX_H
#define THAW_TEST_UNIT_MODEL_FUTEX_H

#include "unit/model/stacks.h"

#include "model/summary/summary.h"

enum {
	OP_WAIT = 0 | 128,
	OP_LOCK_PI = 6 | 128,
	OP_BITSET = 9 | 128 | 256,
	OP_BITSET_SHARED = 9 | 256,
	OP_WAIT_SHARED = 0,
};

/* lock == 2 with a waiter; owner; nusers; kind */
#define MUTEX_WORDS(owner, users, kind) 2, 2, 0, owner, users, kind

/* A thread goes to sleep on a futex: from ts on, on its own CPU. */
#define SLEEP_ON(ts, cpu, tid, addr, op, ...)                                                      \
	do {                                                                                       \
		EV((ts), cpu, EV_FUTEX, .futex = {tid, addr, op, __VA_ARGS__});                    \
		EV((ts), cpu, EV_SWITCH, .switch_ = {tid, 0, STATE_INTERRUPTIBLE, 202 + 1});       \
	} while (0)

/* It is let go by another one, on the CPU of its number, in a call on that futex; it runs at once.
 */
#define LET_GO(ts, cpu, tid, by)                                                                   \
	do {                                                                                       \
		EV((ts), by, EV_WAKING, .waking = {tid, by, WAKE_TASK | WAKE_RELEASE, 0, 0});      \
		SWITCH((ts), cpu, 0, tid, 0);                                                      \
	} while (0)

#define STACKS(ts, cpu, tid, k, u) EV(ts, cpu, EV_WAIT, .wait = {tid, k, u})

/* Thread of process 1 named so. */
#define PEER(ts, tid, name) EV(ts, 0, EV_THREAD, .thread = {tid, 1, 0, 0, name, 0})

static inline struct summary *feed_summary(struct feed *f)
{
	struct summary_opts opts = {0};
	struct summary *s = NULL;

	assert_int_equal(summary_new(f->m, &opts, &s), 0);
	return s;
}

static inline const struct lock_sum *lock_at(const struct summary *s, uint64_t addr, uint32_t life)
{
	for (size_t i = 0; i < s->locks.n; i++)
		if (s->locks.v[i].address == addr && s->locks.v[i].life == life)
			return &s->locks.v[i];
	fail_msg("no lock at 0x%llx", (unsigned long long)addr);
	return NULL;
}

static inline void check_lock(const struct lock_sum *l, const char *kind, uint64_t count,
			      uint64_t total, uint32_t holder, uint64_t blamed)
{
	assert_string_equal(lock_kind_name(l->kind), kind);
	assert_int_equal(l->count, count);
	assert_int_equal(l->total, total);
	if (!holder) {
		assert_true(!l->holders.n || !l->holders.v[0].thread);
		assert_int_equal(l->known, 0);
		return;
	}
	assert_true(l->holders.n && l->holders.v[0].thread);
	assert_int_equal(l->holders.v[0].thread->tid, holder);
	assert_int_equal(l->holders.v[0].blamed, blamed);
}

#endif
