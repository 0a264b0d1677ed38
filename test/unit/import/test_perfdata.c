// SPDX-License-Identifier: MIT
/* perf.data made by hand: what becomes of it, and that no damage of it does harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "import/import.h"
#include "store/reader.h"
#include "unit/import/build.h"
#include "wire/state.h"

#define MS 1000000ull

static const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_KERNEL,
				 0xffffffff81000100ull,
				 0xffffffff81000200ull,
				 (uint64_t)PERF_CONTEXT_USER,
				 0x401010,
				 0x401120};

struct files {
	int in, out;
	char in_path[40], out_path[40];
	struct import_result res;
};

static void files_open(struct files *f)
{
	f->in = memfd_create("in", 0);
	f->out = memfd_create("out", 0);
	snprintf(f->in_path, sizeof(f->in_path), "/proc/self/fd/%d", f->in);
	snprintf(f->out_path, sizeof(f->out_path), "/proc/self/fd/%d", f->out);
}

static void files_close(struct files *f)
{
	close(f->in);
	close(f->out);
}

static int import(struct files *f, const void *data, size_t len)
{
	struct import_opts o = {
		.path = f->in_path, .output = f->out_path, .format = "perfdata", .no_names = true};

	assert_int_equal(ftruncate(f->in, 0), 0);
	assert_int_equal(ftruncate(f->out, 0), 0);
	assert_int_equal(pwrite(f->in, data, len, 0), len);
	return import_file(&o, &f->res);
}

/* The n-th event of a kind; false: there are fewer. */
static bool event_at(struct reader *r, unsigned kind, size_t n, struct event *ret)
{
	reader_rewind(r);
	while (reader_next(r, ret) > 0)
		if (ret->kind == kind && !n--)
			return true;
	return false;
}

static size_t count(struct reader *r, unsigned kind)
{
	struct event ev;
	size_t n = 0;

	while (event_at(r, kind, n, &ev))
		n++;
	return n;
}

static void put_sampled(struct buf *b)
{
	struct buf rec = {0};

	rec_comm(&rec, 7, "before", 0, false);
	rec_mmap(&rec, 7, 0x400000, 0x10000, 0, "/bin/prog", 0);
	rec_clock(&rec, 7, 3 * MS, chain, 6);
	rec_round(&rec);
	/* Of another CPU's buffer: earlier. */
	rec_clock(&rec, 7, 1 * MS, chain, 6);
	rec_comm(&rec, 7, "after", 2 * MS, true);
	rec_mmap(&rec, 7, 0x400000, 0x10000, 0x1000, "/bin/other", 2 * MS);
	rec_round(&rec);
	rec_clock(&rec, 7, 4 * MS, chain, 6);
	rec_task(&rec, PERF_RECORD_EXIT, 7, 1, 5 * MS);
	put_file(b, &rec, false);
	buf_done(&rec);
}

static void put_sched(struct buf *b)
{
	struct buf rec = {0};

	rec_task(&rec, PERF_RECORD_FORK, 7, 1, 0);
	rec_comm(&rec, 7, "seven", 0, false);
	rec_switch(&rec, 10 * MS, 0, 7, 1, 0);	   /* it sleeps */
	rec_waking(&rec, 12 * MS, 1, 8, 7, 0);	   /* 8 wakes it */
	rec_switch(&rec, 13 * MS, 0, 0, 0, 7);	   /* and it runs, */
	rec_switch(&rec, 17 * MS, 0, 7, 0x100, 9); /* is preempted, */
	rec_switch(&rec, 18 * MS, 0, 9, 2, 7);	   /* runs again, */
	rec_waking(&rec, 19 * MS, 0, 7, 9, 0x08);  /* an interrupt wakes 9 */
	rec_switch(&rec, 20 * MS, 0, 7, 0x10, 0);  /* and ends */
	put_file(b, &rec, true);
	buf_done(&rec);
}

