// SPDX-License-Identifier: MIT
/*
 * A thread: its columns of samples and of markers.
 *
 * A sample on a CPU is a sample. A wait is one too, of its stack and as heavy as it is long. One
 * longer than a sampling period becomes two of half the weight, at its start and just before its
 * end, so that a graph over time shows it in the right place. threadCPUDelta is the CPU time used
 * since the sample before, so the one at the start of a wait has what was used up to there, and the
 * one at its end 0. The profiler ignores the first value: the first sample stands where the thread
 * begins and has no stack. Others without a stack are there only for their CPU time.
 *
 * Each wait is an interval marker too, named after its reason, and so is waiting for a CPU.
 */
#include <inttypes.h>
#include <stdio.h>

#include "export/firefox.h"
#include "model/summary/parts.h"

struct point {
	uint64_t ts;
	uint32_t stack; /* FIRE_NONE: none */
	uint64_t weight, cpu;
};

struct marker_lane {
	struct fire *x;
	void (*put)(struct marker_lane *l, const struct point *p);
	void (*put_marker)(struct fire *x, const struct spooled *rec);
	uint64_t at; /* time only goes forward */
	uint64_t n;
};

static void put_stack(struct marker_lane *l, const struct point *p)
{
	if (p->stack == FIRE_NONE)
		json_null(&l->x->j, NULL);
	else
		json_u64(&l->x->j, NULL, p->stack);
}

static void put_time(struct marker_lane *l, const struct point *p)
{
	uint64_t end = model_window_start(l->x->m) + model_window_ns(l->x->m);

	/* The profiler leaves out a sample at the very end of its range. */
	if (l->at < p->ts)
		l->at = p->ts < end ? p->ts : end - 1;
	json_decimal(&l->x->j, NULL, fire_time(l->x, l->at), 6);
}

static void put_weight(struct marker_lane *l, const struct point *p)
{
	if (l->x->timed)
		json_decimal(&l->x->j, NULL, p->weight, 6);
	else
		json_u64(&l->x->j, NULL, p->stack != FIRE_NONE);
}

static void put_cpu(struct marker_lane *l, const struct point *p)
{
	json_u64(&l->x->j, NULL, p->cpu);
}

static void put_point(struct marker_lane *l, struct point p)
{
	l->put(l, &p);
	l->n++;
}

static int sample_column(void *arg, const struct spooled *rec)
{
	struct marker_lane *l = arg;
	struct fire *x = l->x;
	uint64_t took = rec->end - rec->start;

	switch (rec->kind) {
	case SPOOLED_SAMPLE:
		put_point(l, (struct point){rec->start, x->sample_stack[rec->row], x->sample_ns,
					    rec->cpu});
		break;
	case SPOOLED_WAIT:
		if (took > x->sample_ns) {
			uint32_t stack = x->wait_stack[rec->row];

			put_point(l, (struct point){rec->start, stack, took / 2, rec->cpu});
			put_point(l, (struct point){rec->end - 1, stack, took - took / 2, 0});
		} else {
			put_point(l, (struct point){rec->start, x->wait_stack[rec->row], took,
						    rec->cpu});
		}
		break;
	default:
		if (rec->cpu)
			put_point(l, (struct point){rec->start, FIRE_NONE, 0, rec->cpu});
	}
	return 0;
}

static const struct {
	const char *key;
	void (*put)(struct marker_lane *l, const struct point *p);
} sample_columns[] = {
	{"stack", put_stack},
	{"time", put_time},
	{"weight", put_weight},
	{"threadCPUDelta", put_cpu},
};

static uint64_t thread_start(const struct fire *x, const struct thread *th)
{
	uint64_t from = model_window_start(x->m);

	return th->start > from ? th->start : from;
}

static int firefox_put_samples(struct fire *x, const struct thread *th, struct spool_lane *spooled)
{
	struct marker_lane l = {.x = x};
	int rc = 0;

	json_obj(&x->j, "samples");
	json_str(&x->j, "weightType", x->timed ? "tracing-ms" : "samples");
	for (size_t i = 0; i < ARRAY_LEN(sample_columns) && !rc; i++) {
		l.n = 0;
		l.put = sample_columns[i].put;
		json_arr(&x->j, sample_columns[i].key);
		put_point(&l, (struct point){thread_start(x, th), FIRE_NONE, 0, 0});
		rc = spool_each(spooled, sample_column, &l);
		json_arr_end(&x->j);
		rc = rc ? rc : export_written(x->job);
	}
	json_u64(&x->j, "length", l.n);
	json_obj_end(&x->j);
	return rc;
}

static uint32_t thread_string(struct fire *x, uint32_t thread)
{
	const struct thread *th = x->m->timeline.threads.v[thread];

	if (!x->thread_string[thread])
		x->thread_string[thread] =
			strings_printf(&x->strings, "%s (%" PRIu32 ")", th->name, th->tid) + 1;
	return x->thread_string[thread] - 1;
}

static void put_waker(struct fire *x, const struct spooled *rec)
{
	if (rec->by == SPOOLED_THREAD)
		json_u64(&x->j, "waker", thread_string(x, rec->waker));
	else if (rec->by == SPOOLED_INTERRUPT)
		json_u64(&x->j, "waker", strings_of(&x->strings, "interrupt"));
	else if (rec->by == SPOOLED_FOREIGN)
		json_u64(&x->j, "waker", strings_printf(&x->strings, "tid %" PRIu32, rec->waker));
}

