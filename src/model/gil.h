/* SPDX-License-Identifier: MIT */
/*
 * CPython's global interpreter lock, the GIL: a flag with a mutex and a condition variable, in the
 * interpreter's own memory (the symbol _PyRuntime). A thread that wants it waits for the condition,
 * 5 ms at a time, and a thread that lets go of it signals the condition. So its waits look like
 * waits for work, and no word says who has it. What tells who had it, and when:
 *   - a signal that wakes a waiter: the signaller had it until then. A waiter that is just between
 *     two of its waits needs no waking, so many signals go unseen;
 *   - a second condition, after the first one and its mutex. A thread that was asked to let go
 *     waits there until another one has taken the GIL: it had the GIL until it waits, and the
 *     thread that wakes it has taken it;
 *   - a thread that waited for the GIL, then ran, and waits for it again without any other wait: it
 *     got it at the end of the first wait, and was made to let go before the second.
 *
 * The layout is that of Python 3.2 to 3.13. Interpreters with a GIL of their own (3.12) have it
 * elsewhere: their waits stay waits for a condition variable.
 */
#ifndef THAW_MODEL_GIL_H
#define THAW_MODEL_GIL_H

#include "base/map.h"
#include "base/vec.h"
#include "wire/event.h"

struct interval;
struct lock_place;
struct model;
struct thread;

struct gil {
	uint64_t condition; /* its address; the second one lies higher */
	uint32_t process;
	uint32_t lock;	/* index */
	uint32_t taker; /* the tid last seen to take it; 0: it has let go, or is not known */
};

/* The last wait of a thread. */
struct gil_waiter {
	uint64_t end;
	uint32_t lock; /* + 1; 0: it was no lock */
};

struct gils {
	VEC(struct gil) list;
	struct map by_process;	       /* -> place in list + 1 */
	VEC(struct gil_waiter) waited; /* by thread; empty as long as there is no GIL */
};

void gils_done(struct gils *g);

/*
 * Is this sleep on one of the two conditions? *ret is the condition's address then. p: what is
 * known of the memory slept on; NULL: nothing.
 */
bool gil_is_condition(struct model *m, const struct ev_futex *e, struct lock_place *p,
		      uint64_t *ret);
/* The lock that was made for such a condition, and who is going to sleep on it. */
void gil_sleep(struct model *m, uint64_t condition, struct thread *th, uint32_t lock, uint64_t ts);
/* A wait of any kind has ended. */
void gil_waited(struct model *m, const struct interval *iv);
/* True if this wake is by a thread that has just taken the GIL, not one that let go. */
bool gil_wakes(struct model *m, uint32_t lock, struct thread *waker, uint64_t ts);
/*
 * Before the timeline sees it: a thread that has taken the GIL lets go of it before it waits for
 * anything.
 */
void gil_switch(struct model *m, const struct ev_switch_ *e, uint64_t ts);
/* All that belongs to one GIL becomes one lock, when kinds are decided. */
void gil_join(struct model *m);

#endif