static void test_sampled(void **state)
{
	const struct frame *f;
	struct buf b = {0};
	struct reader *r;
	struct files io;
	struct event ev;

	files_open(&io);
	put_sampled(&b);
	assert_int_equal(import(&io, b.p, b.len), 0);
	assert_int_equal(io.res.samples, 3);
	assert_int_equal(reader_open(io.out_path, &r), 0);
	assert_string_equal(reader_meta(r, "host", 0), "host");
	assert_string_equal(reader_meta(r, "freq_hz", 0), "1000");
	assert_int_equal(count(r, EV_SAMPLE), 3);
	/* In the order of time, each by the mappings of its time. */
	for (size_t i = 0; i < 3; i++) {
		assert_true(event_at(r, EV_SAMPLE, i, &ev));
		assert_int_equal(ev.ts, (i ? i + 2 : 1) * MS);
		assert_int_equal(ev.sample.tid, 7);
		assert_int_equal(reader_stack(r, ev.sample.ustack, &f), 2);
		assert_string_equal(reader_module(r, f[0].module)->path,
				    i ? "/bin/other" : "/bin/prog");
		assert_int_equal(f[0].offset, i ? 0x2010 : 0x1010);
		assert_int_equal(f[1].offset, i ? 0x211f : 0x111f); /* the call, not after it */
		assert_int_equal(reader_stack(r, ev.sample.kstack, &f), 2);
		assert_int_equal(f[0].offset, 0xffffffff81000100ull);
		assert_int_equal(f[1].offset, 0xffffffff810001ffull);
	}
	assert_true(event_at(r, EV_THREAD, 0, &ev));
	assert_string_equal(ev.thread.name, "before");
	assert_int_equal(ev.ts, 1 * MS);
	assert_true(event_at(r, EV_EXEC, 0, &ev));
	assert_string_equal(ev.exec.name, "after");
	assert_int_equal(count(r, EV_EXIT), 1);
	assert_int_equal(count(r, EV_LOST), 0);
	reader_close(r);
	buf_done(&b);
	files_close(&io);
}

static void test_sched(void **state)
{
	static const struct {
		uint64_t ts;
		uint32_t prev, next, state;
	} want[] = {{10, 7, 0, STATE_INTERRUPTIBLE},
		    {13, 0, 7, 0},
		    {17, 7, 9, STATE_PREEMPTED},
		    {18, 9, 7, STATE_UNINTERRUPTIBLE},
		    {20, 7, 0, STATE_DEAD}};
	struct buf b = {0};
	struct reader *r;
	struct files io;
	struct event ev;

	files_open(&io);
	put_sched(&b);
	assert_int_equal(import(&io, b.p, b.len), 0);
	assert_int_equal(reader_open(io.out_path, &r), 0);
	assert_int_equal(count(r, EV_SWITCH), 5);
	for (size_t i = 0; i < 5; i++) {
		assert_true(event_at(r, EV_SWITCH, i, &ev));
		assert_int_equal(ev.ts, want[i].ts * MS);
		assert_int_equal(ev.switch_.prev, want[i].prev);
		assert_int_equal(ev.switch_.next, want[i].next);
		assert_int_equal(ev.switch_.state, want[i].state);
	}
	assert_true(event_at(r, EV_WAKING, 0, &ev));
	assert_int_equal(ev.waking.wakee, 7);
	assert_int_equal(ev.waking.waker, 8);
	assert_int_equal(ev.waking.ctx, WAKE_TASK);
	assert_true(event_at(r, EV_WAKING, 1, &ev));
	assert_int_equal(ev.waking.ctx, WAKE_HARDIRQ);
	reader_close(r);
	buf_done(&b);
	files_close(&io);
}

static void test_unseen(void **state)
{
	static const char *const want[] = {"locks", "wait_stacks"};
	struct buf b = {0};
	struct reader *r;
	struct files io;

	files_open(&io);
	put_sched(&b);
	assert_int_equal(import(&io, b.p, b.len), 0);
	assert_int_equal(reader_open(io.out_path, &r), 0);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(reader_meta(r, "unseen", i), want[i]);
	assert_null(reader_meta(r, "unseen", 2));
	reader_close(r);
	buf_done(&b);
	files_close(&io);
}

