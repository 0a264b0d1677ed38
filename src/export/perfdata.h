/* SPDX-License-Identifier: MIT */
/*
 * perf.data as `perf record --off-cpu` writes it: what its two files share.
 *
 *   perfdata.c        records: who is who, what is mapped where, samples and waits
 *   perfdata_file.c   the file around them
 */
#ifndef THAW_EXPORT_PERFDATA_H
#define THAW_EXPORT_PERFDATA_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "export/export.h"

/* The ids of the two events. */
enum { PERFDATA_CPU = 1, PERFDATA_WAIT = 2 };

/* What every sample has, in this order: see perf_event_open(2). But see perfdata_sample(). */
#define PERFDATA_SAMPLE                                                                            \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

static inline bool perfdata_cpu(const struct export_job *job)
{
	return EXPORT_HAS(job->kinds, EXPORT_CPU);
}

static inline bool perfdata_waits(const struct export_job *job)
{
	return EXPORT_HAS(job->kinds, EXPORT_WAIT) || EXPORT_HAS(job->kinds, EXPORT_LOCK);
}

/* Without what was not recorded. */
static inline uint64_t perfdata_sample(const struct export_job *job)
{
	const struct facts *f = &job->model->facts;

	return PERFDATA_SAMPLE & ~(f->unseen & UNSEEN_TIMES ? (uint64_t)PERF_SAMPLE_TIME : 0) &
	       ~(f->unseen & UNSEEN_CPUS ? (uint64_t)PERF_SAMPLE_CPU : 0);
}

/* Write what stands before and after `data_bytes` of records. */
void perfdata_head(const struct export_job *job, uint64_t data_bytes);
void perfdata_tail(const struct export_job *job, uint64_t data_bytes);

#endif
