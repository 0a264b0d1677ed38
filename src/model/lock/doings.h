/* SPDX-License-Identifier: MIT */
/*
 * What somebody did while others waited for it, as one sum: "51% waiting for the disk, 40%
 * running". The first sentence, stalls, holders and blame all take their words from one of these.
 */
#ifndef THAW_MODEL_DOINGS_H
#define THAW_MODEL_DOINGS_H

#include "base/vec.h"
#include "timeline/interval.h"
#include "timeline/reason.h"

struct doing {
	enum interval_kind kind; /* LOST: not known */
	enum reason reason;	 /* WAITING and RUNNABLE: what for */
	uint64_t ns;
};

struct doings {
	struct doing *v; /* the most first, after doings_order() */
	size_t n, room;
	uint64_t total;
};

void doings_add(struct doings *d, enum interval_kind kind, enum reason reason, uint64_t ns);
void doings_order(struct doings *d);
void doings_done(struct doings *d);
/* The first, if it is nearly all of the time; else NULL. d is ordered. */
const struct doing *doings_alone(const struct doings *d);
/* How many to name: three at most, and no small ones. d is ordered. */
size_t doings_told(const struct doings *d);

#endif
