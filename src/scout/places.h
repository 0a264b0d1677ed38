/* SPDX-License-Identifier: MIT */
/*
 * What lies at the address of a lock: data of a program or library, the heap, a stack, memory that
 * processes share. Asked once for each address of each process, while the process still lives.
 */
#ifndef THAW_SCOUT_PLACES_H
#define THAW_SCOUT_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "scout/procs.h"
#include "scout/scout.h"
#include "wire/event.h"

struct places;

struct places *places_new(struct procs *procs, struct scout *scout);
void places_free(struct places *p);

/*
 * True, with the answer, if this address has not been answered before. Also false while the answer
 * is not known, because a process is not read often (scout.h): ask again. May wait a little.
 */
bool places_ask(struct places *p, uint32_t pid, uint64_t addr, struct ev_place *ret);
/* The process runs another program, or has ended: its addresses mean something else now. */
void places_forget(struct places *p, uint32_t pid);
/* How many questions had no answer. */
uint64_t places_untold(const struct places *p);

#endif
