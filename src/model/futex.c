// SPDX-License-Identifier: MIT
/*
 * What a futex is, from the words that lie there, and who holds it.
 *
 * glibc, 2.25 to 2.41; struct arch_libc (arch/arch.h) says where the members are:
 *   mutex     lock, count, owner, nusers, kind. Sleeps on lock while it is 2, by FUTEX_WAIT, or
 *             WAIT_BITSET where there is a timeout. Between unlocking and the next locking owner
 *             and nusers are 0. Many others use the same protocol on one word (Go's runtime, Rust's
 *             std, glibc's own locks in malloc and stdio): no owner, just a futex.
 *   robust    the same, but lock holds the owner's tid, FUTEX_WAITERS and FUTEX_OWNER_DIED
 *   PI        the same, FUTEX_LOCK_PI: the kernel keeps the tid there
 *   rwlock    readers, writers, wrphase, writers_futex, pad, pad, cur_writer. Readers sleep on
 *             wrphase while it is 3, writers on writers_futex while it is 3 or on wrphase while it
 *             is 2. An rwlock is aligned to 8 bytes, which tells the two words apart.
 *   join      the tid in the thread's own descriptor, which the kernel clears; a shared futex
 *   cond      a word that is 0 (from 2.41 on a count), by FUTEX_WAIT_BITSET with the real-time
 *             clock
 *   semaphore the same: value 0, waiters, private, pad
 *   barrier   the number of the round
 * CPython   the GIL is a condition variable at a known place: gil.h
 * musl: all mutexes but the normal ones have the owner's tid in the word slept on, as robust ones.
 *
 * One word proves nothing: memory is reused, and a tid is a small number. So an owner counts only
 * if it is a live thread of the same process, is not the waiter, and what is around it has the
 * shape of that kind of lock.
 */
#include <string.h>

#include "model/lock_events.h"
#include "model/model.h"
#include "timeline/machine.h"

enum {
	CMD_WAIT = 0,
	CMD_LOCK_PI = 6,
	CMD_WAIT_BITSET = 9,
	CMD_WAIT_REQUEUE_PI = 11,
	CMD_LOCK_PI2 = 13,
	OP_PRIVATE = 128,
	OP_REALTIME = 256,
};
#define TID_MASK 0x3fffffffu
#define WAITERS 0x80000000u
/* PTHREAD_MUTEX_ROBUST_NORMAL_NP and friends; struct_mutex.h's other bits are higher. */
#define KIND_ROBUST 0x10u
#define KIND_BITS 0x3ffu
#define USERS_MAX 100000u

/* What one event says. */
struct reading {
	uint8_t families;
	bool strong;
	uint64_t base; /* the lock's own address */
	uint32_t tid;  /* JOIN: of the thread that it waits for */
	const struct thread *owner;
};

struct context {
	const struct model *m;
	const struct arch_libc *libc;
	const struct ev_futex *e;
	const struct thread *th;
	uint32_t process;
	uint32_t place; /* what is known of the memory: of locks.places, + 1; 0: nothing */
	bool shared;
};

static struct lock_place *place_of(struct model *m, const struct context *c)
{
	return c->place ? &m->locks.places.v[c->place - 1] : NULL;
}

static const struct thread *owner_of(const struct context *c, uint32_t vtid)
{
	const struct thread *th =
		processes_thread(&c->m->processes, &c->m->timeline, c->th, vtid, c->shared);

	return th != c->th ? th : NULL;
}

/* The word `offset` bytes after the one slept on. */
static uint32_t futex_word_at(const struct ev_futex *e, unsigned offset)
{
	const uint32_t words[] = {e->word, e->word1, e->word2, e->word3, e->word4};

	return offset / 4 < ARRAY_LEN(words) ? words[offset / 4] : 0;
}

static bool mutex_shape(const struct context *c)
{
	uint32_t users = futex_word_at(c->e, c->libc->mutex_users);

	return users && users <= USERS_MAX &&
	       !(futex_word_at(c->e, c->libc->mutex_kind) & ~KIND_BITS);
}

static struct reading read_pi(const struct context *c)
{
	return (struct reading){.families = FAMILY_PI,
				.strong = true,
				.base = c->e->addr,
				.owner = owner_of(c, c->e->word & TID_MASK)};
}

/* A tid and a flag for waiters in the word itself: now, and when it went to sleep. */
static struct reading read_owned_word(const struct context *c)
{
	const struct ev_futex *e = c->e;
	struct reading r = {.families = FAMILY_MUTEX | FAMILY_OTHER, .base = e->addr};
	uint32_t kind = futex_word_at(e, c->libc->mutex_kind);
	bool robust = (kind & KIND_ROBUST) && !(kind & ~KIND_BITS);

