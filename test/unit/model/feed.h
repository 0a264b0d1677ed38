/* SPDX-License-Identifier: MIT */
/*
 * Feeds a model event by event and keeps what it hands out. Every test ends in feed_done(), which
 * checks that the intervals of each thread tile its observed life, and that the totals agree.
 */
#ifndef THAW_TEST_UNIT_MODEL_FEED_H
#define THAW_TEST_UNIT_MODEL_FEED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "model/model.h"

struct feed {
	struct model *m;
	VEC(struct interval) out;
	uint64_t from, to; /* the window; to 0: none */
};

static inline void feed_sink(void *arg, const struct interval *iv)
{
	struct feed *f = arg;

	vec_push(&f->out, *iv);
}

static inline void feed_init_window(struct feed *f, uint64_t from, uint64_t to)
{
	struct model_opts opts = {.from = from, .to = to, .sink = feed_sink, .sink_arg = f};

	*f = (struct feed){.from = from, .to = to};
	f->m = model_new(&opts);
}

static inline void feed_init(struct feed *f)
{
	feed_init_window(f, 0, 0);
}

#define EV(ts_, cpu_, kind_, ...)                                                                  \
	model_event(f->m, &(struct event){.ts = (ts_), .cpu = (cpu_), .kind = (kind_), __VA_ARGS__})
#define BEGIN(ts) EV(ts, 0, EV_MARK, .mark = {MARK_BEGIN})
#define END(ts) EV(ts, 0, EV_MARK, .mark = {MARK_END})
#define THREAD(ts, tid, state) EV(ts, 0, EV_THREAD, .thread = {tid, tid, state, 0, "t" #tid})
#define SWITCH(ts, cpu, prev, next, state) EV(ts, cpu, EV_SWITCH, .switch_ = {prev, next, state})
#define WAKING(ts, cpu, wakee, waker) EV(ts, cpu, EV_WAKING, .waking = {wakee, waker, 0, 0, 0})
#define SAMPLE(ts, cpu, tid) EV(ts, cpu, EV_SAMPLE, .sample = {tid, 0, 0})

static inline void feed_check_tiling(struct feed *f)
{
	const struct timeline *t = &f->m->timeline;

	for (size_t i = 0; i < t->threads.n; i++) {
		const struct thread *th = t->threads.v[i];
		uint64_t from = th->start > t->from ? th->start : t->from;
		uint64_t to = th->end < t->to ? th->end : t->to;
		uint64_t at = from, sum[INTERVAL_KINDS] = {0};

		assert_true(th->start <= th->end);
		for (size_t j = 0; j < f->out.n; j++) {
			const struct interval *iv = &f->out.v[j];

			if (iv->thread != th)
				continue;
			assert_int_equal(iv->start, at);
			assert_true(iv->end > iv->start);
			sum[iv->kind] += iv->end - iv->start;
			at = iv->end;
		}
		if (from < to)
			assert_int_equal(at, to);
		else
			assert_int_equal(at, from);
		for (unsigned k = 0; k < INTERVAL_KINDS; k++)
			assert_int_equal(sum[k], th->total[k]);
	}
}

static inline void feed_finish(struct feed *f)
{
	model_finish(f->m);
	feed_check_tiling(f);
}

static inline void feed_done(struct feed *f)
{
	model_free(f->m);
	vec_done(&f->out);
}

/* The thread's intervals as text: "R0 10-20, Q 20-30, W1 30-40, L 40-50". Lost ones join up. */
static inline void feed_text(struct feed *f, const struct thread *th, char *out, size_t room)
{
	uint64_t lost_since = 0, lost_until = 0;
	size_t len = 0, lost_at = 0;

	out[0] = '\0';
	for (size_t i = 0; i < f->out.n; i++) {
		const struct interval *iv = &f->out.v[i];
		bool lost = iv->kind == INTERVAL_LOST;
		char what[16];

		if (iv->thread != th)
			continue;
		if (lost && lost_until == iv->start && lost_until > lost_since)
			len = lost_at;
		else
			lost_since = iv->start;
		if (iv->kind == INTERVAL_RUNNING)
			snprintf(what, sizeof(what), "R%u", iv->cpu);
		else if (iv->kind == INTERVAL_WAITING)
			snprintf(what, sizeof(what), "W%x", iv->state);
		else
			snprintf(what, sizeof(what), "%c", lost ? 'L' : 'Q');
		lost_at = len;
		lost_until = lost ? iv->end : 0;
		len += (size_t)snprintf(out + len, room - len, "%s%s %llu-%llu", len ? ", " : "",
					what, (unsigned long long)lost_since,
					(unsigned long long)iv->end);
		assert_true(len < room);
	}
}

static inline void feed_expect_thread(struct feed *f, const struct thread *th, const char *want)
{
	char got[1024];

	assert_non_null(th);
	feed_text(f, th, got, sizeof(got));
	assert_string_equal(got, want);
}

/* The latest thread with that tid. */
#define EXPECT(tid, want) feed_expect_thread(f, timeline_thread(&f->m->timeline, tid), want)

#endif
