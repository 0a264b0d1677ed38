/* SPDX-License-Identifier: MIT */
/* The cases of user-space locks; most are a contest (lib/contest.h). */
#ifndef WORKLOAD_LOCKS_H
#define WORKLOAD_LOCKS_H

#include "lib/contest.h"

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
void case_condition(const struct args *a);
void case_join(const struct args *a);
void case_shared(const struct args *a);
void case_nested(const struct args *a);
void case_heap(const struct args *a);
void case_member(const struct args *a);
void case_inner(const struct args *a);
void case_array(const struct args *a);
void case_stack(const struct args *a);
void case_function(const struct args *a);
void case_twins(const struct args *a);

#endif
