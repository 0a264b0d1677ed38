// SPDX-License-Identifier: MIT
#include "query/ask.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

int asked_flag(const struct request *rq, const char *key, bool *ret)
{
	uint64_t n;
	int rc = request_u64(rq, key, 1, 0, &n);

	*ret = !rc && n;
	return rc;
}

int asked_threads(const struct query *q, const struct request *rq, bool **ret)
{
	struct number_list list;
	int rc = request_list(rq, "threads", query_threads(q), &list);

	*ret = NULL;
	if (rc || !request_str(rq, "threads"))
		return rc;
	*ret = mem_zalloc(query_threads(q) + 1);
	for (size_t i = 0; i < list.n; i++)
		(*ret)[list.v[i]] = true;
	free(list.v);
	return 0;
}

int asked_sees_waits(const struct query *q)
{
	if (q->model->facts.unseen & UNSEEN_SWITCHES)
		return err_set(-ENOENT,
			       "it was recorded with the %s engine, which does not see waits; "
			       "record with --engine bpf or perf",
			       q->model->facts.engine);
	return 0;
}

uint64_t asked_sample_ns(const struct query *q)
{
	uint64_t hz = q->model->facts.freq_hz;

	return hz && hz <= NSEC_PER_SEC ? NSEC_PER_SEC / hz : 1;
}

const struct calls *asked_calls(struct query *q, bool upside_down)
{
	if (!q->calls[upside_down])
		q->calls[upside_down] = calls_new(q->model, upside_down);
	return q->calls[upside_down];
}

static int take_kind(struct asked *a, const struct query *q, const struct request *rq)
{
	const char *kind = request_str(rq, "kind");
	bool cpu = !kind || !strcmp(kind, "cpu"), wait = kind && !strcmp(kind, "wait");
	bool both = kind && !strcmp(kind, "both");

	if (!cpu && !wait && !both)
		return err_set(-EINVAL, "kind must be cpu, wait or both");
	a->pick.samples = cpu || both;
	a->pick.waits = wait || both;
	a->pick.sample_ns = both ? asked_sample_ns(q) : 1;
	a->unit = cpu ? "samples" : "ns";
	return cpu ? 0 : asked_sees_waits(q);
}

static int take_reasons(struct asked *a, const struct request *rq)
{
	struct number_list list;
	int rc = request_list(rq, "reasons", CLASS_REASONS, &list);

	a->pick.reasons = UINT64_MAX;
	if (rc || !request_str(rq, "reasons"))
		return rc;
	a->pick.reasons = 0;
	for (size_t i = 0; i < list.n; i++)
		a->pick.reasons |= 1ull << list.v[i];
	free(list.v);
	return 0;
}

int asked_take(struct asked *a, const struct query *q, const struct request *rq)
{
	int rc;

	*a = (struct asked){0};
	rc = query_range(q, rq, &a->pick.from, &a->pick.to);
	rc = rc ? rc : take_kind(a, q, rq);
	rc = rc ? rc : take_reasons(a, rq);
	rc = rc ? rc : asked_threads(q, rq, &a->threads);
	a->pick.threads = a->threads;
	return rc;
}

void asked_done(struct asked *a)
{
	free(a->threads);
}
