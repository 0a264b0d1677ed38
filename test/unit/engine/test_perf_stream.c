// SPDX-License-Identifier: MIT
/*
 * Turning perf's records into those of the probes: what is reported, what is not, and what is not
 * made up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "base/vec.h"
#include "engine/perf_stream.h"
#include "wire/state.h"

#define OTHER UINT32_MAX
#define CLOCK_OF(set) ((set)*10)
#define WAITS_OF(set) ((set)*10 + 1)

struct said {
	uint32_t kind;
	uint64_t ts;
	uint16_t cpu;
	_Alignas(8) uint8_t bytes[128];
};

struct scene {
	struct perf_setup setup;
	struct perf_stream *s;
	VEC(struct said) said;
	size_t walked;
};

static void on_probe(void *ctx, const struct record *rec)
{
	const struct pr_hdr *h = rec->data;
	struct said said = {.kind = PR_KIND(h->hdr), .ts = rec->ts, .cpu = rec->cpu};
	struct scene *c = ctx;

	assert_int_equal(h->ts, rec->ts);
	assert_int_equal(PR_LEN(h->hdr), rec->len);
	memcpy(said.bytes, rec->data,
	       rec->len < sizeof(said.bytes) ? rec->len : sizeof(said.bytes));
	vec_push(&c->said, said);
}

static uint64_t on_walk(void *ctx, const struct pr_copy *copy)
{
	return 1000 + ++((struct scene *)ctx)->walked;
}

static const struct perf_stream_ops ops = {.probe = on_probe, .walk = on_walk};

/* Threads 1, 2 and 3 have sets of their own, unless CPUs have. */
static void open_scene(struct scene *c, bool wide)
{
	*c = (struct scene){.setup = {.sample_type = PERF_RECORD_SAMPLES,
				      .freq_hz = 1000,
				      .min_wait_ns = 50,
				      .wide = wide,
				      .inherit = true}};
	for (uint32_t set = wide ? 0 : 1; set <= (wide ? 0u : 3u); set++) {
		*map_put(&c->setup.ids, CLOCK_OF(set), NULL) = PERF_OF_SET(set);
		*map_put(&c->setup.ids, WAITS_OF(set), NULL) = PERF_OF_SET(set) | PERF_AT_SWITCH;
	}
	c->s = perf_stream_new(&c->setup, &ops, c);
	perf_stream_begin(c->s, 100);
}

static void close_scene(struct scene *c)
{
	perf_stream_free(c->s);
	map_done(&c->setup.ids);
	map_done(&c->setup.members);
	vec_done(&c->said);
}

static struct perf_record rec(uint32_t type, uint64_t id, uint32_t tid, uint64_t ts)
{
	struct perf_record r;

	memset(&r, 0, sizeof(r));
	r.type = type;
	r.id = id;
	r.pid = 1;
	r.tid = tid;
	r.ts = ts;
	return r;
}

static void feed(struct scene *c, const struct perf_record *r, uint16_t cpu)
{
	c->said.n = 0;
	perf_stream_record(c->s, r, cpu);
}

static void out(struct scene *c, uint64_t id, uint32_t tid, uint64_t ts, bool preempt)
{
	struct perf_record r = rec(PERF_RECORD_SWITCH, id, tid, ts);

	r.switched = (struct perf_switch){.out = true, .preempt = preempt};
	feed(c, &r, 0);
}

static void in(struct scene *c, uint64_t id, uint32_t tid, uint64_t ts)
{
	struct perf_record r = rec(PERF_RECORD_SWITCH, id, tid, ts);

	feed(c, &r, 0);
}

static void wide_out(struct scene *c, uint32_t tid, uint32_t next, uint64_t ts)
{
	struct perf_record r = rec(PERF_RECORD_SWITCH_CPU_WIDE, CLOCK_OF(0), tid, ts);

	r.switched =
		(struct perf_switch){.out = true, .wide = true, .other_pid = 1, .other_tid = next};
	feed(c, &r, 0);
}

