// SPDX-License-Identifier: MIT
/*
 * Records as the kernel lays them out (perf_event_open(2)), whole and damaged, and a buffer of them
 * in memory that only looks like one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "ring/perf_record.h"
#include "ring/source.h"

#define ALL PERF_RECORD_SAMPLES
#define PLAIN (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

struct made {
	uint64_t words[4096]; /* in heap memory of the exact size, when it is parsed */
	size_t n;
};

static void add(struct made *m, uint64_t word)
{
	m->words[m->n++] = word;
}

static void begin(struct made *m, uint32_t type, uint16_t misc)
{
	m->n = 0;
	add(m, type | (uint64_t)misc << 32);
}

static void context(struct made *m)
{
	add(m, 70 | 71ull << 32); /* pid, tid */
	add(m, 123456789);	  /* time */
	add(m, 3);		  /* cpu */
}

static void finish(struct made *m)
{
	m->words[0] |= (uint64_t)(m->n * 8) << 48;
}

static void end(struct made *m, uint64_t sample_type)
{
	context(m);
	if (sample_type & PERF_SAMPLE_IDENTIFIER)
		add(m, 99);
	finish(m);
}

/* Parsed from memory of its own: what lies after it must not be touched. */
static int parse_bytes(uint64_t sample_type, const void *bytes, size_t n, struct perf_record *r,
		       void **keep)
{
	const struct perf_event_attr attr = perf_record_attr(sample_type);
	void *copy = malloc(n ? n : 1);
	int rc;

	memcpy(copy, bytes, n);
	memset(r, 0xee, sizeof(*r));
	rc = perf_record_parse(&attr, copy, n, r);
	if (keep)
		*keep = copy;
	else
		free(copy);
	return rc;
}

static int parse(uint64_t sample_type, const struct made *m, struct perf_record *r, void **keep)
{
	return parse_bytes(sample_type, m->words, m->n * 8, r, keep);
}

static void check_context(const struct perf_record *r, uint64_t id)
{
	assert_int_equal(r->pid, 70);
	assert_int_equal(r->tid, 71);
	assert_int_equal(r->ts, 123456789);
	assert_int_equal(r->cpu, 3);
	assert_int_equal(r->id, id);
}

#define STACK 64

static void make_sample(struct made *m)
{
	begin(m, PERF_RECORD_SAMPLE, 2);
	add(m, 99);
	context(m);
	add(m, 5); /* callchain */
	add(m, PERF_CONTEXT_KERNEL);
	add(m, 0xffffffff81000010);
	add(m, 0xffffffff81000020);
	add(m, PERF_CONTEXT_USER);
	add(m, 0x401000);
	add(m, PERF_SAMPLE_REGS_ABI_64);
	for (uint64_t i = 1; i <= 5; i++)
		add(m, 0x1000 * i); /* bx, di, bp, sp, ip */
	add(m, STACK);
	for (uint64_t i = 0; i < STACK / 8; i++)
		add(m, i);
	add(m, 40); /* of which so many were there */
	finish(m);
}

static void test_sample(void **state)
{
	uint64_t ips[4];
	struct perf_record r;
	struct made m;
	void *keep;

	make_sample(&m);
	assert_int_equal(parse(ALL, &m, &r, &keep), 0);
	assert_int_equal(r.type, PERF_RECORD_SAMPLE);
	check_context(&r, 99);
	assert_int_equal(perf_chain(&r, true, ips, 4), 2);
	assert_int_equal(ips[0], 0xffffffff81000010);
	assert_int_equal(ips[1], 0xffffffff81000020);
	assert_int_equal(perf_chain(&r, false, ips, 4), 1);
	assert_int_equal(ips[0], 0x401000);
	assert_int_equal(perf_chain(&r, true, ips, 1), 1);
	assert_true(r.sample.user);
	assert_int_equal(r.sample.regs.bx, 0x1000);
	assert_int_equal(r.sample.regs.di, 0x2000);
	assert_int_equal(r.sample.regs.bp, 0x3000);
	assert_int_equal(r.sample.regs.sp, 0x4000);
	assert_int_equal(r.sample.regs.ip, 0x5000);
	assert_int_equal(r.sample.stack_len, 40);
	assert_int_equal(r.sample.stack[8], 1);
	free(keep);
}

