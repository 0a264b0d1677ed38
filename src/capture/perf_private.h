/* SPDX-License-Identifier: MIT */
/* What the two files of the perf engine share: engine_perf.c and perf_events.c. */
#ifndef THAW_CAPTURE_PERF_PRIVATE_H
#define THAW_CAPTURE_PERF_PRIVATE_H

#include <sys/types.h>

#include "base/map.h"
#include "base/vec.h"
#include "capture/cpus.h"
#include "capture/engine.h"
#include "capture/perf_limits.h"
#include "capture/perf_stream.h"

struct event_fd {
	int fd;
	uint32_t source; /* that it writes to */
};

struct perf_engine {
	struct engine base;
	struct perf_setup setup;
	struct perf_limits limits;
	struct cpu_list online;
	int *outputs; /* of the sources, which own them: those of all CPUs, then those for waits */
	VEC(struct event_fd) events;
	struct map sets;	   /* tids with one of their own */
	uint64_t *open_lost;	   /* by source: records whose loss nobody has told */
	bool slow_close;	   /* the kernel must have time between stopping and closing */
	bool no_build_id, no_lost; /* this kernel cannot: before 5.12, 6.0 */
	struct unwind_arrays arrays;
	size_t files;
	int rc; /* of the first set that could not be opened */
	char why[400];
};

/* What this kernel knows of the things that are good to have. */
void perf_find_features(struct perf_engine *p);
/* The sources, and the descriptors that events are directed to. */
int perf_open_buffers(struct perf_engine *p, const struct plan *plan);
/* A set of events: pid -1 for whoever runs on the CPUs. A negative errno without words. */
int perf_open_set(struct perf_engine *p, pid_t pid);
/* The words for it. */
int perf_fail(const struct perf_engine *p, int rc, pid_t pid, int cpu);

#endif
