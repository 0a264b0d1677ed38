/* SPDX-License-Identifier: MIT */
/*
 * Finds the holder of a lock when a thread began to wait for it, while a capture is walked. A
 * thread that goes to sleep on a lock is a sign of its holder, and the next sign of the lock
 * confirms or refutes it. This keeps the last two waits of each thread and, by lock, the one
 * without a next sign yet: memory does not grow with the events.
 */
#ifndef THAW_EXPORT_HOLDERS_H
#define THAW_EXPORT_HOLDERS_H

#include "base/map.h"
#include "base/vec.h"
#include "model/model.h"

/* A thread's wait for a lock. */
struct holder_wait {
	struct seen sign; /* with which it began */
	uint32_t holder;  /* thread index + 1; 0: not known */
};

struct holders {
	/* Two for each thread: a wait is handed out when the thread has gone to sleep again. */
	VEC(struct holder_wait) waits;
	struct map by_tid;  /* -> place of the later one + 1; the other one is its neighbour */
	struct map by_lock; /* -> place + 1 of the one that began with the last sign; or 0 */
	uint32_t going;	    /* tid of the thread that the last event puts to sleep; 0: none */
};

/* For walk.event and walk.seen. */
void holders_event(struct holders *h, const struct event *ev);
void holders_seen(struct holders *h, const struct seen *seen);

/* The holder for a wait that a walk hands out: thread index + 1; 0: not known. */
uint32_t holders_interval(const struct holders *h, const struct interval *iv);
void holders_done(struct holders *h);

#endif
