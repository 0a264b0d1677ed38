// SPDX-License-Identifier: MIT
/*
 * A scheduler in miniature that knows the truth: random threads on random CPUs, preempted, put to
 * sleep, woken, born and ended. The model sees only the events and must arrive at the same totals,
 * to the nanosecond. With events dropped or shuffled, the truth is out of reach, but the tiling is
 * not.
 */
#include "unit/model/feed.h"

#include <string.h>

enum { CPUS = 4, THREADS_MAX = 4096, TIDS = 24 };

struct truth {
	uint32_t tid;
	uint64_t start, end, total[INTERVAL_KINDS];
	uint64_t since;
	enum interval_kind kind;
	bool alive;
};

struct sim {
	uint64_t seed, now;
	struct truth threads[THREADS_MAX];
	unsigned n;
	int on_cpu[CPUS]; /* index into threads, -1: idle */
	int by_tid[TIDS + 1];
	VEC(struct event) events;
};

static uint32_t rnd(struct sim *s, uint32_t below)
{
	s->seed = s->seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(s->seed >> 33) % below;
}

static void put(struct sim *s, unsigned cpu, struct event ev)
{
	ev.ts = s->now;
	ev.cpu = (uint16_t)cpu;
	vec_push(&s->events, ev);
}

static void turn(struct sim *s, int i, enum interval_kind kind)
{
	struct truth *t = &s->threads[i];

	t->total[t->kind] += s->now - t->since;
	t->since = s->now;
	t->kind = kind;
}

static int find(struct sim *s, enum interval_kind kind)
{
	unsigned first = rnd(s, TIDS);

	for (unsigned k = 0; k < TIDS; k++) {
		int i = s->by_tid[1 + (first + k) % TIDS];

		if (i >= 0 && s->threads[i].kind == kind)
			return i;
	}
	return -1;
}

static void born(struct sim *s, uint32_t tid, enum interval_kind kind)
{
	s->by_tid[tid] = (int)s->n;
	s->threads[s->n++] = (struct truth){
		.tid = tid, .start = s->now, .since = s->now, .kind = kind, .alive = true};
}

/* The CPU goes to a runnable thread or to idle; `state` is how its thread leaves. */
static void reschedule(struct sim *s, unsigned cpu, uint32_t state)
{
	int prev = s->on_cpu[cpu], next = find(s, INTERVAL_RUNNABLE);

	if (prev < 0 && next < 0)
		return;
	put(s, cpu,
	    (struct event){.kind = EV_SWITCH,
			   .switch_ = {prev < 0 ? 0 : s->threads[prev].tid,
				       next < 0 ? 0 : s->threads[next].tid, prev < 0 ? 0 : state}});
	if (prev >= 0 && state == STATE_GONE) {
		turn(s, prev, INTERVAL_WAITING);
		s->threads[prev].end = s->now;
		s->threads[prev].alive = false;
		s->by_tid[s->threads[prev].tid] = -1;
	} else if (prev >= 0) {
		turn(s, prev,
		     state & ~STATE_PREEMPTED && !(state & STATE_PREEMPTED) ? INTERVAL_WAITING
									    : INTERVAL_RUNNABLE);
	}
	if (next >= 0)
		turn(s, next, INTERVAL_RUNNING);
	s->on_cpu[cpu] = next;
}

static void step(struct sim *s)
{
	static const uint32_t waits[] = {STATE_INTERRUPTIBLE, STATE_UNINTERRUPTIBLE,
					 STATE_UNINTERRUPTIBLE | STATE_IOWAIT, STATE_STOPPED};
	unsigned cpu = rnd(s, CPUS), dice = rnd(s, 100);
	int cur = s->on_cpu[cpu], i;
	uint32_t tid = 1 + rnd(s, TIDS);

	s->now += rnd(s, 5) ? 1 + rnd(s, 5000) : 0;
	if (dice < 35) {
		i = find(s, INTERVAL_WAITING);
		if (i < 0)
			return;
		put(s, cpu,
		    (struct event){.kind = EV_WAKING,
				   .waking = {.wakee = s->threads[i].tid,
					      .waker = cur < 0 ? 0 : s->threads[cur].tid}});
		turn(s, i, INTERVAL_RUNNABLE);
	} else if (dice < 60 && cur >= 0) {
		reschedule(s, cpu, waits[rnd(s, 4)]);
	} else if (dice < 75) {
		reschedule(s, cpu, rnd(s, 2) ? 0 : STATE_PREEMPTED | STATE_INTERRUPTIBLE);
	} else if (dice < 90 && cur >= 0) {
		put(s, cpu,
		    (struct event){.kind = EV_SAMPLE, .sample = {.tid = s->threads[cur].tid}});
	} else if (dice < 95 && s->by_tid[tid] < 0 && s->n < THREADS_MAX) {
		put(s, cpu, (struct event){.kind = EV_FORK, .fork = {tid, 1, 0, "new"}});
		born(s, tid, INTERVAL_RUNNABLE);
	} else if (dice < 98 && cur >= 0) {
		put(s, cpu, (struct event){.kind = EV_EXIT, .exit = {.tid = s->threads[cur].tid}});
		s->now += rnd(s, 100);
		reschedule(s, cpu, STATE_GONE);
	}
}