/* A kernel thread has no registers of user mode, and no stack. */
static void test_kernel_thread(void **state)
{
	struct perf_record r;
	struct made m;

	begin(&m, PERF_RECORD_SAMPLE, 1);
	add(&m, 99);
	context(&m);
	add(&m, 0); /* callchain */
	add(&m, PERF_SAMPLE_REGS_ABI_NONE);
	add(&m, 0); /* stack */
	finish(&m);
	assert_int_equal(parse(ALL, &m, &r, NULL), 0);
	assert_int_equal(r.sample.n_chain, 0);
	assert_false(r.sample.user);
	assert_int_equal(r.sample.stack_len, 0);
}

static void test_switches(void **state)
{
	struct perf_record r;
	struct made m;

	begin(&m, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT);
	end(&m, ALL);
	assert_int_equal(parse(ALL, &m, &r, NULL), 0);
	check_context(&r, 99);
	assert_true(r.switched.out);
	assert_false(r.switched.preempt);
	assert_false(r.switched.wide);

	begin(&m, PERF_RECORD_SWITCH_CPU_WIDE,
	      PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT);
	add(&m, 80 | 81ull << 32);
	end(&m, ALL);
	assert_int_equal(parse(ALL, &m, &r, NULL), 0);
	assert_true(r.switched.out && r.switched.preempt && r.switched.wide);
	assert_int_equal(r.switched.other_pid, 80);
	assert_int_equal(r.switched.other_tid, 81);
}