static void firefox_put_lock(struct fire *x, uint32_t lock)
{
	const struct summary *s = x->job->summary;
	size_t at = lock ? summary_lock(s, lock - 1) : SIZE_MAX;

	if (at >= s->locks.n)
		return;
	if (!x->lock_string[at])
		x->lock_string[at] = strings_of(&x->strings, s->locks.v[at].name) + 1;
	json_u64(&x->j, "lock", x->lock_string[at] - 1);
}

static void put_data(struct fire *x, const struct spooled *rec)
{
	struct json *j = &x->j;

	if (rec->kind != SPOOLED_WAIT) {
		json_null(j, NULL);
		return;
	}
	json_obj(j, NULL);
	json_str(j, "type", "wait");
	firefox_put_lock(x, x->m->tally.waits.v[rec->row].lock);
	if (rec->holder)
		json_u64(j, "holder", thread_string(x, rec->holder - 1));
	put_waker(x, rec);
	json_obj(j, "cause");
	json_u64(j, "stack", x->wait_stack[rec->row]);
	json_obj_end(j);
	json_obj_end(j);
}

/* REASONS means lost: it is no reason. */
static unsigned reason_of(const struct fire *x, const struct spooled *rec)
{
	return rec->kind == SPOOLED_WAIT       ? x->m->tally.waits.v[rec->row].verdict.reason
	       : rec->kind == SPOOLED_RUNNABLE ? (rec->row ? REASON_THROTTLED : REASON_RUN_QUEUE)
					       : REASONS;
}

static void firefox_put_name(struct fire *x, const struct spooled *rec)
{
	unsigned reason = reason_of(x, rec);

	json_u64(&x->j, NULL, reason == REASONS ? x->lost_string : x->reason_string[reason]);
}

static void put_start(struct fire *x, const struct spooled *rec)
{
	json_decimal(&x->j, NULL, fire_time(x, rec->start), 6);
}

static void put_end(struct fire *x, const struct spooled *rec)
{
	json_decimal(&x->j, NULL, fire_time(x, rec->end), 6);
}

static void put_phase(struct fire *x, const struct spooled *rec)
{
	enum { INSTANT, INTERVAL };

	json_u64(&x->j, NULL, INTERVAL);
}

static void put_category(struct fire *x, const struct spooled *rec)
{
	unsigned reason = reason_of(x, rec);

	json_u64(&x->j, NULL, reason == REASONS ? CATEGORY_OTHER : x->category_of[reason]);
}

static int marker_column(void *arg, const struct spooled *rec)
{
	struct marker_lane *l = arg;

	if (rec->kind == SPOOLED_SAMPLE || rec->kind == SPOOLED_REST)
		return 0;
	l->put_marker(l->x, rec);
	l->n++;
	return 0;
}

static const struct {
	const char *key;
	void (*put)(struct fire *x, const struct spooled *rec);
} marker_columns[] = {
	{"name", firefox_put_name}, {"startTime", put_start},	{"endTime", put_end},
	{"phase", put_phase},	    {"category", put_category}, {"data", put_data},
};

static int put_markers(struct fire *x, struct spool_lane *spooled)
{
	struct marker_lane l = {.x = x};
	int rc = 0;

	json_obj(&x->j, "markers");
	for (size_t i = 0; i < ARRAY_LEN(marker_columns) && !rc; i++) {
		l.n = 0;
		l.put_marker = marker_columns[i].put;
		json_arr(&x->j, marker_columns[i].key);
		if (x->timed)
			rc = spool_each(spooled, marker_column, &l);
		json_arr_end(&x->j);
		rc = rc ? rc : export_written(x->job);
	}
	json_u64(&x->j, "length", l.n);
	json_obj_end(&x->j);
	return rc;
}

static void put_who(struct fire *x, const struct thread *th)
{
	const uint64_t *main = map_get(&x->main_of, th->pid);
	struct json *j = &x->j;
	char pid[16];

	snprintf(pid, sizeof(pid), "%" PRIu32, th->pid);
	json_str(j, "processType", "default");
	json_str(j, "processName",
		 th->pid && main ? x->m->timeline.threads.v[*main - 1]->name : th->name);
	json_decimal(j, "processStartupTime", 0, 0);
	json_null(j, "processShutdownTime");
	json_decimal(j, "registerTime", fire_time(x, thread_start(x, th)), 6);
	if (th->exit_ts && th->exit_ts < model_window_start(x->m) + model_window_ns(x->m))
		json_decimal(j, "unregisterTime", fire_time(x, th->exit_ts), 6);
	else
		json_null(j, "unregisterTime");
	json_arr(j, "pausedRanges");
	json_arr_end(j);
	json_str(j, "name", th->name);
	json_bool(j, "isMainThread", th->pid && th->tid == th->pid);
	json_str(j, "pid", pid);
	json_u64(j, "tid", th->tid);
}

int fire_thread(void *arg, const struct thread *th, struct spool_lane *lane)
{
	struct fire *x = arg;
	int rc;

	json_obj(&x->j, NULL);
	put_who(x, th);
	fire_tables(x, th);
	rc = firefox_put_samples(x, th, lane);
	rc = rc ? rc : put_markers(x, lane);
	json_obj_end(&x->j);
	return rc;
}