static void sample(struct scene *c, uint64_t id, uint32_t tid, uint64_t ts)
{
	struct perf_record r = rec(PERF_RECORD_SAMPLE, id, tid, ts);
	uint64_t chain[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000000 + tid};

	r.sample.user = true;
	r.sample.chain = (const uint8_t *)chain;
	r.sample.n_chain = 2;
	feed(c, &r, 0);
}

static void expect_switch(const struct scene *c, size_t i, uint32_t prev, uint32_t next,
			  uint32_t state)
{
	const struct pr_switch *sw = (const void *)c->said.v[i].bytes;

	assert_true(i < c->said.n);
	assert_int_equal(c->said.v[i].kind, PR_SWITCH);
	assert_int_equal(sw->prev, prev);
	assert_int_equal(sw->next, next);
	assert_int_equal(sw->state, state);
}

static void test_wait_and_preemption(void **state)
{
	struct scene c;

	open_scene(&c, false);
	out(&c, CLOCK_OF(1), 1, 90, false); /* before the start */
	assert_int_equal(c.said.n, 0);
	in(&c, CLOCK_OF(1), 1, 200);
	expect_switch(&c, 0, OTHER, 1, STATE_PREV_OUT);
	sample(&c, WAITS_OF(1), 1, 299);
	assert_int_equal(c.said.n, 1); /* its stack; not a sample of what runs */
	assert_int_equal(c.said.v[0].kind, PR_STACK);
	out(&c, CLOCK_OF(1), 1, 300, false);
	assert_int_equal(c.said.n, 1);
	expect_switch(&c, 0, 1, OTHER, STATE_INTERRUPTIBLE | STATE_NEXT_OUT);
	in(&c, CLOCK_OF(1), 1, 400);
	assert_int_equal(c.said.n, 2);
	expect_switch(&c, 0, OTHER, 1, STATE_PREV_OUT);
	assert_int_equal(c.said.v[1].kind, PR_WAIT);
	assert_int_equal(((struct pr_sample *)c.said.v[1].bytes)->ustack, 1001);
	/* Preempted: runnable, and no wait, whatever was sampled. */
	sample(&c, WAITS_OF(1), 1, 498);
	out(&c, CLOCK_OF(1), 1, 500, true);
	expect_switch(&c, 0, 1, OTHER, STATE_PREEMPTED | STATE_NEXT_OUT);
	in(&c, CLOCK_OF(1), 1, 900);
	assert_int_equal(c.said.n, 1);
	/* A wait without a sample has no stacks: not those of the one before. */
	out(&c, CLOCK_OF(1), 1, 1000, false);
	in(&c, CLOCK_OF(1), 1, 2000);
	assert_int_equal(c.said.n, 1);
	/* A short one does without. */
	sample(&c, WAITS_OF(1), 1, 2099);
	out(&c, CLOCK_OF(1), 1, 2100, false);
	in(&c, CLOCK_OF(1), 1, 2149);
	assert_int_equal(c.said.n, 1);
	close_scene(&c);
}

static void test_samples(void **state)
{
	struct scene c;

	open_scene(&c, false);
	sample(&c, CLOCK_OF(2), 2, 150);
	assert_int_equal(c.said.n, 2);
	assert_int_equal(c.said.v[0].kind, PR_STACK);
	assert_int_equal(c.said.v[1].kind, PR_SAMPLE);
	assert_int_equal(((struct pr_sample *)c.said.v[1].bytes)->tid, 2);
	assert_int_equal(((struct pr_sample *)c.said.v[1].bytes)->kstack,
			 ((struct pr_stack *)c.said.v[0].bytes)->id);
	/* From an event that nobody has opened. */
	sample(&c, 77, 2, 160);
	assert_int_equal(c.said.n, 0);
	close_scene(&c);
}

