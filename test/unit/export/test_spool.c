// SPDX-License-Identifier: MIT
/*
 * Records by thread: they add up to what the model says, and are the same however little room there
 * is for them. So are the files that are made of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "export/firefox.h"
#include "export/speedscope.h"
#include "model/load.h"
#include "store/reader.h"
#include "unit/capture.h"
#include "wire/loss.h"

#define LOCK 0x55d0c0de0040ull
enum { THREADS = 6, CPUS = 3, ROUNDS = 900, STEP_US = 50, MANY = 70000, BUSY = 50 };

/* Two threads to each CPU, which take turns; every third wait is for the lock that thread 1 has. */
static void rounds(struct writer *w, uint32_t stack, bool lose)
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t cpu = i % CPUS, in = 1 + cpu + (i / CPUS % 2) * CPUS;
		uint32_t out = i < CPUS ? 0 : 1 + cpu + ((i / CPUS + 1) % 2) * CPUS;
		uint64_t us = 10 + (uint64_t)i * STEP_US;

		PUT(us, cpu, EV_WAKING, .waking = {in, out, out ? WAKE_TASK : WAKE_HARDIRQ, 0, 0});
		if (out && i % 5 == 0)
			PUT(us + 4, cpu, EV_FUTEX, .futex = {out, LOCK, 0x80, 2, 2, 0, 1, 1, 0});
		PUT(us + 5, cpu, EV_SWITCH, .switch_ = {out, in, out ? STATE_INTERRUPTIBLE : 0, 0});
		/* After it: what the wait was is known only when samples have been taken. */
		PUT(us + 6, cpu, EV_SAMPLE, .sample = {in, 0, i % 2 ? stack : 0});
		PUT(us + 7, cpu, EV_WAIT, .wait = {in, 0, stack});
		if (lose && i == ROUNDS / 2)
			PUT(us + 30, 1, EV_LOST, .lost = {LOSS_RING_FULL, 0, 7, 900 * US});
	}
}

static void make(bool lose, bool busy)
{
	struct writer_opts opts = {.no_sync = true, .chunk_bytes = 4096};
	struct module app = {.kind = MODULE_FILE, .path = "/bin/app"};
	struct frame f = {0, 0x10};
	uint64_t end = 10 + ROUNDS * STEP_US;
	struct writer *w;
	uint32_t stack;

	assert_int_equal(writer_open(path, &opts, &w), 0);
	f.module = writer_module(w, &app);
	stack = writer_stack(w, &f, 1, 1);
	PUT(0, 0, EV_MARK, .mark = {MARK_BEGIN});
	for (uint32_t tid = 1; tid <= THREADS; tid++)
		PUT(0, 0, EV_THREAD, .thread = {tid, 1, STATE_INTERRUPTIBLE, 0, "t\"\xff"});
	rounds(w, stack, lose);
	if (busy) { /* for long, without a switch */
		PUT(end, 4, EV_THREAD, .thread = {BUSY, BUSY, 0, 0, "busy"});
		PUT(end, 4, EV_SWITCH, .switch_ = {0, BUSY, 0, 0});
		for (uint64_t i = 0; i < MANY; i++)
			PUT(++end, 4, EV_SAMPLE, .sample = {BUSY, 0, stack});
		PUT(end + 5, 4, EV_SWITCH, .switch_ = {BUSY, 0, STATE_INTERRUPTIBLE, 0});
	}
	PUT(end + 10, 0, EV_MARK, .mark = {MARK_END});
	assert_int_equal(writer_close(w, END_DONE), 0);
}

struct stage {
	struct reader *r;
	struct model *m;
	struct summary *s;
	struct export_job job;
};

static void open_stage(struct stage *st, uint64_t from, uint64_t to)
{
	assert_int_equal(reader_open(path, &st->r), 0);
	assert_int_equal(
		model_load(st->r, path, &(struct model_opts){.from = from, .to = to}, &st->m), 0);
	assert_int_equal(summary_new(st->m, &(struct summary_opts){0}, &st->s), 0);
	st->job = (struct export_job){.model = st->m,
				      .summary = st->s,
				      .reader = st->r,
				      .title = "x",
				      .kinds = EXPORT_ALL};
}

static void close_stage(struct stage *st)
{
	summary_free(st->s);
	model_free(st->m);
	reader_close(st->r);
}

struct sums {
	const struct model *m;
	uint64_t *waits, *samples; /* by row */
	uint64_t cpu, runnable, lost, at;
	uint64_t threads, records, held, hash;
	uint64_t n; /* of the thread */
};