	r.owner = owner_of(c, e->word & TID_MASK);
	r.strong = r.owner || owner_of(c, e->val & TID_MASK);
	if (r.strong)
		r.families = robust ? FAMILY_ROBUST : FAMILY_MUTEX;
	else if (robust)
		r.families |= FAMILY_ROBUST;
	return r;
}

/* The address of an rwlock from that of one of its futexes; the writer's tid follows it. */
static bool read_rwlock(const struct context *c, struct reading *r)
{
	const struct ev_futex *e = c->e;
	bool phase = !(e->addr & 7);
	unsigned at = phase ? c->libc->rwlock_phase : c->libc->rwlock_writers;
	uint32_t writer = futex_word_at(e, c->libc->rwlock_writer - at);

	if (phase ? e->word2 || e->word3 || e->word1 > 3 : e->word1 || e->word2 || e->word4 > 1)
		return false;
	r->owner = owner_of(c, writer);
	if (writer && !r->owner && writer != (c->th->vtid ? c->th->vtid : c->th->tid))
		return false;
	r->base = e->addr - at;
	return true;
}

static struct reading read_two(const struct context *c)
{
	const struct ev_futex *e = c->e;
	struct reading r = {.families = FAMILY_MUTEX | FAMILY_OTHER, .base = e->addr}, rw = {0};

	if (mutex_shape(c))
		r.owner = owner_of(c, futex_word_at(e, c->libc->mutex_owner));
	if (r.owner) {
		r.families = FAMILY_MUTEX;
		r.strong = true;
	} else if ((e->op & FUTEX_OP_CMD) == CMD_WAIT_BITSET && read_rwlock(c, &rw)) {
		r.families |= FAMILY_RWLOCK;
	}
	return r;
}

static struct reading read_three(const struct context *c)
{
	struct reading r = {.families = FAMILY_OTHER, .base = c->e->addr}, rw = {0};

	if ((c->e->op & FUTEX_OP_CMD) != CMD_WAIT_BITSET || !read_rwlock(c, &rw))
		return r;
	r.families |= FAMILY_RWLOCK;
	if (rw.owner) {
		r = rw;
		r.families = FAMILY_RWLOCK;
		r.strong = true;
	}
	return r;
}

static bool glibc_signal(const struct ev_futex *e)
{
	return (e->op & FUTEX_OP_CMD) == CMD_WAIT_BITSET && (e->op & OP_REALTIME);
}

static struct reading read_futex(const struct context *c)
{
	const struct ev_futex *e = c->e;
	struct reading plain = {.families = FAMILY_OTHER, .base = e->addr};
	uint32_t cmd = e->op & FUTEX_OP_CMD;
	const struct thread *ends;

	if (e->op & FUTEX_OP_UNREAD || !c->libc) {
		plain.families = FAMILY_ALL;
		return plain;
	}
	if (cmd == CMD_LOCK_PI || cmd == CMD_LOCK_PI2)
		return read_pi(c);
	if (cmd == CMD_WAIT_REQUEUE_PI || (glibc_signal(e) && !e->val)) {
		plain.families = FAMILY_SIGNAL;
		return plain;
	}
	if (e->val & WAITERS)
		return read_owned_word(c);
	ends = c->shared && cmd == CMD_WAIT_BITSET && e->val == e->word ? owner_of(c, e->val)
									: NULL;
	if (ends && ends->pid == c->th->pid) {
		plain.families = FAMILY_JOIN;
		plain.strong = true;
		plain.tid = ends->tid;
		return plain;
	}
	if (e->val == 2 || e->val == 3) {
		plain = e->val == 2 ? read_two(c) : read_three(c);
		if (glibc_signal(e) && !plain.strong)
			plain.families |= FAMILY_SIGNAL;
	} else if (c->shared && e->val == e->word) {
		plain.families |= FAMILY_JOIN;
	} else if (glibc_signal(e)) {
		plain.families = FAMILY_SIGNAL;
	} else if (!e->val) {
		plain.families |= FAMILY_SIGNAL;
	}
	return plain;
}

/* The key of a lock: its process and address, or where in which shared memory it is. */
static uint64_t futex_key_of(const struct context *c, uint64_t addr, const struct lock_place *p)
{
	if (c->shared && p && p->shared)
		return map_mix(p->shared) + map_mix(p->offset + (addr - p->addr)) + 1;
	return map_mix(map_mix(addr) + c->process);
}

/* The rwlock that one of its words belongs to, if it has been recognised before. */
static struct lock *known_rwlock(struct model *m, const struct context *c,
				 const struct lock_place *p, uint32_t *ret_index)
{
	uint64_t base =
		c->e->addr - (c->e->addr & 7 ? c->libc->rwlock_writers : c->libc->rwlock_phase);
	struct lock *lock = locks_find(&m->locks, futex_key_of(c, base, p), ret_index);

	return lock && lock->addr == base && lock->families == FAMILY_RWLOCK ? lock : NULL;
}

