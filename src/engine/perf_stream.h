/* SPDX-License-Identifier: MIT */
/*
 * Turns the perf engine's records, in the order of time, into records of probes (wire/probe.h), so
 * that the collector treats both alike.
 *
 * It invents nothing that perf does not say. A thread that leaves its CPU without being preempted
 * waits, in an unknown state (STATE_INTERRUPTIBLE stands for it). Its stacks are those of the
 * sample that the kernel took at that very switch, if any.
 *
 * A thread that was born while the events were opened may have two sets of them, its own and an
 * inherited one. The set that sends the first record counts; both are complete from then on.
 */
#ifndef THAW_ENGINE_PERF_STREAM_H
#define THAW_ENGINE_PERF_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "ring/perf_record.h"
#include "ring/source.h"
#include "wire/probe.h"

/* How the engine has set its events up. */
struct perf_setup {
	uint64_t sample_type;
	uint64_t freq_hz, min_wait_ns;
	bool wide;	 /* sets of CPUs, whoever runs there; else of threads */
	bool inherit;	 /* children and new threads are recorded too */
	bool no_samples; /* given up */
	bool filter;	 /* wide, but only the threads in `members` count */
	struct map members;
	struct map ids; /* of an event -> PERF_OF_SET(), and PERF_AT_SWITCH */
};
#define PERF_AT_SWITCH 1u /* its samples are taken at context switches, not by the clock */
#define PERF_OF_SET(tid) ((uint64_t)(tid) << 1)

struct perf_stream_ops {
	/* A record of wire/probe.h. */
	void (*probe)(void *ctx, const struct record *rec);
	/* Walks a user stack, and returns its id; 0: none. */
	uint64_t (*walk)(void *ctx, const struct pr_copy *copy);
};

struct perf_stream;

struct perf_stream *perf_stream_new(struct perf_setup *setup, const struct perf_stream_ops *ops,
				    void *ctx);
void perf_stream_free(struct perf_stream *s);
/* Drops records from before `ts`. */
void perf_stream_begin(struct perf_stream *s, uint64_t ts);
bool perf_stream_begun(const struct perf_stream *s, uint64_t ts);
void perf_stream_record(struct perf_stream *s, const struct perf_record *r, uint16_t cpu);
/* Samples that the kernel left out, by throttling the clock or for other reasons. */
uint64_t perf_stream_throttled(const struct perf_stream *s);

/* Registers and stack of a sample as the probes copy them. For the tests. */
void perf_stream_copy(const struct perf_record *r, struct pr_copy *out);

#endif
