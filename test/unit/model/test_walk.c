// SPDX-License-Identifier: MIT
/*
 * A walk over a capture against the model that was made from it: what is handed out, summed up by
 * thread, by row and by lock, is what the model says.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "model/load.h"
#include "model/walk.h"
#include "store/reader.h"
#include "unit/capture.h"
#include "wire/loss.h"
#include "wire/unseen.h"

#define LOCK 0x55d0c0de0040ull
enum { THREADS = 6, CPUS = 3, ROUNDS = 400, STEP_US = 50 };

/* Two threads to each CPU, which take turns; every third wait is for the lock that thread 1 has. */
static void rounds(struct writer *w, uint32_t stack, bool lose)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t cpu = i % CPUS, in = 1 + cpu + (i / CPUS % 2) * CPUS;
		uint32_t out = i < CPUS ? 0 : 1 + cpu + ((i / CPUS + 1) % 2) * CPUS;
		uint64_t us = 10 + (uint64_t)i * STEP_US;

		PUT(us, cpu, EV_WAKING, .waking = {in, out, WAKE_TASK, 0, 0});
		if (out && i % 3 == 0)
			PUT(us + 4, cpu, EV_FUTEX, .futex = {out, LOCK, 0x80, 2, 2, 0, 1, 1, 0});
		PUT(us + 5, cpu, EV_SWITCH, .switch_ = {out, in, out ? STATE_INTERRUPTIBLE : 0, 0});
		if (i % 4 == 0)
			PUT(us + 6, cpu, EV_WAIT, .wait = {in, 0, stack});
		if (i % 5 == 0)
			PUT(us + 20, cpu, EV_SAMPLE, .sample = {in, 0, i % 2 ? stack : 0});
		if (lose && i == ROUNDS / 2)
			PUT(us + 30, 1, EV_LOST, .lost = {LOSS_RING_FULL, 0, 7, 900 * US});
	}
}

static void make(bool lose)
{
	struct writer_opts opts = {.no_sync = true, .chunk_bytes = 4096};
	struct module app = {.kind = MODULE_FILE, .path = "/bin/app"};
	struct frame f = {0, 0x10};
	struct writer *w;
	uint32_t stack;

	assert_int_equal(writer_open(path, &opts, &w), 0);
	f.module = writer_module(w, &app);
	stack = writer_stack(w, &f, 1, 1);
	PUT(0, 0, EV_MARK, .mark = {MARK_BEGIN});
	for (uint32_t tid = 1; tid <= THREADS; tid++)
		PUT(0, 0, EV_THREAD, .thread = {tid, 1, STATE_INTERRUPTIBLE, 0, "t"});
	rounds(w, stack, lose);
	PUT(10 + ROUNDS * STEP_US, 0, EV_MARK, .mark = {MARK_END});
	assert_int_equal(writer_close(w, END_DONE), 0);
}

struct sums {
	const struct model *m;
	uint64_t total[THREADS + 1][INTERVAL_KINDS];
	uint64_t *waits, *counts, *samples; /* by row */
	uint64_t events, inside, seen, calls, stop_at;
	uint64_t last_ts;
};

static int calls(struct sums *s)
{
	return ++s->calls == s->stop_at ? -ECANCELED : 0;
}

static int on_event(void *arg, const struct event *ev, bool inside)
{
	struct sums *s = arg;

	assert_true(ev->ts >= s->last_ts);
	s->last_ts = ev->ts;
	s->events++;
	s->inside += inside;
	return calls(s);
}

static int on_interval(void *arg, const struct interval *iv)
{
	struct sums *s = arg;
	const struct timeline *t = &s->m->timeline;

	/* Of the finished model, not of the one that the walk makes. */
	assert_ptr_equal(iv->thread, t->threads.v[iv->thread->index]);
	assert_true(iv->start < iv->end && iv->start >= t->from && iv->end <= t->to);
	s->total[iv->thread->index][iv->kind] += iv->end - iv->start;
	if (iv->kind == INTERVAL_WAITING) {
		const struct wait_row *r = &s->m->tally.waits.v[iv->row];

		assert_ptr_equal(r->thread, iv->thread);
		assert_int_equal(r->ustack, iv->ustack);
		assert_int_equal(!r->lock, !iv->lock);
		assert_true(iv->lock <= s->m->locks.list.n);
		s->waits[iv->row] += iv->end - iv->start;
		s->counts[iv->row] += !iv->more;
	}
	return calls(s);
}

static int on_sample(void *arg, const struct thread *th, uint64_t ts, uint32_t cpu, uint32_t row)
{
	struct sums *s = arg;

	assert_ptr_equal(th, s->m->tally.samples.v[row].thread);
	s->samples[row]++;
	return calls(s);
}

static int on_seen(void *arg, const struct seen *seen)
{
	struct sums *s = arg;

	assert_true(seen->lock < s->m->locks.list.n);
	s->seen++;
	return calls(s);
}

static const struct walk all = {
	.event = on_event,
	.interval = on_interval,
	.sample = on_sample,
	.seen = on_seen,
};

static void begin(struct sums *s, struct reader **r, struct model **m, uint64_t from, uint64_t to)
{
	struct model_opts opts = {.from = from, .to = to};

	assert_int_equal(reader_open(path, r), 0);
	assert_int_equal(model_load(*r, path, &opts, m), 0);
	*s = (struct sums){.m = *m};
	s->waits = mem_zalloc((*m)->tally.waits.n * sizeof(uint64_t) + 8);
	s->counts = mem_zalloc((*m)->tally.waits.n * sizeof(uint64_t) + 8);
	s->samples = mem_zalloc((*m)->tally.samples.n * sizeof(uint64_t) + 8);
}

