/* SPDX-License-Identifier: MIT */
/*
 * The contest: threads that again and again wait for a lock, hold it for 0.2 to 3 ms, computing or
 * asleep, and let it go, until the time is up. All of it is logged (lib/locklog.h).
 */
#ifndef WORKLOAD_CONTEST_H
#define WORKLOAD_CONTEST_H

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

#endif