static void note_forms(struct lock *lock, const struct ev_futex *e, bool fresh)
{
	uint32_t cmd = e->op & FUTEX_OP_CMD;
	bool sem = !e->val && e->word1 && e->word1 <= USERS_MAX && !(e->word2 & ~128u) && !e->word3;

	lock->was_two = (fresh || lock->was_two) && e->val == 2;
	lock->was_zero = (fresh || lock->was_zero) && !e->val;
	lock->plain_wait = (fresh || lock->plain_wait) && cmd == CMD_WAIT;
	lock->realtime = (fresh || lock->realtime) && glibc_signal(e);
	lock->like_sem = (fresh || lock->like_sem) && sem;
}

static struct lock *lock_of(struct model *m, const struct context *c, const struct reading *r,
			    uint32_t *ret_index)
{
	const struct lock_place *p = place_of(m, c);
	uint64_t key = futex_key_of(c, r->base, p);
	struct lock *lock = NULL;

	if (c->libc && !r->strong && (r->families & FAMILY_RWLOCK) && !(c->e->op & FUTEX_OP_UNREAD))
		lock = known_rwlock(m, c, p, ret_index);
	if (lock)
		return lock;
	lock = locks_find(&m->locks, key, ret_index);
	if (lock && (!(lock->families & r->families) || (r->tid && r->tid != lock->of)))
		lock = NULL;
	if (!lock) {
		lock = locks_make(&m->locks, key, ret_index);
		lock->families = FAMILY_ALL;
		lock->addr = r->base;
		lock->process = c->process;
		lock->of = r->tid;
		note_forms(lock, c->e, true);
	}
	note_forms(lock, c->e, false);
	lock->families &= r->families;
	lock->strong |= r->strong;
	if (!lock->place && p) {
		lock->place = c->place;
		lock->shared = c->shared ? p->shared : 0;
	}
	return lock;
}

/*
 * Condition variables and joins have no holder; that of an unknown futex cannot be known, and that
 * of the GIL is in no word here.
 */
static bool may_have_holder(const struct lock *lock)
{
	return lock->families & FAMILY_HELD && lock->families != FAMILY_GIL;
}

/*
 * Words read later than the event show the holder at that later time. If that thread has slept
 * since the event, it already held the lock then: no thread gets a lock asleep. Whether it slept on
 * until the words were read is seen by how long it sleeps (follow.c).
 */
static bool tells_holder(const struct ev_futex *e, const struct reading *r, uint64_t ts)
{
	return !(e->op & FUTEX_OP_LATER) ||
	       (r->owner && r->owner->life && r->owner->life->asleep_at == ts);
}

/*
 * The kernel hands a PI mutex over: it writes the next owner into the word, then wakes it. A reader
 * in between finds an owner that still sleeps on the mutex, and has not had it yet. The waking
 * tells the rest. (The kernel lets no thread sleep on a PI mutex that it owns.)
 */
static bool is_handed_over(const struct lock *lock, uint32_t index, const struct thread *owner)
{
	return lock->families == FAMILY_PI && owner && owner->life &&
	       owner->life->phase == INTERVAL_WAITING && owner->life->lock == index + 1;
}

void futex_event(struct model *m, const struct event *ev, uint64_t ts)
{
	const struct ev_futex *e = &ev->futex;
	struct thread *th = life_alive(&m->timeline, e->tid);
	struct context c = {.m = m, .libc = m->arch ? &m->arch->libc : NULL, .e = e, .th = th};
	struct reading r;
	struct lock *lock;
	uint64_t condition = 0;
	uint32_t index;

	if (!th)
		return;
	c.shared = e->op & FUTEX_OP_SHARED || !(e->op & OP_PRIVATE);
	c.process = processes_of(&m->processes, th);
	c.place = locks_place(&m->locks, c.process, e->addr);
	r = read_futex(&c);
	if (gil_is_condition(m, e, place_of(m, &c), &condition))
		r = (struct reading){.families = FAMILY_GIL, .strong = true, .base = condition};
	lock = lock_of(m, &c, &r, &index);
	if (lock->families == FAMILY_GIL)
		gil_sleep(m, condition, th, index, ts);
	th->life->futex = index + 1;
	th->life->announced = ts;
	if (th->life->klock && m->locks.list.v[th->life->klock - 1].kind == LOCK_RTMUTEX &&
	    lock->families == FAMILY_PI)
		th->life->klock = 0;
	if (!may_have_holder(lock) || !tells_holder(e, &r, ts) ||
	    is_handed_over(lock, index, r.owner))
		return;
	if (e->op & FUTEX_OP_LATER)
		chain_held_later(&m->chain, index, ts, (struct thread *)r.owner);
	else
		chain_seen(&m->chain, index, ts, r.owner ? SEEN_HELD : SEEN_NOBODY,
			   (struct thread *)r.owner);
}
