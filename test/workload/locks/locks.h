/* SPDX-License-Identifier: MIT */
/*
 * The cases of user-space locks, and the contest that most of them are: threads that again and
 * again wait for a lock, hold it for 0.2 to 3 ms, computing or asleep, and let it go.
 */
#ifndef WORKLOAD_LOCKS_H
#define WORKLOAD_LOCKS_H

#include "lib/base.h"
#include "lib/cases.h"
#include "lib/locklog.h"

/* What a contestant does; each case has functions of its own, whose names are in the stacks. */
struct turn {
	void (*wait)(struct actor *a);
	void (*hold)(struct actor *a);
	void (*let)(struct actor *a);
};

/* As many contestants as the arguments say; i takes turns[i % n]. */
void contest_run(const struct args *a, const struct turn *turns, size_t n);

/* The same, in processes: the even ones in this process, the odd ones in another one. */
void contest_run_shared(const struct args *a, const struct turn *turns, size_t n,
			void (*other_begins)(void));

/* How a holder spends its time, and what a contestant does between two turns. */
void hold_time(struct actor *a);
void pause_time(struct actor *a);

void case_normal(const struct args *a);
void case_recursive(const struct args *a);
void case_errorcheck(const struct args *a);
void case_adaptive(const struct args *a);
void case_pi(const struct args *a);
void case_robust(const struct args *a);
void case_spinning(const struct args *a);
void case_rwlock(const struct args *a);
void case_semaphore(const struct args *a);
void case_pool(const struct args *a);
void case_join(const struct args *a);
void case_shared(const struct args *a);
void case_nested(const struct args *a);
void case_heap(const struct args *a);
void case_member(const struct args *a);
void case_inner(const struct args *a);
void case_array(const struct args *a);
void case_stack(const struct args *a);
void case_function(const struct args *a);

#endif
