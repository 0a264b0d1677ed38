/* SPDX-License-Identifier: MIT */
/* The holder behind which a thread waited for a lock for more than half of the time. */
#ifndef THAW_MODEL_BLAMED_H
#define THAW_MODEL_BLAMED_H

#include "model/charge/majority.h"
#include "model/model.h"

struct blamed_wait {
	uint64_t total; /* of all its waits for that lock */
	uint64_t ns;	/* of that: behind the holder */
	struct majority_vote vote;
};

struct blamed_waits {
	VEC(struct blamed_wait) list;
	struct map by_wait; /* lock and thread -> place in it */
};

void blamed_waits_init(struct blamed_waits *b, const struct model *m);
void blamed_waits_done(struct blamed_waits *b);
/* lock: its index with aliases resolved. NULL: no such holder, or not known. */
const struct thread *blamed_holder(const struct blamed_waits *b, const struct model *m,
				   uint32_t lock, const struct thread *th);

#endif
