/* SPDX-License-Identifier: MIT */
/* What the queries about stacks have in common: which threads, which kind of time, in what unit. */
#ifndef THAW_QUERY_ASK_H
#define THAW_QUERY_ASK_H

#include "query/calls.h"
#include "query/private.h"
#include "query/weights.h"

struct asked {
	struct pick pick;
	bool *threads; /* the pick's; NULL: all */
	const char *unit;
};

/* Takes from, to, threads, kind and reasons. Call asked_done() whatever it returns. */
int asked_take(struct asked *a, const struct query *q, const struct request *rq);
void asked_done(struct asked *a);

/* A boolean: 1 or 0, false where it is missing. */
int asked_flag(const struct request *rq, const char *key, bool *ret);

/* The threads of `threads=`, by index; NULL without that key: all. */
int asked_threads(const struct query *q, const struct request *rq, bool **ret);

/* -ENOENT, in words, where the engine does not see waits. */
int asked_sees_waits(const struct query *q);

/* What a sample stands for. */
uint64_t asked_sample_ns(const struct query *q);

/* The tree of calls, made when it is first asked for. */
const struct calls *asked_calls(struct query *q, bool upside_down);

#endif
