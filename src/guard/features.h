/* SPDX-License-Identifier: MIT */
/*
 * What works here, found out by trying: features.def has the list. Nothing is attached, and nothing
 * that is opened for a try ever runs.
 */
#ifndef THAW_GUARD_FEATURES_H
#define THAW_GUARD_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

#include "guard/facts.h"

enum guard_feature {
#define FEATURE(id, UPPER, name, words) FEATURE_##UPPER = id,
#include "guard/features.def"
	FEATURES,
};

struct guard_features {
	uint32_t have;	 /* a bit for each enum guard_feature */
	int clock_errno; /* why there is no CLOCK_SELF */

	/* Offsets from the kernel's BTF, 0 if it lacks them: see probe/lib/compat.bpf.h. */
	uint64_t runqueues_off, preempt_count_off; /* in the per-CPU section */
	uint64_t rq_lock_off;			   /* of the lock in a runqueue */
};

static inline bool guard_has(const struct guard_features *f, enum guard_feature what)
{
	return f->have >> what & 1;
}

void guard_features_probe(struct guard_features *f, const struct guard_facts *facts);

const char *guard_feature_name(enum guard_feature what);
const char *guard_feature_words(enum guard_feature what);

#endif
