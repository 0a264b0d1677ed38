/* SPDX-License-Identifier: MIT */
/*
 * Turns the stack ids that probes send into stacks of the file.
 *
 * A probe sends a stack's addresses once and its id from then on. Which code the addresses stand
 * for depends on the process, so the pair (id, version of the process's mappings) is turned into
 * frames (module and offset) once, and remembered by its index. The writer gets those frames once.
 *
 * Memory is bounded: when the addresses fill their budget, a new generation begins, the engine is
 * asked to send every stack again, and the generation before the last is forgotten.
 */
#ifndef THAW_COLLECT_STACKS_H
#define THAW_COLLECT_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"
#include "scout/procs.h"
#include "store/writer.h"
#include "wire/unwind.h"

struct stacks;

struct stacks *stacks_new(struct writer *w, struct procs *p, struct engine *e, size_t budget_bytes);
void stacks_free(struct stacks *s);

void stacks_add(struct stacks *s, uint64_t id, const uint64_t *ips, size_t n,
		enum unwind_stop stop);
/* The file's index for a stack: 0 for id 0, and for one that was never sent (counted). */
uint32_t stacks_kernel(struct stacks *s, uint64_t id);
/* May wait a little for what the process has mapped. */
uint32_t stacks_user(struct stacks *s, uint64_t id, uint32_t pid);
/* Stacks of processes whose mappings were not known: their frames have no module. */
uint64_t stacks_unread(const struct stacks *s);
uint64_t stacks_gone(const struct stacks *s);

#endif