static int add(void *arg, const struct spooled *rec)
{
	struct sums *s = arg;
	uint64_t words[] = {rec->kind, rec->start,  rec->end, rec->cpu,
			    rec->row,  rec->holder, rec->by,  rec->waker};

	s->n++;
	s->hash = map_mix(s->hash + map_hash_bytes(words, sizeof(words)));
	s->cpu += rec->cpu;
	if (rec->kind == SPOOLED_SAMPLE)
		s->samples[rec->row]++;
	if (rec->kind == SPOOLED_RUNNABLE)
		s->runnable += rec->end - rec->start;
	if (rec->kind == SPOOLED_LOST)
		s->lost += rec->end - rec->start;
	if (rec->kind == SPOOLED_WAIT) {
		const struct wait_row *r = &s->m->tally.waits.v[rec->row];

		s->waits[rec->row] += rec->end - rec->start;
		/* Its tid is 1, it is the first: but never the one that waits. */
		if (r->lock && r->thread->index)
			assert_int_equal(rec->holder, 1);
		else
			assert_int_equal(rec->holder, 0);
		s->held += rec->holder != 0;
	}
	if (rec->kind != SPOOLED_SAMPLE && rec->kind != SPOOLED_REST) {
		assert_true(rec->start >= s->at);
		s->at = rec->end;
	}
	return 0;
}

static int count(void *arg, const struct spooled *rec)
{
	++*(uint64_t *)arg;
	return 0;
}

static int on_thread(void *arg, const struct thread *th, struct spool_lane *lane)
{
	struct sums *s = arg;
	uint64_t again = 0;

	s->threads++;
	s->cpu = s->runnable = s->lost = s->at = s->n = 0;
	assert_int_equal(spool_each(lane, add, s), 0);
	assert_int_equal(s->cpu, th->total[INTERVAL_RUNNING]);
	assert_int_equal(s->runnable, th->total[INTERVAL_RUNNABLE]);
	assert_int_equal(s->lost, th->total[INTERVAL_LOST]);
	/* As often as one likes. */
	assert_int_equal(spool_each(lane, count, &again), 0);
	assert_int_equal(again, s->n);
	s->records += s->n;
	return 0;
}

static uint64_t sum_up(struct stage *st, size_t room)
{
	const struct tally *t = &st->m->tally;
	struct spool_opts opts = {.room = room, .waits = true, .holders = true};
	struct sums s = {.m = st->m};

	s.waits = mem_zalloc((t->waits.n + 1) * sizeof(uint64_t));
	s.samples = mem_zalloc((t->samples.n + 1) * sizeof(uint64_t));
	assert_int_equal(spool_run(&st->job, &opts, on_thread, &s), 0);
	assert_int_equal(s.threads, st->s->threads.n);
	assert_true(s.held > 0);
	for (size_t i = 0; i < t->waits.n; i++)
		assert_int_equal(s.waits[i], t->waits.v[i].total);
	for (size_t i = 0; i < t->samples.n; i++)
		assert_int_equal(s.samples[i], t->samples.v[i].count);
	free(s.waits);
	free(s.samples);
	return s.hash;
}

static void compare(bool lose, bool busy, uint64_t from, uint64_t to)
{
	struct stage st;
	uint64_t hash;

	make(lose, busy);
	open_stage(&st, from, to);
	hash = sum_up(&st, SPOOL_ROOM);
	for (size_t room = busy ? 6000 : 1; room < 6001; room += 1500)
		assert_int_equal(sum_up(&st, room), hash);
	close_stage(&st);
}

static void test_sums(void **state)
{
	compare(false, false, 0, 0);
	compare(true, false, 0, 0);
}

static void test_window(void **state)
{
	compare(false, false, 3003 * US, 30001 * US);
	compare(true, false, 3003 * US, 0);
}

static void test_a_busy_thread(void **state)
{
	compare(false, true, 0, 0);
}

static char *written(struct stage *st, int (*run)(const struct export_job *, size_t), size_t room)
{
	char *text = NULL;
	size_t len;

	st->job.out = open_memstream(&text, &len);
	assert_non_null(st->job.out);
	assert_int_equal(run(&st->job, room), 0);
	fclose(st->job.out);
	return text;
}

static void test_files(void **state)
{
	int (*const runs[])(const struct export_job *, size_t) = {firefox_run, speedscope_run};
	struct stage st;

	make(true, false);
	open_stage(&st, 0, 0);
	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		char *whole = written(&st, runs[i], SPOOL_ROOM);

		assert_true(strlen(whole) > 1000);
		for (size_t room = 1; room < 3000; room += 900) {
			char *text = written(&st, runs[i], room);

			assert_string_equal(text, whole);
			free(text);
		}
		free(whole);
	}
	close_stage(&st);
}

static void test_a_full_disk(void **state)
{
	struct stage st;

	make(false, true);
	open_stage(&st, 0, 0);
	st.job.out = fopen("/dev/full", "w");
	assert_non_null(st.job.out);
	assert_true(firefox_run(&st.job, SPOOL_ROOM) < 0);
	clearerr(st.job.out);
	assert_true(speedscope_run(&st.job, SPOOL_ROOM) < 0);
	fclose(st.job.out);
	close_stage(&st);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),	    cmocka_unit_test(test_window),
		cmocka_unit_test(test_files),	    cmocka_unit_test(test_a_busy_thread),
		cmocka_unit_test(test_a_full_disk),
	};

	return cmocka_run_group_tests(tests, make_path, remove_path);
}
