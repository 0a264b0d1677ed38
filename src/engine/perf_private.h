/* SPDX-License-Identifier: MIT */
/* What the two files of the perf engine share: engine_perf.c and perf_events.c. */
#ifndef THAW_ENGINE_PERF_PRIVATE_H
#define THAW_ENGINE_PERF_PRIVATE_H

#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"
#include "engine/cpus.h"
#include "engine/engine.h"
#include "engine/perf_limits.h"
#include "engine/perf_stream.h"

struct event_fd {
	int fd;
	uint32_t source; /* that it writes to */
};

struct perf_engine {
	struct engine base;
	struct perf_setup setup;
	struct perf_limits limits;
	struct cpu_list online;
	int *outputs; /* borrowed from the sources: those of all CPUs, then those for waits */
	VEC(struct event_fd) events;
	struct map sets;     /* tids that have their own set */
	uint64_t *open_lost; /* by source: lost records that no record reports */
	bool slow_close;     /* the kernel must have time between stopping and closing */
	bool no_lost;	     /* the kernel cannot count lost records: before 6.0 */
	struct unwind_arrays arrays;
	size_t files;
	int rc; /* of the first set that could not be opened */
	char why[400];
};

/* Finds out which optional features this kernel has. */
void perf_find_features(struct perf_engine *p);
/* The sources, and the descriptors that events are directed to. */
int perf_open_buffers(struct perf_engine *p, const struct plan *plan);
/* A set of events: pid -1 for whoever runs on the CPUs. A negative errno, no message. */
int perf_open_set(struct perf_engine *p, pid_t pid);
/* Sets the message for it. */
int perf_fail(const struct perf_engine *p, int rc, pid_t pid, int cpu);

#endif
