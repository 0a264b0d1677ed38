/* SPDX-License-Identifier: MIT */
/*
 * How much of the machine thaw may use, and what it gives up when that is too much. Pure: given the
 * time and what was used, it says what to do.
 *
 * What counts is a share of all CPU time of the machine, over a window of some seconds: a burst is
 * no reason to step back, and after each step a whole window passes before the next. The first
 * seconds do not count: thaw then looks at everything for the first time.
 */
#ifndef THAW_GUARD_BUDGET_H
#define THAW_GUARD_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/step.h"

#define BUDGET_WHOLE 1000000u /* shares are millionths */
#define BUDGET_DEFAULT 30000u
#define BUDGET_START_NS 2000000000ull
#define BUDGET_WINDOW_NS 4000000000ull

struct budget {
	uint64_t limit; /* BUDGET_WHOLE: none */
	uint64_t cpus;
	uint64_t since, used; /* the window's start, and what had been used by then */
};

/* The first window begins BUDGET_START_NS after `now`. */
void budget_init(struct budget *b, uint64_t limit, uint64_t cpus, uint64_t now);
/* A new window begins: what has been used so far is forgotten. */
void budget_restart(struct budget *b, uint64_t now, uint64_t used_ns);
/*
 * `used_ns` only grows, as a rule. True at the end of a window in which too much was used; the
 * share is that of the last whole window.
 */
bool budget_over(struct budget *b, uint64_t now, uint64_t used_ns, uint64_t *ret_share);

/*
 * What counts of `used_ns`, in which the `build_ns` of unwind tables are: not the first `free_ns`
 * of those.
 */
uint64_t budget_counted(uint64_t used_ns, uint64_t build_ns, uint64_t free_ns);

/* ---- what to give up ---- */

enum alarm {
	ALARM_NOTE,	/* worth a note; nothing is given up */
	ALARM_LOAD,	/* thaw costs too much: one thing after the other */
	ALARM_SAMPLING, /* interrupts take too long: the samples, and nothing else */
	ALARM_GRAVE,	/* a CPU hangs: thaw detaches, whoever is at fault */
};

struct ladder {
	uint32_t left; /* steps that can still be taken, a bit each; DETACH can always be */
};

void ladder_init(struct ladder *l, bool rate, bool wait_stacks, bool samples);
/* The step to take, which is then used up; STEP_NOTED: there is nothing to give up for this. */
enum step ladder_next(struct ladder *l, enum alarm alarm);

#endif
