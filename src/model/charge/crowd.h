/* SPDX-License-Identifier: MIT */
/* Sums over crowds (chain.h), for the victims chosen. */
#ifndef THAW_MODEL_CROWD_H
#define THAW_MODEL_CROWD_H

#include "model/charge/chain.h"

struct crowd_charge_sum {
	uint64_t total, count; /* as of a charge_victim */
	uint64_t parts;	       /* of waits in this sum: the cost of listing its victims */
};

struct crowd_hold_sum {
	uint64_t blamed, count; /* as of a hold_victim */
	uint64_t doing[4];
};

/* By charge and by hold; NULL if there is no crowd. */
struct crowd_sums {
	struct crowd_charge_sum *charges;
	struct crowd_hold_sum *holds;
};

/* chosen: by thread. */
void crowd_sums_init(struct crowd_sums *s, const struct chain *c, const bool *chosen);
void crowd_sums_done(struct crowd_sums *s);

/* Adds only the totals of charges, by charge. */
void crowd_totals(const struct chain *c, const bool *chosen, uint64_t *totals);

/*
 * Sums of a crowd outside of a model: holds are numbered below n, and no part has a charge. Call
 * crowd_order() first.
 */
void crowd_sum_holds(const struct crowd *k, const bool *chosen, size_t n, struct crowd_sums *ret);
/* Brings the waits into their order. */
void crowd_order(struct crowd *k);
void crowd_done(struct crowd *k);

/*
 * crowd_victims.c: what each victim lost to some charges. slots, by charge, count from 1; 0: skip
 * it.
 */
typedef void (*crowd_victim_fn)(void *arg, uint32_t charge, uint32_t victim, uint64_t total,
				uint64_t count);
void crowd_victims(const struct chain *c, const bool *chosen, size_t threads, const uint32_t *slots,
		   size_t n, crowd_victim_fn fn, void *arg);

#endif
