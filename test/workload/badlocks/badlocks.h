/* SPDX-License-Identifier: MIT */
/* The cases of locks about which it is easy to be wrong. */
#ifndef WORKLOAD_BADLOCKS_H
#define WORKLOAD_BADLOCKS_H

#include "lib/contest.h"

/* futex(2), which libc has no function for. A timeout of 0 is none. */
long futex_sleep(_Atomic uint32_t *word, uint32_t val, uint64_t timeout_ns);
long futex_wake(_Atomic uint32_t *word);

void case_handmade(const struct args *a);
void case_mimic(const struct args *a);
void case_bitset(const struct args *a);
void case_waitv(const struct args *a);
void case_futex2(const struct args *a);
void case_edge(const struct args *a);
void case_unmapped(const struct args *a);
void case_killed(const struct args *a);
void case_reused(const struct args *a);
void case_dead_owner(const struct args *a);
void case_tids(const struct args *a);

#endif
