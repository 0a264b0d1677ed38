/* SPDX-License-Identifier: MIT */
/*
 * A second pass over a capture whose model is finished, for callers that want everything that
 * happened and cannot hold it in memory: events as they stand in the file, intervals and samples as
 * the model made them, with threads, locks and rows of the finished model, so that reasons and
 * names are known. Memory does not grow with the events.
 */
#ifndef THAW_MODEL_WALK_H
#define THAW_MODEL_WALK_H

#include "model/model.h"

struct reader;

/* Callbacks may be NULL. A callback that fails (negative) ends the walk. */
struct walk {
	/*
	 * Every event in the order of time, before the intervals that it ends. Events outside of
	 * the window come too (`inside` is false), since they name threads and processes.
	 */
	int (*event)(void *arg, const struct event *ev, bool inside);
	/* When it has ended: those of one thread in the order of time, cut to the window. */
	int (*interval)(void *arg, const struct interval *iv);
	int (*sample)(void *arg, const struct thread *th, uint64_t ts, uint32_t cpu, uint32_t row);
	/* A sign of who holds a lock. */
	int (*seen)(void *arg, const struct seen *seen);
	/* See klocked_fn in model.h. */
	int (*klocked)(void *arg, uint32_t lock, const struct thread *th, uint64_t ts, uint64_t ns,
		       uint32_t n);
	void *arg;
	/* Now and then: how much is done, 0 to 1. */
	void (*progress)(void *arg, double done);
	void *progress_arg;
};

/* With the options that m was made with; r is the reader it was made from. */
int model_walk(struct model *m, struct reader *r, const struct walk *w);

#endif
