/* SPDX-License-Identifier: MIT */
/*
 * What queries about moments and ranges need of a recording, in memory: what each thread and each
 * CPU did, each sample, and the signs of who holds which lock. Filled by the model's sinks while it
 * loads; sealed when the model is finished, because only then are the reasons of waits known, and
 * whether two locks were one.
 *
 * Without switches (model facts: has_switches) a sample stands for a period of running that ends
 * with it. Where two periods would overlap, the later one is moved as far as needed, so that the
 * sums stay the report's.
 */
#ifndef THAW_QUERY_COLUMNS_H
#define THAW_QUERY_COLUMNS_H

#include "model/model.h"
#include "query/lane.h"

struct sample {
	uint64_t ts;
	uint32_t row; /* of the tally's samples */
	uint32_t cpu;
};

/* In the order of time. */
struct sample_list {
	struct sample *v;
	size_t n, room;
};

struct waker_row_at {
	uint32_t thread; /* index + 1; 0: a thread that was not recorded */
	uint32_t tid;
	uint32_t kstack, ustack;
	uint8_t ctx; /* enum wake_ctx */
	bool release;
};

enum { COLUMNS_RECENT = 4096 };

struct columns {
	uint64_t base; /* what times count from, before it is sealed */
	struct arena arena;
	VEC(struct lane) threads; /* by index, as many as the model has, when sealed */
	VEC(struct lane) cpus;
	VEC(struct sample_list) samples; /* by thread */
	VEC(struct waker_row_at) wakers;
	struct map by_waker;
	uint32_t recent[COLUMNS_RECENT];
	VEC(struct seen) seen; /* sealed: by lock (its index under its proper address), then time */
	size_t *seen_of;       /* sealed: by lock, the first; one more than there are locks */
	size_t locks;
};

void columns_init(struct columns *c, uint64_t base);
void columns_done(struct columns *c);

/* Sets the sinks. */
void columns_attach(struct columns *c, struct model_opts *opts);
void columns_seal(struct columns *c, const struct model *m);

/* What was seen of a lock, in the order of time. */
const struct seen *columns_seen(const struct columns *c, uint32_t lock, size_t *ret_n);
/* The samples of a thread in [from, to). */
const struct sample *columns_samples(const struct columns *c, uint32_t thread, uint64_t from,
				     uint64_t to, size_t *ret_n);

#endif
