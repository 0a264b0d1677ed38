/* SPDX-License-Identifier: MIT */
/*
 * Makes unwind tables in a thread of its own: parsing the call frame information of a large library
 * takes longer than the rings hold. It sees files and hands back tables; what processes, mappings
 * and the probes' arrays have to do with them is not its business.
 */
#ifndef THAW_CAPTURE_BUILDER_H
#define THAW_CAPTURE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "store/types.h"
#include "unwind/table.h"

/* Where an object's code is in its file and in its own addresses. */
struct load {
	uint64_t offset, size, vaddr;
};

struct build_job {
	struct build_job *next;
	/* What is asked. The first two are for who asks. */
	uint32_t module;
	uint64_t era;
	int fd; /* -1: the vDSO of this very process, which all have */
	size_t build_id_len;
	uint8_t build_id[BUILD_ID_MAX]; /* a file with another one is not what is mapped */
	/* What comes back. */
	VEC(struct load) loads;
	struct unwind_table *table; /* NULL: it has none */
	uint64_t took_ns, cpu_ns;
};

/* Owns its descriptor. */
struct build_job *build_job_new(int fd);
void build_job_free(struct build_job *job);
/* Does it here and now. */
void build_job_run(struct build_job *job);

struct builder;

/* NULL if no thread could be had. */
struct builder *builder_new(void);
/* What is not done by then is thrown away. */
void builder_free(struct builder *b);
/* Takes the job over; false if too many are on their way. */
bool builder_put(struct builder *b, struct build_job *job);
/* One that is done, in the order in which they were put; waits up to so long, and returns NULL. */
struct build_job *builder_take(struct builder *b, uint64_t wait_ns);

#endif
