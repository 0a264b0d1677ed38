// SPDX-License-Identifier: MIT
/*
 * `at`: what a thread was doing at a moment, and everything that is known of it: why, where, on
 * which lock, who held that, who ended it. `cpu_at`: who was on a CPU.
 */
#include "query/private.h"

#include "model/summary/parts.h"
#include "query/holds.h"
#include "report/json_parts.h"
#include "wire/state.h"

enum { HOLDERS_MAX = 100 };

static const char *kind_name(unsigned class)
{
	switch (class) {
#define CLASS(id, UPPER, name, label, words, look, level, light, dark)                             \
	case id:                                                                                   \
		return name;
#include "query/class.def"
	default:
		return reason_is_runnable(class) ? "runnable" : "waiting";
	}
}

static const char *context_name(unsigned ctx)
{
	switch (ctx) {
	case WAKE_TASK:
		return "thread";
	case WAKE_SOFTIRQ:
	case WAKE_HARDIRQ:
	case WAKE_NMI:
		return "interrupt";
	default:
		return "unknown";
	}
}

static void put_index(struct json *j, const char *key, uint32_t plus_one)
{
	if (plus_one)
		json_u64(j, key, plus_one - 1);
	else
		json_null(j, key);
}

static void put_class(struct json *j, unsigned class)
{
	bool reason = class < REASONS;

	json_str(j, "kind", kind_name(class));
	json_u64(j, "class", class);
	json_str(j, "reason", reason ? reason_name(class) : NULL);
	json_str(j, "reason_words", reason ? reason_words(class) : NULL);
}

/* What the holder did while it had the lock, the longest first. */
static void put_doing(struct json *j, const struct query *q, const struct held *h)
{
	uint64_t sums[SLOTS] = {0};

	lane_sums(&q->columns.threads.v[h->thread - 1], h->start, h->end, sums);
	for (;;) {
		unsigned best = 0;

		for (unsigned s = 1; s < SLOTS; s++)
			if (sums[s] > sums[best])
				best = s;
		if (!sums[best])
			return;
		json_obj(j, NULL);
		put_class(j, slot_class(best));
		json_u64(j, "ns", sums[best]);
		json_obj_end(j);
		sums[best] = 0;
	}
}

static void put_holder(struct json *j, const struct query *q, const struct held *h)
{
	json_obj(j, NULL);
	put_index(j, "thread", h->thread);
	json_u64(j, "start", h->start);
	json_u64(j, "end", h->end);
	json_arr(j, "doing");
	if (h->thread)
		put_doing(j, q, h);
	json_arr_end(j);
	json_obj_end(j);
}

static void put_holders(struct json *j, const struct query *q, uint32_t thread,
			const struct wait_row *row, uint64_t start, uint64_t end)
{
	const struct lock *l = row->lock ? locks_at(&q->model->locks, row->lock) : NULL;
	struct held_list held = {0};

	if (l && lock_has_holders(l))
		holders_between(&q->columns, locks_index(&q->model->locks, row->lock), start, end,
				thread + 1, HOLDERS_MAX, &held);
	json_arr(j, "holders");
	for (size_t i = 0; i < held.n; i++)
		put_holder(j, q, &held.v[i]);
	json_arr_end(j);
	free(held.v);
}

static void at_put_lock(struct json *j, const struct query *q, const struct wait_row *row)
{
	const struct lock *l = row->lock ? locks_at(&q->model->locks, row->lock) : NULL;
	char *name;
	bool named;

	if (!l) {
		json_null(j, "lock");
		return;
	}
	name = lock_name(q->model, l, &named);
	json_obj(j, "lock");
	json_u64(j, "id", locks_index(&q->model->locks, row->lock));
	json_str(j, "name", name);
	json_str(j, "kind", lock_kind_words(l->kind));
	json_bool(j, "named", named);
	json_bool(j, "has_holders", lock_has_holders(l));
	json_obj_end(j);
	free(name);
}

/* A lost span may cut a wait into pieces: the wait ends with the last. */
static uint64_t wait_end(const struct lane *l, size_t i)
{
	const struct stretch *s = lane_at(l, i);

	while (i + 2 < l->n && lane_class(l, i + 1) == CLASS_LOST &&
	       lane_class(l, i + 2) == (s->at & 0xff) && lane_at(l, i + 2)->row == s->row &&
	       lane_at(l, i + 2)->by == s->by)
		i += 2;
	return lane_end(l, i);
}

static void put_waker(struct json *j, struct query *q, const struct lane *l, size_t i)
{
	uint32_t by = lane_at(l, i)->by;
	const struct waker_row_at *w = by ? &q->columns.wakers.v[by - 1] : NULL;

	if (!w) {
		json_null(j, "waker");
		return;
	}
	json_obj(j, "waker");
	put_index(j, "thread", w->ctx == WAKE_TASK ? w->thread : 0);
	json_u64(j, "tid", w->ctx == WAKE_TASK ? w->tid : 0);
	json_str(j, "ctx", context_name(w->ctx));
	json_bool(j, "release", w->release);
	json_u64(j, "ts", wait_end(l, i));
	json_put_stack(j, "stack", &q->model->names, w->kstack, w->ustack);
	json_obj_end(j);
}