static void simulate(struct sim *s, uint64_t seed, unsigned steps)
{
	*s = (struct sim){.seed = seed, .now = 1000};
	memset(s->by_tid, -1, sizeof(s->by_tid));
	memset(s->on_cpu, -1, sizeof(s->on_cpu));
	put(s, 0, (struct event){.kind = EV_MARK, .mark = {MARK_BEGIN}});
	for (uint32_t tid = 1; tid <= TIDS / 2; tid++) {
		bool runs = tid <= CPUS && rnd(s, 2);
		uint32_t state = runs || rnd(s, 2) ? 0 : STATE_INTERRUPTIBLE;

		put(s, 0, (struct event){.kind = EV_THREAD, .thread = {tid, 1, state, 0, "old"}});
		born(s, tid,
		     runs    ? INTERVAL_RUNNING
		     : state ? INTERVAL_WAITING
			     : INTERVAL_RUNNABLE);
		if (runs)
			s->on_cpu[tid - 1] = (int)s->n - 1;
	}
	/* A thread that runs on and on, and is never heard of, cannot be told from one that is
	 * kept waiting: a sampling clock ticks on every CPU. */
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		if (s->on_cpu[cpu] >= 0)
			put(s, cpu,
			    (struct event){.kind = EV_SAMPLE,
					   .sample = {.tid = s->threads[s->on_cpu[cpu]].tid}});
	while (steps--)
		step(s);
	s->now += 10;
	put(s, 0, (struct event){.kind = EV_MARK, .mark = {MARK_END}});
	for (unsigned i = 0; i < s->n; i++) {
		if (!s->threads[i].alive)
			continue;
		turn(s, (int)i, INTERVAL_WAITING);
		s->threads[i].end = s->now;
	}
}

static void expect_truth(const struct model *m, const struct sim *s)
{
	assert_int_equal(m->timeline.threads.n, s->n);
	assert_int_equal(m->timeline.odd, 0);
	for (unsigned i = 0; i < s->n; i++) {
		const struct thread *th = m->timeline.threads.v[i];
		const struct truth *t = &s->threads[i];

		assert_int_equal(th->tid, t->tid);
		assert_int_equal(th->start, t->start);
		assert_int_equal(th->end, t->end);
		for (unsigned k = 0; k < INTERVAL_KINDS; k++)
			assert_int_equal(th->total[k], t->total[k]);
	}
}

/* A model whose intervals nobody looks at adds up the same, and its waits have all their rows. */
static void expect_same_totals(const struct model *a, const struct model *b)
{
	uint64_t waiting = 0, rows = 0;

	assert_int_equal(a->timeline.threads.n, b->timeline.threads.n);
	for (size_t i = 0; i < a->timeline.threads.n; i++) {
		const struct thread *x = a->timeline.threads.v[i], *y = b->timeline.threads.v[i];

		for (unsigned k = 0; k < INTERVAL_KINDS; k++)
			assert_int_equal(x->total[k], y->total[k]);
		for (unsigned k = 0; k < REASONS; k++)
			assert_int_equal(x->waits[k], y->waits[k]);
		waiting += x->total[INTERVAL_WAITING];
	}
	for (size_t i = 0; i < a->tally.waits.n; i++)
		rows += a->tally.waits.v[i].total;
	assert_int_equal(rows, waiting);
}

static void test_truth(void **state)
{
	struct sim *s = mem_alloc(sizeof(*s));

	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct feed feed, *f = &feed;
		struct model *plain = model_new(NULL);

		simulate(s, seed, 50 * (unsigned)seed);
		feed_init(f);
		for (size_t i = 0; i < s->events.n; i++) {
			model_event(f->m, &s->events.v[i]);
			model_event(plain, &s->events.v[i]);
		}
		feed_finish(f);
		model_finish(plain);
		expect_truth(f->m, s);
		expect_truth(plain, s);
		model_free(plain);
		feed_done(f);
		vec_done(&s->events);
	}
	free(s);
}

/* Drops events and tells of it as a ring would; shuffles neighbours; cuts a window. */
static void test_broken_streams_still_tile(void **state)
{
	struct sim *s = mem_alloc(sizeof(*s));

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct feed feed, *f = &feed;
		struct model_opts opts = {0};
		struct model *plain;
		uint64_t end;

		simulate(s, seed, 400);
		end = s->now - 1000;
		opts.from = seed % 3 ? 0 : end / 4;
		opts.to = seed % 5 ? 0 : end / 2;
		feed_init_window(f, opts.from, opts.to);
		plain = model_new(&opts);
		for (unsigned i = 0; i < seed % 4; i++) {
			uint64_t at = 1000 + rnd(s, (uint32_t)end), until = at + rnd(s, 50000);
			uint32_t cpu = rnd(s, 5) ? rnd(s, CPUS) : SPAN_ALL_CPUS;

			model_add_loss_span(f->m, cpu, at, until);
			model_add_loss_span(plain, cpu, at, until);
		}
		for (size_t i = 0; i + 1 < s->events.n; i++) {
			struct event *ev = &s->events.v[i];

			if (i && rnd(s, 20) == 0) {
				struct event next = ev[1];

				ev[1] = ev[0];
				ev[0] = next;
			}
			if (rnd(s, 10) == 0)
				continue;
			model_event(f->m, ev);
			model_event(plain, ev);
		}
		feed_finish(f);
		model_finish(plain);
		expect_same_totals(plain, f->m);
		model_free(plain);
		feed_done(f);
		vec_done(&s->events);
	}
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truth),
		cmocka_unit_test(test_broken_streams_still_tile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
