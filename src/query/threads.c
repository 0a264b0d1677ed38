// SPDX-License-Identifier: MIT
/*
 * `threads`: what each thread did in a range. The same numbers as the report's for that range, but
 * without reading the capture again.
 */
#include "query/private.h"

#include "report/json_parts.h"

struct list_sums {
	uint64_t kind[INTERVAL_KINDS];
	uint64_t waits[REASONS];
	size_t samples;
};

static void threads_take(const struct query *q, uint32_t thread, uint64_t from, uint64_t to,
			 struct list_sums *s)
{
	uint64_t slots[SLOTS] = {0}, period = q->model->timeline.sample_ns;

	*s = (struct list_sums){0};
	lane_sums(&q->columns.threads.v[thread], from, to, slots);
	columns_samples(&q->columns, thread, from, to, &s->samples);
	for (unsigned r = 0; r < REASONS; r++) {
		s->waits[r] = slots[r];
		s->kind[INTERVAL_WAITING] += slots[r];
	}
	s->kind[INTERVAL_RUNNABLE] = slots[REASON_RUN_QUEUE] + slots[REASON_THROTTLED];
	s->kind[INTERVAL_WAITING] -= s->kind[INTERVAL_RUNNABLE];
	s->kind[INTERVAL_RUNNING] = slots[SLOT_RUNNING];
	s->kind[INTERVAL_LOST] = slots[SLOT_LOST];
	if (period) {
		/* A sample counts where it was taken, whatever of its period lies in the range. */
		uint64_t wall = s->kind[INTERVAL_RUNNING] + s->kind[INTERVAL_LOST];
		uint64_t ran = s->samples * period;

		s->kind[INTERVAL_RUNNING] = ran < wall ? ran : wall;
		s->kind[INTERVAL_LOST] = wall - s->kind[INTERVAL_RUNNING];
	}
}

static void threads_put(struct json *j, const struct query *q, const struct thread *t,
			const struct list_sums *s)
{
	json_obj(j, NULL);
	json_u64(j, "index", t->index);
	json_put_times(j, q->model, s->kind, s->waits, s->samples);
	json_obj_end(j);
}

int answer_threads(struct query *q, const struct request *rq, struct buf *ret)
{
	uint64_t from, to;
	int rc = query_range(q, rq, &from, &to);
	struct list_sums s;
	struct json j;

	if (rc)
		return rc;
	json_init_buf(&j, ret);
	j.tight = true;
	json_obj(&j, NULL);
	json_u64(&j, "from", from);
	json_u64(&j, "to", to);
	json_arr(&j, "threads");
	for (size_t i = 0; i < q->summary->threads.n; i++) {
		const struct thread *t = q->summary->threads.v[i];

		threads_take(q, t->index, from, to, &s);
		if (s.kind[INTERVAL_RUNNING] || s.kind[INTERVAL_RUNNABLE] ||
		    s.kind[INTERVAL_WAITING] || s.kind[INTERVAL_LOST] || s.samples)
			threads_put(&j, q, t, &s);
	}
	json_arr_end(&j);
	json_obj_end(&j);
	return 0;
}
