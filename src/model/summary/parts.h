/* SPDX-License-Identifier: MIT */
/* The parts of a summary that are about locks, each in a file of its own. In this order. */
#ifndef THAW_MODEL_PARTS_H
#define THAW_MODEL_PARTS_H

#include "model/summary/summary.h"

/* lock_sum.c: s->locks, and s->lock_at. chosen: by thread index. */
void summary_locks(struct summary *s, const bool *chosen);
/* lock_holders.c, for lock_sum.c: their holders. */
void summary_holders(struct summary *s, const bool *chosen);
/* blame.c */
void summary_blame(struct summary *s, const bool *chosen);
/* blame_sum.c: of the rows, when they are sorted */
void blame_sum_rows(struct summary *s);
/* stuck.c */
void summary_stuck(struct summary *s, const bool *chosen);
/* stalls.c */
void summary_stalls(struct summary *s, const bool *chosen);
/* finding.c */
void summary_finding(struct summary *s);
void summary_parts_done(struct summary *s);

/*
 * Into s->locks, of a lock by the model's index; SIZE_MAX: none of the chosen threads waited on it.
 */
size_t summary_lock(const struct summary *s, uint32_t lock);
/* Can it have holders that thaw knows? */
bool lock_has_holders(const struct lock *l);

/* The kind of lock on a wait's stack, for kernels that keep no record of contention. */
enum lock_kind lock_kind_on_stack(struct model *m, uint32_t kstack);

/* lock_name.c: what a lock is called; *ret_named as in lock_sum. To be freed. */
char *lock_name(struct model *m, const struct lock *l, bool *ret_named);
/* The function that wanted a lock of the kernel: "pipe_write"; NULL. */
const char *lock_wanted_by(struct model *m, uint32_t kstack);

/* where.c: the function of a stack that tells the program's author most; UINT32_MAX: none. */
uint32_t where_function(struct names *names, uint32_t kstack, uint32_t ustack);
/* The function of the program that called this one; UINT32_MAX: none is known. */
uint32_t where_caller(struct names *names, uint32_t kstack, uint32_t ustack, uint32_t function);

/* blame.c: the reason of a culprit that waits or is runnable. */
enum reason charge_reason(const struct model *m, const struct charge *c);
/* blame.c: where most of the votes for a charge or hold (see struct vote) are. */
struct where {
	enum held_by by;
	uint32_t kstack, ustack;
};
/* The votes themselves: the first, and how many. */
size_t votes_of(const struct chain *c, uint32_t of, const struct vote **ret);
struct where where_of_votes(struct summary *s, uint32_t of, uint64_t running);

#endif
