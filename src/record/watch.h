/* SPDX-License-Identifier: MIT */
/*
 * Looks after the machine while it is being recorded: the kernel's distress lines in /dev/kmsg,
 * kernel.perf_event_max_sample_rate, which the kernel lowers for everybody when samples take too
 * long, and what thaw itself uses. When one of them is alarming, the watch takes a step: fewer
 * samples, no stacks of waits, no samples, and at last no probes. The caller reports each.
 */
#ifndef THAW_RECORD_WATCH_H
#define THAW_RECORD_WATCH_H

#include "engine/engine.h"
#include "wire/step.h"

struct watch;

struct watch_news {
	enum step step; /* already taken, but for STEP_DETACH, which is the caller's */
	enum step_cause cause;
	uint64_t value, limit; /* see wire/step.def */
	const char *note;      /* valid until the next look; "": none */
};

struct watch *watch_new(const struct plan *plan, struct engine *e, uint64_t now);
void watch_free(struct watch *w);

/*
 * Call often, and again while it returns true. `used_ns`: CPU time that thaw has used so far, the
 * probes' own not included.
 */
bool watch_look(struct watch *w, uint64_t now, uint64_t used_ns, struct watch_news *ret);
/* Starts the budget anew after a time in which nobody looked. */
void watch_resume(struct watch *w, uint64_t now, uint64_t used_ns);
/* Can the kernel's log be read? */
bool watch_sees_log(const struct watch *w);

#endif