static void test_tasks(void **state)
{
	struct perf_record r;
	struct made m;

	begin(&m, PERF_RECORD_FORK, 0);
	add(&m, 1 | 2ull << 32);
	add(&m, 3 | 4ull << 32);
	add(&m, 5); /* time */
	end(&m, ALL);
	assert_int_equal(parse(ALL, &m, &r, NULL), 0);
	assert_int_equal(r.task.pid, 1);
	assert_int_equal(r.task.ppid, 2);
	assert_int_equal(r.task.tid, 3);
	assert_int_equal(r.task.ptid, 4);

	begin(&m, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	add(&m, 1 | 3ull << 32);
	add(&m, 0x6c6f6f6c6f6f6c61); /* "aloolool", and no end */
	add(&m, 0x6c6f6f6c6f6f6c62);
	end(&m, ALL);
	assert_int_equal(parse(ALL, &m, &r, NULL), 0);
	assert_true(r.comm.exec);
	assert_int_equal(r.comm.tid, 3);
	assert_string_equal(r.comm.name, "aloolool"
					 "blooloo"
					 "l");
}

/* With a mark that is not meant for us. */
static void make_mmap(struct made *m, const char *path)
{
	size_t n = strlen(path) + 1;

	begin(m, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
	add(m, 1 | 3ull << 32);
	add(m, 0x400000);
	add(m, 0x1000);
	add(m, 0x2000);
	add(m, 254 | 16ull << 32);
	add(m, 4711);
	add(m, 42);
	add(m, 0);
	memset(&m->words[m->n], 0, (n + 7) / 8 * 8);
	memcpy(&m->words[m->n], path, n);
	m->n += (n + 7) / 8;
	end(m, PLAIN);
}

static void test_mmap(void **state)
{
	struct perf_record r;
	struct made m;
	void *keep;

	make_mmap(&m, "/usr/lib/libx.so");
	assert_int_equal(parse(PLAIN, &m, &r, &keep), 0);
	check_context(&r, 0);
	assert_int_equal(r.mmap.addr, 0x400000);
	assert_int_equal(r.mmap.len, 0x1000);
	assert_int_equal(r.mmap.pgoff, 0x2000);
	assert_int_equal(r.mmap.dev, makedev(254, 16));
	assert_int_equal(r.mmap.inode, 4711);
	assert_int_equal(r.mmap.generation, 42);
	assert_null(r.mmap.build_id); /* 254 bytes would be none */
	assert_string_equal(r.mmap.path, "/usr/lib/libx.so");
	free(keep);
	/* A path without an end. */
	make_mmap(&m, "1234567");
	m.words[9] = ~0ull;
	assert_int_not_equal(parse(PLAIN, &m, &r, NULL), 0);
}

static void test_lost(void **state)
{
	struct perf_record r;
	struct made m;

	begin(&m, PERF_RECORD_LOST, 0);
	add(&m, 99);
	add(&m, 1234);
	end(&m, ALL);
	assert_int_equal(parse(ALL, &m, &r, NULL), 0);
	assert_int_equal(r.lost, 1234);
}

/* Numbers in it that point outside: each is refused. */
static void test_lies(void **state)
{
	static const uint64_t lies[] = {~0ull, 1ull << 63, 1ull << 61, 1ull << 32, 65536, STACK};
	const size_t chain = 5, room = 17, used = 18 + STACK / 8;
	struct perf_record r;
	struct made m;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		make_sample(&m);
		assert_int_equal(m.words[chain], 5);
		m.words[chain] = lies[i];
		assert_int_not_equal(parse(ALL, &m, &r, NULL), 0);
		make_sample(&m);
		assert_int_equal(m.words[room], STACK);
		m.words[room] = lies[i] | 65536;
		assert_int_not_equal(parse(ALL, &m, &r, NULL), 0);
		make_sample(&m);
		assert_int_equal(m.words[used], 40);
		m.words[used] = lies[i] | 1;
		assert_int_not_equal(parse(ALL, &m, &r, NULL), 0);
	}
}

/* Cut off anywhere, with a header that says so or that does not. */
static void test_truncated(void **state)
{
	struct perf_record r;
	struct made m;

	make_sample(&m);
	for (size_t n = 0; n < m.n * 8; n++) {
		struct made cut = m;

		assert_int_not_equal(parse_bytes(ALL, cut.words, n, &r, NULL), 0);
		cut.words[0] = (cut.words[0] & 0xffffffffffff) | (uint64_t)n << 48;
		assert_int_not_equal(parse_bytes(ALL, cut.words, n, &r, NULL), 0);
	}
}

/* Whatever the bytes are, reading stays inside of them. */
static void test_noise(void **state)
{
	static const uint32_t types[] = {
		PERF_RECORD_SAMPLE,   PERF_RECORD_MMAP2,
		PERF_RECORD_COMM,     PERF_RECORD_FORK,
		PERF_RECORD_EXIT,     PERF_RECORD_LOST,
		PERF_RECORD_SWITCH,   PERF_RECORD_SWITCH_CPU_WIDE,
		PERF_RECORD_THROTTLE,
	};
	struct perf_record r;
	size_t good = 0;

	srand(7);
	for (int i = 0; i < 200000; i++) {
		size_t n = 8 + (size_t)(rand() % 200);
		uint8_t bytes[256];

		for (size_t k = 0; k < n; k++)
			bytes[k] = rand() % 3 ? (uint8_t)(rand() % 4) : (uint8_t)rand();
		memcpy(bytes, &types[rand() % (int)(sizeof(types) / sizeof(types[0]))], 4);
		memcpy(bytes + 6, &(uint16_t){(uint16_t)n}, 2);
		good += !parse_bytes(i % 2 ? ALL : PLAIN, bytes, n, &r, NULL);
	}
	assert_true(good > 1000);
}

/* ---- a buffer ---- */

#define PAGES 2

struct buffer {
	struct perf_event_mmap_page *meta;
	uint8_t *data;
	struct source *src;
	size_t page;
};

static void buffer_open(struct buffer *b, bool quiet)
{
	struct source_perf_opts o = {
		.pages = PAGES, .pages_min = PAGES, .sample_type = PLAIN, .cpu = 5, .quiet = quiet};
	int fd = memfd_create("buffer", 0);

	b->page = (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(ftruncate(fd, (off_t)((PAGES + 1) * b->page)), 0);
	b->meta = mmap(NULL, (PAGES + 1) * b->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	b->data = (uint8_t *)b->meta + b->page;
	assert_int_equal(source_perf_open(fd, &o, &b->src), 0);
}

static void buffer_close(struct buffer *b)
{
	source_close(b->src);
	munmap(b->meta, (PAGES + 1) * b->page);
}

static void put(struct buffer *b, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b->data[(b->meta->data_head + i) % (PAGES * b->page)] = ((const uint8_t *)bytes)[i];
	b->meta->data_head += n;
}

static void put_switch(struct buffer *b, uint64_t ts, uint16_t misc)
{
	struct made m;

	begin(&m, PERF_RECORD_SWITCH, misc);
	add(&m, 70 | 71ull << 32);
	add(&m, ts);
	add(&m, 5);
	finish(&m);
	put(b, m.words, m.n * 8);
}

/* Many rounds through a small buffer: each record once, in order, over the wrap. */
static void test_wrap(void **state)
{
	record_vec out = {0};
	struct buffer b;
	uint64_t ts = 0;

	buffer_open(&b, false);
	for (int round = 0; round < 500; round++) {
		uint64_t from = ts;

		out.n = 0;
		for (int i = 0; i < 100; i++)
			put_switch(&b, 1000000 * ++ts, 0);
		assert_int_equal(source_perf_fill(b.src), 100 * 32);
		source_pull(b.src, &out);
		assert_int_equal(source_perf_fill(b.src), 0);
		assert_int_equal(out.n, 100);
		for (size_t i = 0; i < out.n; i++) {
			assert_int_equal(out.v[i].ts, 1000000 * (from + i + 1));
			assert_int_equal(out.v[i].cpu, 5);
			assert_int_equal(out.v[i].len, 32);
		}
		/* Not all at once: what is not released stays readable. */
		source_release(b.src, out.v[50].pos);
		assert_int_equal(((const struct perf_event_header *)out.v[99].data)->size, 32);
		if (round % 7 == 0)
			source_release(b.src, SOURCE_ALL);
	}
	assert_int_equal(source_perf_lost(b.src), 0);
	assert_int_equal(source_perf_last(b.src), 1000000 * ts);
	vec_done(&out);
	buffer_close(&b);
}

/* The two records of one switch are one moment; others keep theirs. */
static void test_one_moment(void **state)
{
	record_vec out = {0};
	struct buffer b;

	buffer_open(&b, false);
	put_switch(&b, 100000, PERF_RECORD_MISC_SWITCH_OUT);
	put_switch(&b, 101500, 0); /* the other half */
	put_switch(&b, 102000, 0); /* has nobody before it */
	put_switch(&b, 200000, PERF_RECORD_MISC_SWITCH_OUT);
	put_switch(&b, 290000, 0); /* something else ran in between */
	source_pull(b.src, &out);
	assert_int_equal(out.n, 5);
	assert_int_equal(out.v[0].ts, 100000);
	assert_int_equal(out.v[1].ts, 100000);
	assert_int_equal(out.v[2].ts, 102000);
	assert_int_equal(out.v[3].ts, 200000);
	assert_int_equal(out.v[4].ts, 290000);
	vec_done(&out);
	buffer_close(&b);
}

static void put_lost(struct buffer *b, uint64_t n)
{
	struct made m;

	begin(&m, PERF_RECORD_LOST, 0);
	add(&m, 99);
	add(&m, n);
	end(&m, PLAIN);
	put(b, m.words, m.n * 8);
}

static void test_losses(void **state)
{
	record_vec out = {0};
	struct buffer b;

	for (int quiet = 0; quiet < 2; quiet++) {
		out.n = 0;
		buffer_open(&b, quiet);
		put_switch(&b, 1, 0);
		put_lost(&b, 17);
		put_switch(&b, 2, 0);
		source_pull(b.src, &out);
		assert_int_equal(out.n, quiet ? 2 : 3);
		assert_int_equal(source_perf_lost(b.src), 17);
		buffer_close(&b);
	}
	vec_done(&out);
}

/* A buffer that holds nonsense costs what is in it, and no more. */
static void test_nonsense(void **state)
{
	static const uint16_t sizes[] = {0, 1, 7, 9, 31, 33, 65535};
	record_vec out = {0};
	struct buffer b;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t bytes[64] = {PERF_RECORD_SWITCH};

		out.n = 0;
		buffer_open(&b, false);
		put_switch(&b, 1, 0);
		memcpy(bytes + 6, &sizes[i], 2);
		put(&b, bytes, sizeof(bytes));
		source_pull(b.src, &out);
		assert_int_equal(out.n, 1);
		assert_int_equal(source_perf_lost(b.src), 1);
		put_switch(&b, 2, 0);
		source_pull(b.src, &out);
		assert_int_equal(out.n, 2);
		/* More than fits. */
		b.meta->data_head += PAGES * b.page + 8;
		source_pull(b.src, &out);
		assert_int_equal(out.n, 2);
		assert_int_equal(source_perf_fill(b.src), 0);
		buffer_close(&b);
	}
	vec_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),	   cmocka_unit_test(test_kernel_thread),
		cmocka_unit_test(test_switches),   cmocka_unit_test(test_tasks),
		cmocka_unit_test(test_mmap),	   cmocka_unit_test(test_lost),
		cmocka_unit_test(test_lies),	   cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_noise),	   cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_one_moment), cmocka_unit_test(test_losses),
		cmocka_unit_test(test_nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
