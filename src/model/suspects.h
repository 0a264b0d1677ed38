/* SPDX-License-Identifier: MIT */
/*
 * Readers of a lock of the kernel leave no trace, so its holder may be unknown. What is known is
 * which threads ran in the kernel meanwhile: samples of other threads that were taken inside the
 * kernel while somebody slept on the lock. That proves nothing, so reports only say that they ran
 * there.
 */
#ifndef THAW_MODEL_SUSPECTS_H
#define THAW_MODEL_SUSPECTS_H

#include "base/map.h"
#include "model/lock/locks.h"
#include "model/wait/tally.h"

/* Locks that are slept on at the same time and looked at. */
enum { SUSPECT_LOCKS = 8 };

struct suspects {
	struct slept_on {
		const struct thread *thread; /* the last to go to sleep on it; NULL: none */
		uint32_t lock;		     /* + 1 */
	} locks[SUSPECT_LOCKS];
	size_t next;
	struct map samples; /* lock and row of the tally -> how many */
};

struct suspect {
	const struct thread *thread;
	uint64_t samples;
	uint32_t row; /* of the tally: where it was found most often */
};

/* The thread goes to sleep on this lock (index + 1). */
void suspects_sleep(struct suspects *s, const struct thread *th, uint32_t lock);
void suspects_sample(struct suspects *s, const struct locks *l, const struct thread *th,
		     uint32_t row);
/*
 * The threads that were found most often while others slept on the lock (an index), the most often
 * first; returns how many, and the samples of all.
 */
size_t suspects_of(const struct suspects *s, const struct tally *t, uint32_t lock,
		   struct suspect *ret, size_t room, uint64_t *ret_all);
void suspects_done(struct suspects *s);

#endif
