/* SPDX-License-Identifier: MIT */
/* The parts of a summary that are about locks, each in a file of its own. In this order. */
#ifndef THAW_MODEL_PARTS_H
#define THAW_MODEL_PARTS_H

#include "model/summary.h"

/* lock_sum.c: s->locks, and s->lock_at. chosen: by thread index. */
void summary_locks(struct summary *s, const bool *chosen);
/* blame.c */
void summary_blame(struct summary *s, const bool *chosen);
/* stalls.c */
void summary_stalls(struct summary *s, const bool *chosen);
/* finding.c */
void summary_finding(struct summary *s);
void summary_parts_done(struct summary *s);

/* Into s->locks, of a lock by the model's index; SIZE_MAX: none of the chosen threads waited on it.
 */
size_t summary_lock(const struct summary *s, uint32_t lock);
/* Its holders are known, as far as they can be. */
bool lock_has_holders(const struct lock *l);

/* A kernel that keeps no record of contention: what a wait's stack shows of the lock. */
enum lock_kind lock_kind_on_stack(struct model *m, uint32_t kstack);

/* lock_name.c: what a lock is called; *ret_named as in lock_sum. To be freed. */
char *lock_name(struct model *m, const struct lock *l, bool *ret_named);
/* The function that wanted a lock of the kernel: "pipe_write"; NULL. */
const char *lock_wanted_by(struct model *m, uint32_t kstack);

/* where.c: the function of a stack that its program's author knows; UINT32_MAX: none. */
uint32_t where_function(struct names *names, uint32_t kstack, uint32_t ustack);

/* blame.c: where most of the votes for a charge or hold (see struct vote) are. */
struct where {
	enum held_by by;
	uint32_t kstack, ustack;
};
struct where where_of_votes(struct summary *s, uint32_t of, uint64_t running);

#endif
