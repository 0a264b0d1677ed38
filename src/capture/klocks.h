/* SPDX-License-Identifier: MIT */
/* What a lock of the kernel belongs to, as far as its address alone tells. */
#ifndef THAW_CAPTURE_KLOCKS_H
#define THAW_CAPTURE_KLOCKS_H

#include <stdint.h>

#include "capture/engine.h"

/* Completes what the probes have told: *what (enum klock_what) and *of are set where it is ANY. */
void klock_settle(struct engine *e, uint64_t addr, uint32_t flags, uint32_t *what, uint64_t *of);

#endif
