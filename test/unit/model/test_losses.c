// SPDX-License-Identifier: MIT
/* Lost time is drawn as lost: what a missing piece of the record does to each thread. */
#include "unit/model/feed.h"

#include "wire/step.h"

#define S STATE_INTERRUPTIBLE

static void test_everybody_but_the_proven(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	model_add_loss_span(f->m, 0, 40, 60);
	BEGIN(0);
	THREAD(0, 1, 0); /* runs on the CPU that loses */
	THREAD(0, 2, 0); /* runs elsewhere throughout */
	THREAD(0, 3, S); /* waits */
	THREAD(0, 4, 0); /* runs elsewhere for a part of it */
	SWITCH(10, 0, 0, 1, 0);
	SWITCH(10, 1, 0, 2, 0);
	SWITCH(10, 2, 0, 4, 0);
	SWITCH(50, 2, 4, 0, S);
	WAKING(80, 1, 3, 2);
	SWITCH(90, 0, 5, 0, S); /* somebody else was there since the loss */
	END(100);
	feed_finish(f);
	EXPECT(1, "Q 0-10, R0 10-40, L 40-100");
	EXPECT(2, "Q 0-10, R1 10-100");
	EXPECT(3, "W1 0-40, L 40-60, W1 60-80, Q 80-100");
	EXPECT(4, "Q 0-10, R2 10-50, L 50-60, W1 60-100");
	EXPECT(5, "R0 60-90, W1 90-100");
	feed_done(f);
}

static void test_runs_on_after_the_loss(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	model_add_loss_span(f->m, 0, 40, 60);
	model_add_loss_span(f->m, 0, 100, 110);
	BEGIN(0);
	THREAD(0, 1, 0);
	SWITCH(10, 0, 0, 1, 0);
	SWITCH(80, 0, 1, 0, S); /* it was there since 60: no switch is missing after that */
	SWITCH(90, 0, 0, 1, 0);
	SAMPLE(130, 0, 1); /* and a sample proves as much */
	END(140);
	feed_finish(f);
	EXPECT(1,
	       "Q 0-10, R0 10-40, L 40-60, R0 60-80, W1 80-90, R0 90-100, L 100-110, R0 110-140");
	feed_done(f);
}

static void test_next_event_tells_since_the_loss(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	model_add_loss_span(f->m, 0, 40, 50);
	model_add_loss_span(f->m, 1, 40, 50);
	model_add_loss_span(f->m, 2, 60, 70); /* and again in the dark, elsewhere */
	BEGIN(0);
	THREAD(0, 1, 0);
	THREAD(0, 2, 0);
	SWITCH(10, 0, 0, 1, 0);
	SWITCH(10, 1, 0, 2, 0);
	WAKING(80, 3, 1, 9);	/* so it waited */
	SWITCH(90, 1, 0, 2, 0); /* so it was in the run queue */
	END(100);
	feed_finish(f);
	EXPECT(1, "Q 0-10, R0 10-40, L 40-70, W1 70-80, Q 80-100");
	EXPECT(2, "Q 0-10, R1 10-40, L 40-70, Q 70-90, R1 90-100");
	feed_done(f);
}

static void test_states_inside_a_span_are_not_trusted(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	model_add_loss_span(f->m, 0, 40, 60);
	BEGIN(0);
	THREAD(0, 1, 0);
	THREAD(0, 2, 0);
	SWITCH(10, 0, 0, 1, 0);
	SWITCH(50, 0, 1, 2, S); /* recorded, but others around it are not */
	WAKING(70, 1, 1, 9);
	SWITCH(75, 1, 0, 1, 0);
	END(100);
	feed_finish(f);
	EXPECT(1, "Q 0-10, R0 10-40, L 40-60, W1 60-70, Q 70-75, R1 75-100");
	EXPECT(2, "Q 0-40, L 40-100");
	feed_done(f);
}

