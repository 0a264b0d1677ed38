/* SPDX-License-Identifier: MIT */
/*
 * Running sums over samples and waits: one row for each distinct (thread, stacks), and for waits
 * (state, call, lock), so that every question asked later (by thread, by function, by place, for
 * what reason) is a pass over rows, never over events.
 */
#ifndef THAW_MODEL_TALLY_H
#define THAW_MODEL_TALLY_H

#include "base/map.h"
#include "base/vec.h"
#include "timeline/interval.h"
#include "timeline/thread.h"

struct sample_row {
	const struct thread *thread;
	uint32_t kstack, ustack;
	uint64_t count;
};

struct wait_row {
	const struct thread *thread;
	uint32_t kstack, ustack;
	uint32_t state, call;
	uint32_t lock;		/* of the model, + 1; 0: none */
	struct verdict verdict; /* when the model is finished */
	uint8_t in;		/* IDLE: the reason that it looked like */
	bool home;		/* where servers wait for work */
	bool unwoken;		/* IDLE, as one of a pool of which nobody was ever woken */
	bool bare;		/* in a call that holds no lock of the kernel while it sleeps */
	uint32_t file;		/* the last that is known; as in struct interval */
	uint64_t total, count;
	uint64_t open;		 /* of count: had not ended when observation did */
	uint64_t max, max_start; /* the longest, and when it began */
	uint64_t last;		 /* when the last one ended */
	struct waker max_waker;
	uint64_t outside, outside_count; /* of the window: only evidence for the reason */
};

struct waker_row {
	uint32_t wait; /* index of its wait_row */
	const struct thread *thread;
	uint32_t tid;
	bool interrupt; /* not to be blamed on any thread */
	uint32_t kstack, ustack;
	uint64_t total, count;
	uint64_t outside, outside_count;
};

/* Recently used rows: most waits are like a recent one. */
enum { TALLY_RECENT = 1024 };

struct row_map {
	struct map map;
	struct {
		uint64_t of;  /* its key */
		uint32_t row; /* + 1; 0: none */
	} recent[TALLY_RECENT];
};

struct tally {
	VEC(struct sample_row) samples;
	VEC(struct wait_row) waits;
	VEC(struct waker_row) wakers;
	struct row_map sample_map, wait_map, waker_map;
};

uint32_t tally_sample(struct tally *t, const struct thread *th, uint32_t kstack, uint32_t ustack);
/* The row of a wait, made without adding anything to it. */
uint32_t tally_wait_row(struct tally *t, const struct interval *iv);
/* Its row. */
uint32_t tally_wait(struct tally *t, const struct interval *iv);
/* A wait of which only `inside` nanoseconds lie in the window. */
void tally_outside(struct tally *t, const struct interval *iv, uint64_t inside);
/* A wait in that row, of that length, was never ended after all: that waking was none. */
void tally_not_woken(struct tally *t, uint32_t row, const struct waker *w, uint64_t ns);
void tally_done(struct tally *t);

#endif
