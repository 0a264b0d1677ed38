// SPDX-License-Identifier: MIT
#include "query/private.h"

#include "model/load.h"
#include "query/calls.h"
#include "query/sums.h"
#include "store/reader.h"

enum { JSON, BINARY };

static const struct {
	const char *name;
	query_fn *answer;
	bool binary;
} rows[] = {
#define QUERY(name, type) {#name, answer_##name, type == BINARY},
#include "query/query.def"
};

struct query *query_new(struct reader *r, const char *path)
{
	struct query *q = mem_zalloc(sizeof(*q));
	struct model_opts opts = {0};

	q->reader = r;
	q->path = mem_strdup(path);
	columns_init(&q->columns, reader_info(r)->first_ts);
	columns_attach(&q->columns, &opts);
	q->loading = loading_new(r, &opts);
	return q;
}

int query_open(const char *path, struct query **ret)
{
	struct reader *r;
	int rc = reader_open(path, &r);

	if (!rc)
		*ret = query_new(r, path);
	return rc;
}

void query_close(struct query *q)
{
	if (!q)
		return;
	loading_free(q->loading);
	sums_free(q->sums);
	calls_free(q->calls[0]);
	calls_free(q->calls[1]);
	summary_free(q->summary);
	model_free(q->model);
	columns_done(&q->columns);
	reader_close(q->reader);
	free(q->path);
	free(q->failed);
	free(q->kept.thread);
	buf_done(&q->kept.answer);
	free(q);
}

static void query_finish(struct query *q)
{
	q->model = loading_finish(q->loading, q->path);
	q->loading = NULL;
	q->duration = q->model->timeline.end - q->model->timeline.begin;
	columns_seal(&q->columns, q->model);
	q->sums = sums_new(q->model, &q->columns);
	q->calls[0] = calls_new(q->model, false); /* the first flame graph should not wait */
	/* Cannot fail: no thread is named. */
	(void)summary_new(q->model, &(struct summary_opts){.order = ORDER_TELLING}, &q->summary);
}

int query_step(struct query *q, uint64_t events)
{
	int rc;

	if (q->failed)
		return err_set(-EIO, "%s", q->failed);
	if (!q->loading)
		return 0;
	rc = loading_step(q->loading, events);
	if (!rc) {
		query_finish(q);
	} else if (rc < 0) {
		q->failed = mem_strdup(err_msg());
		loading_free(q->loading);
		q->loading = NULL;
	}
	return rc;
}

/*
 * Progress stays below 1, even when rounded, until the model is finished: that takes a while after
 * the last event.
 */
#define NEARLY 0.999

double query_progress(const struct query *q)
{
	double done = q->loading ? loading_progress(q->loading) : 1;

	return q->loading && done > NEARLY ? NEARLY : done;
}

static int query_find(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strlen(rows[i].name) == n && !memcmp(rows[i].name, name, n))
			return (int)i;
	return -1;
}

bool query_is_binary(const char *request)
{
	int i = query_find(request, strcspn(request, "?"));

	return i >= 0 && rows[i].binary;
}

static int query_answer(struct query *q, const char *text, struct buf *ret)
{
	struct request rq;
	int rc = request_parse(&rq, text), i = query_find(rq.name, strlen(rq.name));

	if (!rc && i < 0)
		rc = err_set(-ENOENT, "there is no such query");
	else if (!rc && q->failed)
		rc = err_set(-EIO, "%s", q->failed);
	else if (!rc && q->loading && rows[i].answer != answer_open)
		rc = err_set(-EAGAIN, "the capture is still being loaded");
	else if (!rc)
		rc = rows[i].answer(q, &rq, ret);
	request_done(&rq);
	return rc;
}

int query_ask(struct query *q, const char *request, struct buf *ret)
{
	struct json j;
	int rc;

	buf_clear(ret);
	rc = query_answer(q, request, ret);
	if (!rc)
		return 0;
	buf_clear(ret);
	json_init_buf(&j, ret);
	j.tight = true;
	json_obj(&j, NULL);
	json_str(&j, "error", err_msg());
	json_obj_end(&j);
	return rc;
}