static void test_spans_merge(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	model_add_loss_span(f->m, 1, 35, 50);
	model_add_loss_span(f->m, 0, 20, 40);
	model_add_loss_span(f->m, 2, 36, 38); /* inside of another */
	model_add_loss_span(f->m, 0, 80, 80); /* empty */
	BEGIN(0);
	THREAD(0, 1, S);
	END(100);
	feed_finish(f);
	EXPECT(1, "W1 0-20, L 20-50, W1 50-100");
	feed_done(f);
}

static void test_damage_hits_every_cpu(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	model_add_loss_span(f->m, SPAN_ALL_CPUS, 40, 60);
	BEGIN(0);
	THREAD(0, 1, 0);
	THREAD(0, 2, 0);
	SWITCH(10, 0, 0, 1, 0);
	SWITCH(10, 1, 0, 2, 0);
	SWITCH(70, 1, 2, 0, S);
	SWITCH(90, 7, 3, 0, S); /* a CPU that was never heard of: no proof from before the damage */
	END(100);
	feed_finish(f);
	EXPECT(1, "Q 0-10, R0 10-40, L 40-100");
	EXPECT(2, "Q 0-10, R1 10-40, L 40-60, R1 60-70, W1 70-100");
	EXPECT(3, "R7 60-90, W1 90-100");
	feed_done(f);
}

static void test_began_to_wait_in_the_dark(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	model_add_loss_span(f->m, 0, 20, 30);
	BEGIN(0);
	THREAD(0, 1, 0);
	THREAD(0, 2, 0);
	SWITCH(10, 0, 1, 0, STATE_PREEMPTED);
	WAKING(90, 1, 1, 9); /* so it was not runnable all the time */
	END(100);
	feed_finish(f);
	EXPECT(1, "R0 0-10, Q 10-20, L 20-30, W1 30-90, Q 90-100");
	feed_done(f);
}

static void test_one_wait_in_two_pieces(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	model_add_loss_span(f->m, 3, 40, 60);
	BEGIN(0);
	THREAD(0, 1, 0);
	SWITCH(10, 0, 1, 0, S);
	WAKING(100, 1, 1, 9);
	SWITCH(110, 0, 0, 1, 0);
	EV(111, 0, EV_WAIT, .wait = {1, 5, 6});
	END(120);
	feed_finish(f);
	EXPECT(1, "R0 0-10, W1 10-40, L 40-60, W1 60-100, Q 100-110, R0 110-120");
	assert_int_equal(f->m->tally.waits.n, 1);
	assert_int_equal(f->m->tally.waits.v[0].count, 1);
	assert_int_equal(f->m->tally.waits.v[0].total, 70);
	assert_int_equal(f->m->tally.waits.v[0].max, 40);
	assert_int_equal(f->m->tally.waits.v[0].kstack, 5);
	feed_done(f);
}

static struct event lost(uint32_t cause, uint32_t kind, uint64_t count, uint64_t span)
{
	return (struct event){
		.ts = 100, .cpu = 2, .kind = EV_LOST, .lost = {cause, kind, count, span}};
}

static void test_what_costs_time_and_what_does_not(void **state)
{
	const struct event events[] = {
		lost(LOSS_RING_FULL, 0, 7, 0),		/* when is not known */
		lost(LOSS_RING_FULL, EV_SAMPLE, 3, 50), /* only samples */
		lost(LOSS_SIDEBAND, 0, 2, 50),		/* only names and mappings */
		lost(LOSS_STACK_READ, 0, 4, 50),
		lost(LOSS_THROTTLED, 0, 5, 50),
		lost(99, EV_MAP, 1, 50),
	};
	const struct event serious = lost(LOSS_RING_FULL, EV_SWITCH, 1, 1000);
	struct feed feed, *f = &feed;

	feed_init(f);
	for (unsigned i = 0; i < ARRAY_LEN(events); i++)
		model_add_loss(f->m, &events[i]);
	assert_int_equal(f->m->timeline.spans.any.n, 0);
	model_add_loss(f->m, &serious);
	assert_int_equal(f->m->timeline.spans.cpu.v[2].n, 1);
	assert_int_equal(f->m->timeline.spans.cpu.v[2].v[0].start, 0); /* not before time began */
	BEGIN(10);
	for (unsigned i = 0; i < ARRAY_LEN(events); i++)
		model_event(f->m, &events[i]);
	feed_finish(f);
	assert_int_equal(f->m->losses.by_cause[LOSS_RING_FULL], 10);
	assert_int_equal(f->m->losses.by_class[LOSS_CLASS_EVENT], 13);
	assert_int_equal(f->m->losses.by_class[LOSS_CLASS_STACK], 4);
	assert_int_equal(f->m->losses.by_class[LOSS_CLASS_SAMPLE], 5);
	assert_int_equal(f->m->losses.unknown, 1);
	feed_done(f);
}