static void put_wait(struct json *j, struct query *q, uint32_t thread, size_t i)
{
	const struct lane *l = &q->columns.threads.v[thread];
	const struct wait_row *row = &q->model->tally.waits.v[lane_at(l, i)->row];

	json_str(j, "evidence", evidence_words(row->verdict.evidence));
	json_str(j, "in", row->verdict.reason == REASON_IDLE ? reason_name(row->in) : NULL);
	json_null(j, "cpu");
	json_put_stack(j, "stack", &q->model->names, row->kstack, row->ustack);
	json_null(j, "sample_ts");
	at_put_lock(j, q, row);
	put_holders(j, q, thread, row, lane_start(l, i), lane_end(l, i));
	put_waker(j, q, l, i);
}

/* The sample in [start, end) nearest to ts. */
static const struct sample *nearest(const struct query *q, uint32_t thread, uint64_t start,
				    uint64_t end, uint64_t ts)
{
	const struct sample *best = NULL, *s;
	size_t n;

	s = columns_samples(&q->columns, thread, start, end, &n);
	for (size_t i = 0; i < n; i++) {
		uint64_t away = s[i].ts > ts ? s[i].ts - ts : ts - s[i].ts;

		if (best && away >= (best->ts > ts ? best->ts - ts : ts - best->ts))
			break;
		best = &s[i];
	}
	return best;
}

static void put_other(struct json *j, struct query *q, uint32_t thread, size_t i, uint64_t ts)
{
	const struct lane *l = &q->columns.threads.v[thread];
	const struct sample *s = NULL;
	const struct sample_row *row;

	json_null(j, "evidence");
	json_null(j, "in");
	if (lane_class(l, i) == CLASS_RUNNING) {
		/* Without switches a sample ends its period. */
		uint64_t more = q->model->timeline.sample_ns ? 1 : 0;

		json_u64(j, "cpu", lane_at(l, i)->row);
		s = nearest(q, thread, lane_start(l, i), lane_end(l, i) + more, ts);
	} else {
		json_null(j, "cpu");
	}
	row = s ? &q->model->tally.samples.v[s->row] : NULL;
	json_put_sample_stack(j, "stack", &q->model->names, row ? row->kstack : 0,
			      row ? row->ustack : 0);
	if (s)
		json_u64(j, "sample_ts", s->ts);
	else
		json_null(j, "sample_ts");
	json_null(j, "lock");
	json_arr(j, "holders");
	json_arr_end(j);
	json_null(j, "waker");
}

static void put_neighbours(struct json *j, const struct lane *l, size_t i)
{
	if (i)
		json_u64(j, "prev_ts", lane_start(l, i - 1));
	else
		json_null(j, "prev_ts");
	if (i + 1 < l->n)
		json_u64(j, "next_ts", lane_start(l, i + 1));
	else
		json_null(j, "next_ts");
}

int answer_at(struct query *q, const struct request *rq, struct buf *ret)
{
	uint64_t thread, ts;
	int rc = request_need(rq, "thread", UINT32_MAX, &thread);
	const struct lane *l;
	unsigned class;
	struct json j;
	size_t i;

	rc = rc ? rc : request_need(rq, "ts", LANE_TIME_MAX, &ts);
	if (rc)
		return rc;
	if (thread >= query_threads(q))
		return err_set(-ENOENT, "there is no thread %llu", (unsigned long long)thread);
	l = &q->columns.threads.v[thread];
	i = lane_find(l, ts);
	if (i == SIZE_MAX)
		return err_set(-ENOENT, "the thread was not observed at that time");
	class = lane_class(l, i);
	json_init_buf(&j, ret);
	j.tight = true;
	json_obj(&j, NULL);
	json_u64(&j, "thread", thread);
	put_class(&j, class);
	json_u64(&j, "start", lane_start(l, i));
	json_u64(&j, "end", lane_end(l, i));
	json_bool(&j, "open", i + 1 == l->n && !query_thread(q, (uint32_t)thread)->exit_ts);
	if (!strcmp(kind_name(class), "waiting"))
		put_wait(&j, q, (uint32_t)thread, i);
	else
		put_other(&j, q, (uint32_t)thread, i, ts);
	put_neighbours(&j, l, i);
	json_obj_end(&j);
	return 0;
}

int answer_cpu_at(struct query *q, const struct request *rq, struct buf *ret)
{
	uint64_t cpu, ts;
	int rc = request_need(rq, "cpu", UINT32_MAX, &cpu);
	const struct lane *l;
	struct json j;
	size_t i;

	rc = rc ? rc : request_need(rq, "ts", LANE_TIME_MAX, &ts);
	if (rc)
		return rc;
	if (cpu >= q->columns.cpus.n)
		return err_set(-ENOENT, "there is no CPU %llu", (unsigned long long)cpu);
	l = &q->columns.cpus.v[cpu];
	i = lane_find(l, ts);
	if (i == SIZE_MAX)
		return err_set(-ENOENT, "nothing is known of that CPU at that time");
	json_init_buf(&j, ret);
	j.tight = true;
	json_obj(&j, NULL);
	json_u64(&j, "cpu", cpu);
	put_class(&j, lane_class(l, i));
	put_index(&j, "thread", lane_class(l, i) == CLASS_RUNNING ? lane_at(l, i)->row + 1 : 0);
	json_u64(&j, "start", lane_start(l, i));
	json_u64(&j, "end", lane_end(l, i));
	put_neighbours(&j, l, i);
	json_obj_end(&j);
	return 0;
}
