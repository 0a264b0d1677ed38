/* SPDX-License-Identifier: MIT */
/*
 * Merges the records of all sources into the order of time, with a bounded window.
 *
 * Each source is nearly in order: records are out of place only where one interrupted the making of
 * another. So a lane per source is kept sorted by insertion from its end, and the lanes are merged
 * by their heads. A record is passed on when no earlier one can still come: when it is older than
 * the moment of the pull by more than the window. The window covers the time from a producer's
 * reading of the clock until its record is visible; on a virtual machine the CPU may be taken away
 * in between. A record that comes even later is passed on at once, and counted.
 *
 * An order_fn that needs long for a record can stash meanwhile: that copies what the sources hold,
 * so that they do not overflow. Order and completeness stay the same.
 */
#ifndef THAW_RING_ORDER_H
#define THAW_RING_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "ring/source.h"

typedef void order_fn(void *ctx, const struct record *rec);

struct order;

/* Borrows the sources. */
struct order *order_new(struct source **sources, size_t n, uint64_t window_ns);
void order_free(struct order *o);

/* Pulls everything, passes on what is older than now - window, releases it. */
void order_run(struct order *o, uint64_t now_ns, order_fn *fn, void *ctx);
/* The same without a window: at the end, when no producer runs any more. */
void order_drain(struct order *o, order_fn *fn, void *ctx);

/*
 * Copies what the sources hold into its own memory, unless `max` bytes are there already (false).
 * Only for an order_fn, whose record's data is gone afterwards.
 */
bool order_stash(struct order *o, uint64_t now_ns, size_t max);

/* How much was copied and is not passed on yet. */
size_t order_stashed(const struct order *o);

uint64_t order_late(const struct order *o);
/* The longest time between two looks at the sources, by the times that were passed in. */
uint64_t order_gap_ns(const struct order *o);

#endif