/* Without any word of a loss: two threads cannot have had the same CPU. */
static void test_contradiction_is_lost_time(void **state)
{
	struct feed feed, *f = &feed;

	feed_init(f);
	BEGIN(0);
	THREAD(0, 1, 0);
	THREAD(0, 2, 0);
	SWITCH(10, 0, 0, 1, 0);
	SWITCH(50, 0, 2, 0, S);
	WAKING(80, 1, 1, 9); /* its switch-out is missing; since 50 it waited */
	END(100);
	feed_finish(f);
	EXPECT(1, "Q 0-10, L 10-50, W1 50-80, Q 80-100");
	EXPECT(2, "Q 0-10, R0 10-50, W1 50-100");
	feed_done(f);
}

/* Off the machine from 60 on: the threads' time after that is lost, whatever they did last. */
static void test_after_a_detach_nothing_is_known(void **state)
{
	const struct event gone = {.ts = 100,
				   .cpu = EVENT_ALL_CPUS,
				   .kind = EV_LOST,
				   .lost = {LOSS_DETACHED, 0, 0, 40}};
	char note[] = "Oops: 1";
	struct feed feed, *f = &feed;

	feed_init(f);
	model_add_loss(f->m, &gone);
	BEGIN(0);
	THREAD(0, 1, 0);
	THREAD(0, 2, S);
	SWITCH(10, 0, 0, 1, 0);
	EV(20, 0, EV_MARK,
	   .mark = {MARK_STEP, STEP_SAMPLES, STEP_CAUSE_OVERHEAD, 41000, 30000, ""});
	SWITCH(30, 1, 0, 3, 0);
	EV(60, 0, EV_MARK, .mark = {MARK_STEP, STEP_DETACH, STEP_CAUSE_DISTRESS, 0, 0, note});
	note[0] = 'X'; /* the reader's memory */
	model_event(f->m, &gone);
	END(100);
	feed_finish(f);
	EXPECT(1, "Q 0-10, R0 10-60, L 60-100");
	EXPECT(2, "W1 0-60, L 60-100");
	EXPECT(3, "R1 30-60, L 60-100");
	assert_int_equal(f->m->steps.n, 2);
	assert_int_equal(f->m->steps.v[0].mark.value, 41000);
	assert_string_equal(f->m->steps.v[1].mark.note, "Oops: 1");
	assert_int_equal(model_gave_up(f->m, STEP_SAMPLES), 20);
	assert_int_equal(model_gave_up(f->m, STEP_DETACH), 60);
	assert_true(model_gave_up(f->m, STEP_RATE) == UINT64_MAX);
	feed_done(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everybody_but_the_proven),
		cmocka_unit_test(test_runs_on_after_the_loss),
		cmocka_unit_test(test_next_event_tells_since_the_loss),
		cmocka_unit_test(test_states_inside_a_span_are_not_trusted),
		cmocka_unit_test(test_spans_merge),
		cmocka_unit_test(test_damage_hits_every_cpu),
		cmocka_unit_test(test_began_to_wait_in_the_dark),
		cmocka_unit_test(test_one_wait_in_two_pieces),
		cmocka_unit_test(test_what_costs_time_and_what_does_not),
		cmocka_unit_test(test_contradiction_is_lost_time),
		cmocka_unit_test(test_after_a_detach_nothing_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