static void end(struct sums *s, struct reader *r, struct model *m)
{
	free(s->waits);
	free(s->counts);
	free(s->samples);
	model_free(m);
	reader_close(r);
}

static void compare(bool lose, uint64_t from, uint64_t to)
{
	struct model *m;
	struct reader *r;
	struct sums s;
	struct walk w = all;

	make(lose);
	begin(&s, &r, &m, from, to);
	assert_int_equal(m->timeline.threads.n, THREADS);
	w.arg = &s;
	assert_int_equal(model_walk(m, r, &w), 0);
	assert_int_equal(s.events, m->events);
	assert_true(from || to ? s.inside < s.events : s.inside >= s.events - 1);
	for (size_t i = 0; i < THREADS; i++)
		for (unsigned k = 0; k < INTERVAL_KINDS; k++)
			assert_int_equal(s.total[i][k], m->timeline.threads.v[i]->total[k]);
	assert_true(m->tally.waits.n && m->tally.samples.n && m->locks.list.n && s.seen);
	for (size_t i = 0; i < m->tally.waits.n; i++) {
		assert_int_equal(s.waits[i], m->tally.waits.v[i].total);
		assert_int_equal(s.counts[i], m->tally.waits.v[i].count);
	}
	for (size_t i = 0; i < m->tally.samples.n; i++)
		assert_int_equal(s.samples[i], m->tally.samples.v[i].count);
	assert_int_equal(m->scanned, lose);
	end(&s, r, m);
}

static void test_whole(void **state)
{
	compare(false, 0, 0);
}

static void test_with_lost_time(void **state)
{
	compare(true, 0, 0);
}

static void test_window(void **state)
{
	compare(false, 3000 * US, 12000 * US);
	compare(true, 3000 * US, 12000 * US);
	compare(true, 9980 * US, 0);
}

/* A walk that is not asked for events, or for nothing but them. */
static void test_some(void **state)
{
	struct model *m;
	struct reader *r;
	struct sums s;

	make(false);
	begin(&s, &r, &m, 0, 0);
	assert_int_equal(model_walk(m, r, &(struct walk){.sample = on_sample, .arg = &s}), 0);
	assert_int_equal(s.calls, m->samples);
	assert_int_equal(model_walk(m, r, &(struct walk){.event = on_event, .arg = &s}), 0);
	assert_int_equal(s.calls, m->samples + m->events);
	end(&s, r, m);
}

static void test_failure_ends_it(void **state)
{
	struct model *m;
	struct reader *r;
	struct walk w = all;
	struct sums s;

	make(true);
	begin(&s, &r, &m, 0, 0);
	w.arg = &s;
	for (s.stop_at = 1; s.stop_at < 100; s.stop_at += 7) {
		s.calls = s.last_ts = 0;
		assert_int_equal(model_walk(m, r, &w), -ECANCELED);
		assert_int_equal(s.calls, s.stop_at);
	}
	end(&s, r, m);
}

/* A thread of the kernel that sleeps, nobody knows where. By its state it waits for work. */
static enum reason sleeper_of_the_kernel(uint32_t unseen)
{
	struct writer_opts opts = {.no_sync = true};
	enum reason reason = REASONS;
	struct model_opts plain = {0};
	struct writer *w;
	struct reader *r;
	struct model *m;

	assert_int_equal(writer_open(path, &opts, &w), 0);
	if (unseen)
		writer_unseen(w, unseen);
	PUT(0, 0, EV_MARK, .mark = {MARK_BEGIN});
	PUT(0, 0, EV_THREAD, .thread = {7, 7, STATE_INTERRUPTIBLE, THREAD_KERNEL, "kthread"});
	PUT(10, 0, EV_SWITCH, .switch_ = {0, 7, 0, 0});
	PUT(20, 0, EV_SWITCH, .switch_ = {7, 0, STATE_INTERRUPTIBLE, 0});
	PUT(500, 0, EV_WAKING, .waking = {7, 0, WAKE_HARDIRQ, 0, 0});
	PUT(510, 0, EV_SWITCH, .switch_ = {0, 7, 0, 0});
	PUT(600, 0, EV_MARK, .mark = {MARK_END});
	assert_int_equal(writer_close(w, END_DONE), 0);
	assert_int_equal(reader_open(path, &r), 0);
	assert_int_equal(model_load(r, path, &plain, &m), 0);
	for (size_t i = 0; i < m->tally.waits.n; i++)
		if (m->tally.waits.v[i].total >= 400 * US)
			reason = m->tally.waits.v[i].verdict.reason;
	model_free(m);
	reader_close(r);
	return reason;
}

static void test_states_that_nobody_saw(void **state)
{
	assert_int_equal(sleeper_of_the_kernel(0), REASON_IDLE);
	assert_int_equal(sleeper_of_the_kernel(UNSEEN_WAKERS), REASON_IDLE);
	assert_int_equal(sleeper_of_the_kernel(UNSEEN_STATES), REASON_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_with_lost_time),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_some),
		cmocka_unit_test(test_failure_ends_it),
		cmocka_unit_test(test_states_that_nobody_saw),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
