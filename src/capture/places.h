/* SPDX-License-Identifier: MIT */
/*
 * What lies at the address of a lock: data of a program or library, the heap, a stack, memory that
 * processes share. Asked once for each address of each process, while the process still lives.
 */
#ifndef THAW_CAPTURE_PLACES_H
#define THAW_CAPTURE_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/procs.h"
#include "wire/event.h"

struct places;

struct places *places_new(struct procs *procs);
void places_free(struct places *p);

/*
 * True, and the answer, if this address has not been answered before. False also when it cannot be
 * told yet: a process's mappings are read only so often, and `now` is the time; ask again.
 */
bool places_ask(struct places *p, uint32_t pid, uint64_t addr, uint64_t now, struct ev_place *ret);
/* The process runs another program, or has ended: its addresses mean something else now. */
void places_forget(struct places *p, uint32_t pid);

#endif
