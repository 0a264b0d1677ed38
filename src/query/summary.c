// SPDX-License-Identifier: MIT
/*
 * `summary`: the report as JSON for a range and a thread, by the code of `thaw report` itself. The
 * sums of the whole recording exist already; for a part of it the capture is read again.
 */
#include "query/private.h"

#include "model/load.h"
#include "report/report.h"

static void summary_put(const struct summary *s, struct buf *ret)
{
	struct json j;

	json_init_buf(&j, ret);
	report_put_json(s, &(struct report_opts){0}, &j);
}

static int put_part(struct model *m, const char *thread, struct buf *ret)
{
	struct summary_opts opts = {.thread = thread, .order = ORDER_TELLING};
	struct summary *s;
	int rc = summary_new(m, &opts, &s);

	if (rc)
		return rc;
	summary_put(s, ret);
	summary_free(s);
	return 0;
}

static int read_again(struct query *q, uint64_t from, uint64_t to, const char *thread,
		      struct buf *ret)
{
	struct model_opts opts = {.from = from, .to = to < q->duration ? to : 0};
	struct model *m;
	int rc = model_load(q->reader, q->path, &opts, &m);

	if (rc)
		return rc;
	rc = put_part(m, thread, ret);
	model_free(m);
	return rc;
}

/* The panels of a page ask for the same range one after the other. */
static bool is_kept(const struct query *q, uint64_t from, uint64_t to, const char *thread)
{
	return q->kept.answer.len && q->kept.from == from && q->kept.to == to &&
	       !strcmp(q->kept.thread, thread ? thread : "");
}

static void summary_keep(struct query *q, uint64_t from, uint64_t to, const char *thread,
			 const struct buf *answer)
{
	free(q->kept.thread);
	q->kept.thread = mem_strdup(thread ? thread : "");
	q->kept.from = from;
	q->kept.to = to;
	buf_clear(&q->kept.answer);
	buf_put(&q->kept.answer, answer->p, answer->len);
}

int answer_summary(struct query *q, const struct request *rq, struct buf *ret)
{
	const char *thread = request_str(rq, "thread");
	uint64_t from, to;
	int rc = query_range(q, rq, &from, &to);

	if (rc)
		return rc;
	if (is_kept(q, from, to, thread)) {
		buf_put(ret, q->kept.answer.p, q->kept.answer.len);
		return 0;
	}
	if (from || to < q->duration)
		rc = read_again(q, from, to, thread, ret);
	else if (thread)
		rc = put_part(q->model, thread, ret);
	else
		summary_put(q->summary, ret);
	if (!rc)
		summary_keep(q, from, to, thread, ret);
	return rc;
}
