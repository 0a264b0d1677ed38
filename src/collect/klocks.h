/* SPDX-License-Identifier: MIT */
/* What a lock of the kernel belongs to, as far as its address alone says. */
#ifndef THAW_COLLECT_KLOCKS_H
#define THAW_COLLECT_KLOCKS_H

#include <stdint.h>

#include "engine/engine.h"

/* Completes what the probes report: sets *what (enum klock_what) and *of where *what is ANY. */
void klock_settle(struct engine *e, uint64_t addr, uint32_t flags, uint32_t *what, uint64_t *of);

#endif
