/* SPDX-License-Identifier: MIT */
/*
 * Merges the records of all sources into the order of time, with a bounded window.
 *
 * Each source is nearly in order: records are out of place only where one interrupted the making of
 * another. So a lane per source is kept sorted by insertion from its end, and the lanes are merged
 * by their heads. A record is passed on when no earlier one can still come: when it is older than
 * the moment of the pull by more than the window. The window covers the time between a producer
 * reading the clock and its record being visible, which on a virtual machine includes the CPU being
 * taken away in between. What comes later than that is passed on at once, and counted.
 *
 * Whoever is passed a record and needs long for it can stash meanwhile: that copies what the
 * sources hold, so that they do not overflow. Order and completeness are as without.
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
/* The same without a window: at the end, when nobody produces any more. */
void order_drain(struct order *o, order_fn *fn, void *ctx);

/*
 * Takes what the sources hold into memory of its own, if there are less than `max` bytes of it
 * already; false otherwise. To be called by an order_fn, whose record's data is gone afterwards.
 */
bool order_stash(struct order *o, uint64_t now_ns, size_t max);

uint64_t order_late(const struct order *o);
/* The longest time between two looks at the sources, by the times that were passed in. */
uint64_t order_gap_ns(const struct order *o);

#endif