/* Thread 9 was born while the events were opened: it has the sets of 1 and 2. */
static void test_two_sets(void **state)
{
	struct perf_record end = rec(PERF_RECORD_EXIT, CLOCK_OF(1), 9, 500);
	struct scene c;

	open_scene(&c, false);
	in(&c, CLOCK_OF(1), 9, 200);
	assert_int_equal(c.said.n, 1);
	in(&c, CLOCK_OF(2), 9, 201);
	assert_int_equal(c.said.n, 0);
	sample(&c, CLOCK_OF(2), 9, 250);
	assert_int_equal(c.said.n, 0);
	sample(&c, CLOCK_OF(1), 9, 251);
	assert_int_equal(c.said.n, 2);
	end.task.pid = 1;
	end.task.tid = 9;
	feed(&c, &end, 0);
	assert_int_equal(c.said.n, 2);
	end.id = CLOCK_OF(2);
	end.ts++;
	feed(&c, &end, 0);
	assert_int_equal(c.said.n, 0);
	close_scene(&c);
}

static void test_life(void **state)
{
	struct perf_record r = rec(PERF_RECORD_FORK, CLOCK_OF(1), 1, 200);
	const struct pr_task *task;
	struct scene c;

	open_scene(&c, false);
	r.task.pid = r.task.ppid = 1;
	r.task.tid = 8;
	r.task.ptid = 1;
	feed(&c, &r, 0);
	assert_int_equal(c.said.n, 1);
	assert_int_equal(c.said.v[0].kind, PR_FORK);
	task = (const void *)c.said.v[0].bytes;
	assert_int_equal(task->tid, 8);
	assert_int_equal(task->other, 1);
	in(&c, CLOCK_OF(1), 8, 300);
	r = rec(PERF_RECORD_EXIT, CLOCK_OF(1), 8, 400);
	r.task.pid = 1;
	r.task.tid = 8;
	feed(&c, &r, 0);
	assert_int_equal(c.said.n, 2);
	assert_int_equal(c.said.v[0].kind, PR_EXIT);
	expect_switch(&c, 1, 8, OTHER, STATE_DEAD | STATE_NEXT_OUT);
	/* Without inheritance, children are not reported. */
	c.setup.inherit = false;
	r = rec(PERF_RECORD_FORK, CLOCK_OF(1), 1, 500);
	r.task.tid = 8;
	r.task.ptid = 1;
	feed(&c, &r, 0);
	assert_int_equal(c.said.n, 0);
	close_scene(&c);
}

/* Thread 2 calls exec(): from then on it is thread 1. */
static void test_exec_by_thread(void **state)
{
	struct perf_record r = rec(PERF_RECORD_COMM, CLOCK_OF(2), 1, 300);
	const struct pr_task *task;
	struct scene c;

	open_scene(&c, false);
	in(&c, CLOCK_OF(2), 2, 200);
	r.comm.pid = r.comm.tid = 1;
	r.comm.exec = true;
	memcpy(r.comm.name, "new", 4);
	feed(&c, &r, 0);
	assert_int_equal(c.said.n, 1);
	assert_int_equal(c.said.v[0].kind, PR_EXEC);
	task = (const void *)c.said.v[0].bytes;
	assert_int_equal(task->tid, 1);
	assert_int_equal(task->other, 2);
	assert_memory_equal(task->comm, "new", 4);
	out(&c, CLOCK_OF(2), 1, 400, false);
	expect_switch(&c, 0, 1, OTHER, STATE_INTERRUPTIBLE | STATE_NEXT_OUT);
	close_scene(&c);
}

static void test_cpu_wide(void **state)
{
	struct perf_record end = rec(PERF_RECORD_EXIT, CLOCK_OF(0), 4, 350);
	struct perf_record back = rec(PERF_RECORD_SWITCH_CPU_WIDE, CLOCK_OF(0), 5, 210);
	struct scene c;

	open_scene(&c, true);
	wide_out(&c, 0, 5, 200);
	expect_switch(&c, 0, 0, 5, STATE_INTERRUPTIBLE);
	back.switched.wide = true;
	feed(&c, &back, 0); /* the other half of it */
	assert_int_equal(c.said.n, 0);
	/* Thread 6 leaves without a record: the thread that comes names it. */
	wide_out(&c, 5, 6, 220);
	back.ts = 230;
	back.switched.other_tid = 6;
	feed(&c, &back, 0);
	expect_switch(&c, 0, 6, 5, STATE_INTERRUPTIBLE);
	wide_out(&c, 5, 4, 300);
	end.task.tid = 4;
	feed(&c, &end, 0);
	assert_int_equal(c.said.n, 1);
	assert_int_equal(c.said.v[0].kind, PR_EXIT);
	/* Reaped by now, it has no number: it is the thread that ran here. */
	wide_out(&c, OTHER, 5, 400);
	expect_switch(&c, 0, 4, 5, STATE_DEAD);
	close_scene(&c);
}

