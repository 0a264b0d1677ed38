/* SPDX-License-Identifier: MIT */
/*
 * Where records come from: one pull interface over all transports.
 *
 * source_pull() hands out the records that are complete by now, in the order in which the transport
 * holds them. Their memory stays valid until source_release() says up to which position they are
 * done with (SOURCE_ALL: all that were handed out). Producers never wake the consumer: it polls.
 */
#ifndef THAW_RING_SOURCE_H
#define THAW_RING_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum record_type {
	RECORD_PROBE, /* a struct pr_* of wire/probe.h */
	RECORD_PERF,  /* a struct perf_event_header and its body */
};

struct record {
	uint64_t ts;
	uint64_t pos; /* in its source; grows */
	const void *data;
	uint32_t len;
	uint16_t cpu;
	uint8_t type;
};

typedef VEC(struct record) record_vec;

#define SOURCE_ALL UINT64_MAX

struct source;

struct source_ops {
	void (*pull)(struct source *s, record_vec *out);
	void (*release)(struct source *s, uint64_t pos);
	void (*close)(struct source *s);
};

struct source {
	const struct source_ops *ops;
	uint16_t cpu;
};

static inline void source_pull(struct source *s, record_vec *out)
{
	s->ops->pull(s, out);
}

static inline void source_release(struct source *s, uint64_t pos)
{
	s->ops->release(s, pos);
}

static inline void source_close(struct source *s)
{
	if (s)
		s->ops->close(s);
}

/* A BPF ring of wire/ring.h in memory that somebody else maps and unmaps. */
struct source *source_bpf_new(void *ring, uint64_t size, uint32_t salt, uint16_t cpu);
/* How full it is, in bytes. */
uint64_t source_bpf_fill(const struct source *s);

struct source_perf_opts {
	size_t pages;	      /* of data, a power of two */
	size_t pages_min;     /* the least to accept if the kernel refuses more */
	uint64_t sample_type; /* of all events that write to it: see perf_record.h */
	uint16_t cpu;
	bool quiet; /* count what the kernel drops, but make no record of it */
};

/*
 * The same in memory that a recorded program shares: see wire/shared.h. It skips a record that
 * stays unfinished for stuck_ns. The memory must be all zero at first.
 */
struct source *source_shared_new(void *ring, uint64_t size, uint32_t salt, uint16_t cpu,
				 uint64_t stuck_ns);
/* Records that were unfinished, or nonsense. */
uint64_t source_shared_damaged(const struct source *s);
uint64_t source_shared_fill(const struct source *s);

/*
 * The mmap buffer of a perf event, and of all events that are directed to it. Takes over fd, also
 * on failure. source_perf_lost() counts records that the kernel dropped.
 */
int source_perf_open(int fd, const struct source_perf_opts *o, struct source **ret);
uint64_t source_perf_lost(const struct source *s);
uint64_t source_perf_last(const struct source *s); /* when the last record was made */
uint64_t source_perf_size(const struct source *s); /* in bytes */
uint64_t source_perf_fill(const struct source *s); /* how much of it waits to be pulled */

#endif
