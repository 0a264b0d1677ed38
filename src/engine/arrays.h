/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables that only the collector uses, in its own memory, which grows with need. And how
 * large the tables may become, for all engines.
 */
#ifndef THAW_ENGINE_ARRAYS_H
#define THAW_ENGINE_ARRAYS_H

#include "engine/engine.h"

/* In shelves: the bytes asked for, or (0) a 32nd of the machine's memory. */
uint32_t arrays_max_shelves(uint64_t asked);

/* False: no memory. Call arrays_close() all the same. */
bool arrays_open(struct unwind_arrays *a, uint64_t asked);
void arrays_close(struct unwind_arrays *a);

#endif