/* Of the whole machine's records, only those of members, and of their children. */
static void test_filter(void **state)
{
	struct perf_record r = rec(PERF_RECORD_FORK, CLOCK_OF(0), 5, 400);
	struct scene c;

	open_scene(&c, true);
	c.setup.filter = true;
	map_put(&c.setup.members, 5, NULL);
	wide_out(&c, 6, 7, 200);
	assert_int_equal(c.said.n, 0);
	wide_out(&c, 7, 5, 300);
	expect_switch(&c, 0, 7, 5, STATE_INTERRUPTIBLE | STATE_PREV_OUT);
	sample(&c, CLOCK_OF(0), 7, 310);
	assert_int_equal(c.said.n, 0);
	r.task.tid = 8;
	r.task.ptid = 5;
	feed(&c, &r, 0);
	assert_int_equal(c.said.n, 1);
	wide_out(&c, 5, 8, 500);
	expect_switch(&c, 0, 5, 8, STATE_INTERRUPTIBLE);
	r.task.tid = 9;
	r.task.ptid = 6;
	feed(&c, &r, 0);
	assert_int_equal(c.said.n, 0);
	close_scene(&c);
}

static void test_losses(void **state)
{
	struct perf_record r = rec(PERF_RECORD_LOST, CLOCK_OF(1), 1, 700);
	struct scene c;

	open_scene(&c, false);
	in(&c, CLOCK_OF(1), 1, 500);
	r.lost = 3;
	feed(&c, &r, 0);
	assert_int_equal(c.said.n, 1);
	assert_int_equal(c.said.v[0].kind, PR_LOST);
	assert_int_equal(((struct pr_lost *)c.said.v[0].bytes)->from, 500);
	r.ts = 800;
	feed(&c, &r, 1); /* a CPU of which nothing was heard: since the start */
	assert_int_equal(((struct pr_lost *)c.said.v[0].bytes)->from, 100);
	r = rec(PERF_RECORD_THROTTLE, CLOCK_OF(1), 1, 1000);
	feed(&c, &r, 0);
	r = rec(PERF_RECORD_UNTHROTTLE, CLOCK_OF(1), 1, 1000 + 5000000);
	feed(&c, &r, 0);
	assert_int_equal(perf_stream_throttled(c.s), 1 + 5);
	close_scene(&c);
}

/* The copy of a stack: its words are where the walk looks for them, and it ends where it ends. */
static void test_copy(void **state)
{
	struct pr_copy *copy = malloc(sizeof(*copy));
	struct perf_record r = rec(PERF_RECORD_SAMPLE, 0, 1, 1);
	uint8_t *stack = malloc(65536);
	static const size_t sizes[] = {0, 7, 8, 1000, 1024, 8192, 16384, 65536};

	for (size_t i = 0; i < 65536; i++)
		stack[i] = (uint8_t)(i / 8);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (uint64_t sp = 0x7ffc00000000; sp < 0x7ffc00000400; sp += 8) {
			size_t at = sp & 1023, n = sizes[i] & ~7ul;

			r.sample.user = true;
			r.sample.regs.sp = sp;
			r.sample.stack = stack;
			r.sample.stack_len = sizes[i];
			perf_stream_copy(&r, copy);
			n = n < COPY_MAX - at ? n : COPY_MAX - at;
			assert_int_equal(PR_LEN(copy->h.hdr), PR_COPY_HEAD + (n ? at + n : 0));
			assert_memory_equal(copy->stack + at, stack, n);
			for (size_t k = 0; k < n; k += 1024)
				assert_true(copy->have >> (at + k) / COPY_CHUNK & 1);
		}
	}
	free(stack);
	free(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wait_and_preemption),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_two_sets),
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_exec_by_thread),
		cmocka_unit_test(test_cpu_wide),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
