// SPDX-License-Identifier: MIT
/*
 * Drives the state machine: begins and ends the recording, applies loss spans as time passes them,
 * and hands each event to the file that handles it (sched.c, tasks.c).
 */
#include "timeline/machine.h"

#include <stdlib.h>

void timeline_init(struct timeline *t, interval_fn sink, void *arg)
{
	*t = (struct timeline){.to = UINT64_MAX, .sink = sink, .sink_arg = arg};
}

void timeline_done(struct timeline *t)
{
	for (size_t i = 0; i < t->threads.n; i++) {
		struct thread *th = t->threads.v[i];

		free(th->life);
		free(th->name);
		free(th->first_name);
		free(th);
	}
	vec_done(&t->threads);
	vec_done(&t->cpus);
	vec_done(&t->low_tids);
	map_done(&t->high_tids);
	spans_done(&t->spans);
}

/* The kernel's PID_MAX_LIMIT. */
#define LOW_TIDS (4u << 20)

void timeline_set_thread(struct timeline *t, uint32_t tid, size_t index)
{
	if (tid >= LOW_TIDS) {
		*map_put(&t->high_tids, tid, NULL) = index + 1;
		return;
	}
	while (t->low_tids.n <= tid)
		vec_push(&t->low_tids, 0);
	t->low_tids.v[tid] = (uint32_t)index + 1;
}

struct thread *timeline_high_thread(const struct timeline *t, uint32_t tid)
{
	uint64_t *i = map_get(&t->high_tids, tid);

	return i ? t->threads.v[*i - 1] : NULL;
}

static void set_begin(struct timeline *t, uint64_t ts)
{
	t->begin = ts;
	t->from = ts + t->window_from;
	t->to = t->window_to ? ts + t->window_to : UINT64_MAX;
	for (size_t i = 0; i < t->cpus.n; i++)
		t->cpus.v[i].since = later(t->cpus.v[i].since, ts);
	for (size_t i = 0; i < t->threads.n; i++) {
		struct thread *th = t->threads.v[i];

		if (th->life && !th->life->emitted && th->start < ts) {
			th->start = ts;
			th->life->since = later(th->life->since, ts);
		}
	}
}

void timeline_begin(struct timeline *t, uint64_t ts)
{
	if (t->begun)
		return;
	set_begin(t, ts);
	t->begun = true;
}

static void pass_edges(struct timeline *t, uint64_t ts)
{
	for (; t->next_edge < t->spans.edges.n; t->next_edge++) {
		const struct span_edge *e = &t->spans.edges.v[t->next_edge];

		if (e->ts > ts)
			return;
		t->last_edge = e->ts;
		if (e->cpu != SPAN_ALL_CPUS)
			cpu_lost(t, cpu_at(t, e->cpu), e->ts);
		else
			t->every_edge = e->ts;
		for (size_t i = 0; e->cpu == SPAN_ALL_CPUS && i < t->cpus.n; i++)
			cpu_lost(t, &t->cpus.v[i], e->ts);
	}
}

static void wait_stacks(struct timeline *t, const struct event *ev, uint64_t ts)
{
	struct thread *th = cpu_thread(t, ev->wait.tid, ev->cpu, ts);

	if (th)
		life_wait_stacks(th, ev->wait.kstack, ev->wait.ustack);
}

static void timeline_rare_event(struct timeline *t, const struct event *ev, uint64_t ts)
{
	struct thread *th;

	switch (ev->kind) {
	case EV_SAMPLE:
		cpu_at(t, ev->cpu)->last = ts;
		cpu_thread(t, ev->sample.tid, ev->cpu, ts);
		break;
	case EV_THREAD:
		task_thread(t, &ev->thread, ts);
		break;
	case EV_ASLEEP:
		th = life_alive(t, ev->asleep.tid);
		if (th)
			life_asleep(th, &ev->asleep, ts);
		break;
	case EV_FORK:
		task_fork(t, ev->cpu, &ev->fork, ts);
		break;
	case EV_EXEC:
		task_exec(t, ev->cpu, &ev->exec, ts);
		break;
	case EV_EXIT:
		task_exit(t, ev->cpu, &ev->exit, ts);
		break;
	case EV_RENAME:
		th = life_alive(t, ev->rename.tid);
		if (th)
			thread_rename(th, ev->rename.name);
		break;
	case EV_LEAVE:
		th = life_alive(t, ev->leave.tid);
		if (th)
			life_leave(t, th, ts, ev->leave.before);
		break;
	case EV_MARK:
		if (ev->mark.what == MARK_END && !t->end)
			t->end = later(ts, 1);
		break;
	}
}

/* Nearly all events are of three kinds. */
void timeline_dispatch(struct timeline *t, const struct event *ev, uint64_t ts)
{
	if (__builtin_expect(t->sample_ns != 0, 0) && sampled_event(t, ev, ts))
		return;
	if (ev->kind == EV_SWITCH)
		sched_switch(t, ev->cpu, &ev->switch_, ts);
	else if (ev->kind == EV_WAKING)
		sched_waking(t, ev->cpu, &ev->waking, ts);
	else if (ev->kind == EV_WAIT)
		wait_stacks(t, ev, ts);
	else
		timeline_rare_event(t, ev, ts);
}

void timeline_unsteady_event(struct timeline *t, const struct event *ev)
{
	uint64_t ts = ev->ts;

	if (!t->spans.sealed)
		spans_seal(&t->spans);
	if (!t->begun && (!t->now || (ev->kind == EV_MARK && ev->mark.what == MARK_BEGIN)))
		set_begin(t, ts);
	if (ev->kind == EV_MARK && ev->mark.what == MARK_BEGIN)
		t->begun = true;
	if (ts < t->now && ts >= t->begin)
		t->late++;
	t->now = later(t->now, ts);
	if (t->end && ts > t->end)
		return;
	ts = later(ts, t->begin);
	if (t->next_edge < t->spans.edges.n)
		pass_edges(t, ts);
	timeline_dispatch(t, ev, ts);
	t->steady = t->begun && !t->end && t->next_edge == t->spans.edges.n && t->now >= t->begin;
}

void timeline_finish(struct timeline *t)
{
	if (!t->end)
		t->end = t->now;
	t->end = later(t->end, t->begin);
	spans_seal(&t->spans);
	pass_edges(t, t->end);
	for (size_t i = 0; i < t->cpus.n; i++)
		if (t->cpus.v[i].known && t->cpus.v[i].seen)
			cpu_account(t, &t->cpus.v[i], t->cpus.v[i].idle, t->end);
	/* A thread that is still on a CPU without further events may have left at any time. */
	for (size_t i = 0; t->not_running && i < t->cpus.n; i++)
		if (t->cpus.v[i].cur)
			t->not_running(t->sink_arg, t->cpus.v[i].last, t->end);
	for (size_t i = 0; i < t->threads.n; i++) {
		struct thread *th = t->threads.v[i];

		if (!th->life)
			continue;
		if (th->exit_ts)
			life_end(t, th, later(th->exit_ts, th->life->since), false);
		else
			life_end(t, th, t->end, true);
	}
	if (t->sample_ns)
		sampled_finish(t);
}
