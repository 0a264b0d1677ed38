// SPDX-License-Identifier: MIT
/*
 * The types of mutex: normal, recursive, error-checking, adaptive, with priority inheritance,
 * robust; and a lock that is tried for a while before anybody sleeps on it.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include "locks/locks.h"

static void must(int rc, const char *what)
{
	if (rc)
		die("%s: %s", what, strerror(rc));
}

/* A mutex NAME_lock, and wait_NAME(), hold_NAME() and let_NAME() with it. */
#define MUTEX(name)                                                                                \
	extern pthread_mutex_t name##_lock;                                                        \
	pthread_mutex_t name##_lock;                                                               \
	static struct lock *name##_truth;                                                          \
	KEEP static void wait_##name(struct actor *a)                                              \
	{                                                                                          \
		int rc;                                                                            \
                                                                                                   \
		wait_begin(a, name##_truth);                                                       \
		rc = pthread_mutex_lock(&name##_lock);                                             \
		wait_end(a);                                                                       \
		must(rc, "pthread_mutex_lock");                                                    \
		hold_begin(a, name##_truth, false);                                                \
	}                                                                                          \
	KEEP static void hold_##name(struct actor *a)                                              \
	{                                                                                          \
		hold_time(a);                                                                      \
		sink++;                                                                            \
	}                                                                                          \
	KEEP static void let_##name(struct actor *a)                                               \
	{                                                                                          \
		hold_end(a, name##_truth);                                                         \
		must(pthread_mutex_unlock(&name##_lock), "pthread_mutex_unlock");                  \
	}

#define TURN(name) (&(const struct turn){wait_##name, hold_##name, let_##name})

static struct lock *mutex_make(pthread_mutex_t *m, int type, int protocol, int robust,
			       const char *name, const char *kind)
{
	pthread_mutexattr_t attr;

	must(pthread_mutexattr_init(&attr), "pthread_mutexattr_init");
	must(pthread_mutexattr_settype(&attr, type), "pthread_mutexattr_settype");
	must(pthread_mutexattr_setprotocol(&attr, protocol), "pthread_mutexattr_setprotocol");
	must(pthread_mutexattr_setrobust(&attr, robust), "pthread_mutexattr_setrobust");
	must(pthread_mutex_init(m, &attr), "pthread_mutex_init");
	pthread_mutexattr_destroy(&attr);
	return lock_add(name, kind, m, sizeof(*m));
}

#define MUTEX_CASE(name, type, protocol, robust, kind)                                             \
	MUTEX(name)                                                                                \
	void case_##name(const struct args *a)                                                     \
	{                                                                                          \
		name##_truth =                                                                     \
			mutex_make(&name##_lock, type, protocol, robust, #name "_lock", kind);     \
		contest_run(a, TURN(name), 1);                                                     \
	}

MUTEX_CASE(normal, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, "mutex")
MUTEX_CASE(errorcheck, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, "mutex")
MUTEX_CASE(pi, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED, "pi_mutex")
MUTEX_CASE(robust, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST, "robust_mutex")
#ifdef __GLIBC__
MUTEX_CASE(adaptive, PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED, "mutex")
#endif

/* ---- recursive: every second turn takes it twice ---- */

MUTEX(recursive)

KEEP static void hold_recursive_deeper(struct actor *a)
{
	must(pthread_mutex_lock(&recursive_lock), "pthread_mutex_lock");
	hold_recursive(a);
	must(pthread_mutex_unlock(&recursive_lock), "pthread_mutex_unlock");
}

KEEP static void hold_recursive_by_turns(struct actor *a)
{
	if (a->n_holds % 2)
		hold_recursive_deeper(a);
	else
		hold_recursive(a);
	sink++;
}

void case_recursive(const struct args *a)
{
	const struct turn turn = {wait_recursive, hold_recursive_by_turns, let_recursive};

	recursive_truth = mutex_make(&recursive_lock, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE,
				     PTHREAD_MUTEX_STALLED, "recursive_lock", "mutex");
	contest_run(a, &turn, 1);
}

/* ---- spinning: 50 us of attempts first ---- */

MUTEX(spinning)

KEEP static void spin_then_wait(struct actor *a)
{
	uint64_t until = now_ns() + 50 * NSEC_PER_USEC;

	while (now_ns() < until) {
		if (!pthread_mutex_trylock(&spinning_lock)) {
			hold_begin(a, spinning_truth, false);
			return;
		}
	}
	wait_spinning(a);
	sink++;
}

void case_spinning(const struct args *a)
{
	const struct turn turn = {spin_then_wait, hold_spinning, let_spinning};

	spinning_truth = mutex_make(&spinning_lock, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE,
				    PTHREAD_MUTEX_STALLED, "spinning_lock", "mutex");
	contest_run(a, &turn, 1);
}