/* In the pipe form: an event, its name, and a wait of 5 ms as perf 6.16 has it. */
static void put_waits(struct buf *b)
{
	static const uint64_t stack[] = {(uint64_t)PERF_CONTEXT_USER, 0x401010, 0x401120};
	size_t at;

	buf_put(b, "PERFILE2", 8);
	b64(b, 16);
	at = rec_begin(b, 64, 0);
	put_attr(b, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT,
		 PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
			 PERF_SAMPLE_RAW);
	b64(b, ID_CLOCK);
	rec_end(b, at);
	at = rec_begin(b, 78, 0);
	b64(b, 2);
	b64(b, ID_CLOCK);
	btext(b, "offcpu-time", 16);
	rec_end(b, at);
	rec_comm(b, 7, "seven", 1 * MS, true);
	rec_mmap(b, 7, 0x400000, 0x10000, 0, "/bin/prog", 1 * MS);
	at = rec_begin(b, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	b64(b, ID_CLOCK);
	b64(b, 0); /* whoever it was in whose time it was written */
	b64(b, 9 * MS);
	b64(b, 0);
	b32(b, 52);
	b32(b, 7);
	b32(b, 7);
	b64(b, 5 * MS);
	b64(b, 3);
	buf_put(b, stack, sizeof(stack));
	b64(b, 0); /* the cgroup */
	rec_end(b, at);
}

static void test_waits(void **state)
{
	const struct frame *f;
	struct buf b = {0};
	struct reader *r;
	struct files io;
	struct event ev;

	files_open(&io);
	put_waits(&b);
	assert_int_equal(import(&io, b.p, b.len), 0);
	assert_int_equal(reader_open(io.out_path, &r), 0);
	/* It runs from its start, waits, and runs again. */
	assert_int_equal(count(r, EV_SWITCH), 3);
	assert_true(event_at(r, EV_SWITCH, 1, &ev));
	assert_int_equal(ev.ts, 4 * MS);
	assert_int_equal(ev.switch_.prev, 7);
	assert_true(event_at(r, EV_SWITCH, 2, &ev));
	assert_int_equal(ev.ts, 9 * MS);
	assert_int_equal(ev.switch_.next, 7);
	assert_true(event_at(r, EV_WAIT, 0, &ev));
	assert_int_equal(reader_stack(r, ev.wait.ustack, &f), 2);
	assert_int_equal(f[0].offset, 0x1010);
	reader_close(r);
	buf_done(&b);
	files_close(&io);
}

/* Whatever comes out is a capture, or there is an error with words. */
static void survives(struct files *io, const struct buf *b)
{
	struct reader *r;
	struct event ev;

	err_clear();
	if (import(io, b->p, b->len)) {
		assert_true(err_msg()[0]);
		return;
	}
	assert_int_equal(reader_open(io->out_path, &r), 0);
	while (reader_next(r, &ev) > 0)
		;
	assert_true(reader_info(r)->complete);
	reader_close(r);
}

static void (*const makers[])(struct buf *b) = {put_sampled, put_sched, put_waits};

static void test_truncated(void **state)
{
	struct files io;

	files_open(&io);
	for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
		struct buf b = {0}, cut;

		makers[i](&b);
		for (size_t n = 0; n < b.len; n++) {
			/* Its own memory, so that reading past it is seen. */
			cut = (struct buf){.p = malloc(n + 1), .len = n};
			memcpy(cut.p, b.p, n);
			survives(&io, &cut);
			free(cut.p);
		}
		buf_done(&b);
	}
	files_close(&io);
}

static void test_flipped(void **state)
{
	struct files io;

	files_open(&io);
	for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
		struct buf b = {0};

		makers[i](&b);
		for (size_t n = 0; n < b.len; n++) {
			static const uint8_t with[] = {0x01, 0x80, 0xff};

			for (size_t k = 0; k < 3; k++) {
				b.p[n] ^= with[k];
				survives(&io, &b);
				b.p[n] ^= with[k];
			}
		}
		buf_done(&b);
	}
	files_close(&io);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sampled),	  cmocka_unit_test(test_sched),
		cmocka_unit_test(test_unseen),	  cmocka_unit_test(test_waits),
		cmocka_unit_test(test_truncated), cmocka_unit_test(test_flipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
