/* SPDX-License-Identifier: MIT */
/*
 * Waits that only the end of the thread ended. When a process exits, or is killed, the kernel wakes
 * all of its threads for their own end: to the timeline these waits look as if somebody had ended
 * them. A deadlock among them would be over, and its killer the one who resolved it.
 *
 * Who lets go of a user-space lock, or signals a condition, is in a call on that futex when it
 * wakes somebody (WAKE_RELEASE). So a thread that another one woke from a futex without that, and
 * that ended before it waited for anything else, was woken to end.
 */
#ifndef THAW_MODEL_KILLED_H
#define THAW_MODEL_KILLED_H

#include "base/vec.h"
#include "timeline/interval.h"

struct model;

/* The last wait of a thread, if nobody let go of what it waited for. */
struct last_wait {
	const struct thread *thread; /* NULL: there is none */
	uint64_t start, end;
	uint64_t ns; /* of it in the window */
	uint32_t lock, row, call;
	struct waker waker;
};

typedef VEC(struct last_wait) last_wait_vec; /* by thread */

/* A wait has ended; row is of the tally. */
void killed_waited(struct model *m, const struct interval *iv, uint32_t row);
/* At the end: such waits of threads that have ended become open ones, woken by nobody. */
void killed_settle(struct model *m);

#endif
