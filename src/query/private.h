/* SPDX-License-Identifier: MIT */
/* The inside of a query, for the files that answer. */
#ifndef THAW_QUERY_PRIVATE_H
#define THAW_QUERY_PRIVATE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "model/summary/summary.h"
#include "query/columns.h"
#include "query/query.h"
#include "query/request.h"

struct calls;
struct loading;
struct row_sums;

struct query {
	struct reader *reader;
	char *path;
	struct loading *loading; /* NULL: it is loaded, or failed */
	char *failed;		 /* why; NULL: it did not */
	struct columns columns;
	struct model *model;	 /* of the whole recording, from here on: when it is loaded */
	struct summary *summary; /* of all its threads, in the report's order */
	uint64_t duration;
	struct {
		uint64_t from, to;
		char *thread; /* "": all */
		struct buf answer;
	} kept; /* the last summary */
	struct row_sums *sums;
	struct calls *calls[2]; /* the right way up, and upside down; NULL: not asked for yet */
};

typedef int query_fn(struct query *q, const struct request *rq, struct buf *ret);

#define QUERY(name, type) query_fn answer_##name;
#include "query/query.def"

/* Turns the model's time, which is the machine's, into one since the start of the recording. */
static inline uint64_t query_time(const struct query *q, uint64_t ts)
{
	return ts > q->model->timeline.begin ? ts - q->model->timeline.begin : 0;
}

static inline const struct thread *query_thread(const struct query *q, uint32_t index)
{
	return q->model->timeline.threads.v[index];
}

static inline uint64_t query_threads(const struct query *q)
{
	return q->model->timeline.threads.n;
}

static inline int query_range(const struct query *q, const struct request *rq, uint64_t *ret_from,
			      uint64_t *ret_to)
{
	return request_range(rq, "from", "to", q->duration, ret_from, ret_to);
}

#endif
