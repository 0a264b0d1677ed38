// SPDX-License-Identifier: MIT
/*
 * The rings that a recorded program writes (ring/shared.c): what it meant to say arrives as it is,
 * and whatever else it writes there, thaw gets only records that it can rely on. Run under ASan.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/units.h"
#include "ring/source.h"
#include "wire/probe.h"
#include "wire/shared.h"

#define SIZE (256u << 10)
#define SALT 0x5eed5eedu

static struct ring_head *ring;
static struct source *src;
static record_vec got;

static int set_up(void **state)
{
	(void)state;
	ring = mem_zalloc(shared_ring_len(SIZE));
	src = source_shared_new(ring, SIZE, SALT, 3, 0);
	got = (record_vec){0};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	source_close(src);
	vec_done(&got);
	free(ring);
	return 0;
}

static void *at(uint64_t pos)
{
	return (uint8_t *)ring + RING_HEAD + (pos & (SIZE - 8));
}

static uint64_t put(uint32_t kind, const void *body, uint32_t len, uint64_t ts)
{
	uint64_t pos = ring_reserve(ring, SIZE, len);
	struct pr_hdr *h = at(pos);

	assert_true(pos < RING_CONTENDED);
	memcpy((char *)h + sizeof(*h), (const char *)body + sizeof(*h), len - sizeof(*h));
	h->ts = ts;
	ring_commit((__u64 *)&h->hdr, ring_header(pos, SALT, kind, len));
	return pos;
}

static void put_sample(uint32_t tid, uint64_t ts)
{
	struct pr_sample s = {.tid = tid, .pid = 7, .ustack = 99};

	put(PR_SAMPLE, &s, sizeof(s), ts);
}

static void pull(void)
{
	got.n = 0;
	source_pull(src, &got);
}

static void test_round_trip(void **state)
{
	static struct pr_copy copy = {.id = 5, .pid = 7, .have = 7, .pc = 11, .sp = 1024};
	struct pr_task task = {.tid = 8, .pid = 7, .other = 7, .code = 7, .comm = "worker"};
	union {
		struct pr_map m;
		char room[PR_MAP_HEAD + 16];
	} map = {.m = {.pid = 7, .start = 4096, .end = 8192}};
	struct pr_run run = {.pid = 9, .path = "/bin/true"};

	(void)state;
	strcpy(map.room + PR_MAP_HEAD, "/lib/x.so");
	memset(copy.stack, 0x5a, sizeof(copy.stack));
	for (int lap = 0; lap < 50; lap++) {
		put_sample(8, 100);
		put(PR_COPY, &copy, PR_COPY_LEN(3), 101);
		put(PR_FORK, &task, sizeof(task), 102);
		put(PR_MAP, &map, sizeof(map), 103);
		put(PR_RUN, &run, sizeof(run), 104);
		pull();
		assert_int_equal(got.n, 5);
		for (size_t i = 0; i < 5; i++) {
			assert_int_equal(got.v[i].ts, 100 + i);
			assert_int_equal(got.v[i].cpu, 3);
		}
		assert_int_equal(((const struct pr_sample *)got.v[0].data)->ustack, 99);
		assert_memory_equal(((const struct pr_copy *)got.v[1].data)->stack, copy.stack,
				    3 * COPY_CHUNK);
		assert_string_equal(((const struct pr_task *)got.v[2].data)->comm, "worker");
		assert_string_equal(((const struct pr_map *)got.v[3].data)->path, "/lib/x.so");
		assert_string_equal(((const struct pr_run *)got.v[4].data)->path, "/bin/true");
		source_release(src, SOURCE_ALL);
	}
	assert_int_equal(source_shared_damaged(src), 0);
}

/* What was handed out is thaw's own, and stays until it is released. */
static void test_out_of_reach(void **state)
{
	const struct pr_sample *s;

	(void)state;
	put_sample(8, 100);
	pull();
	assert_int_equal(got.n, 1);
	memset(at(0), 0xff, SIZE);
	s = got.v[0].data;
	assert_int_equal(PR_LEN(s->h.hdr), sizeof(*s));
	assert_int_equal(s->tid, 8);
	assert_int_equal(ring->cons, ring->prod); /* and the room is free again */
}

static void test_killed(void **state)
{
	(void)state;
	put_sample(1, 100);
	(void)ring_reserve(ring, SIZE, 4096); /* and then its process is killed */
	put_sample(2, 101);
	put_sample(3, 102);
	pull();
	assert_int_equal(got.n, 3);
	assert_int_equal(source_shared_damaged(src), 1);
	assert_int_equal(((const struct pr_sample *)got.v[2].data)->tid, 3);
}

/* One that is only slow is waited for, and nothing is out of order. */
static void test_slow(void **state)
{
	struct source *patient = source_shared_new(ring, SIZE, SALT, 0, 3600 * NSEC_PER_SEC);
	struct pr_sample s = {.tid = 1, .pid = 7};
	uint64_t pos;

	(void)state;
	pos = ring_reserve(ring, SIZE, sizeof(s));
	put_sample(2, 101);
	source_pull(patient, &got);
	assert_int_equal(got.n, 0);
	s.h.hdr = ring_header(pos, SALT, PR_SAMPLE, sizeof(s));
	memcpy(at(pos), &s, sizeof(s));
	source_pull(patient, &got);
	assert_int_equal(got.n, 2);
	assert_int_equal(((const struct pr_sample *)got.v[0].data)->tid, 1);
	source_close(patient);
}

static void test_future(void **state)
{
	(void)state;
	put_sample(1, UINT64_MAX);
	pull();
	assert_int_equal(got.n, 1);
	assert_true(got.v[0].ts <= clock_mono_ns());
}

/* Each of these would lead somebody astray. */
static void test_lies(void **state)
{
	static struct pr_copy copy = {.id = 5, .pid = 7, .have = ~0ull};
	struct pr_task task = {.tid = 8, .pid = 7};
	struct pr_sample sample = {.tid = 8, .pid = 7};
	struct pr_switch sw = {.prev = 1, .next = 2};
	struct pr_run run = {.pid = 7};
	char map[PR_MAP_HEAD + 64];

	(void)state;
	put(PR_COPY, &copy, PR_COPY_HEAD + 8, 1); /* not whole pieces */
	put(PR_COPY, &copy, PR_COPY_HEAD - 8, 1); /* too short for its head */
	put(PR_SAMPLE, &sample, 24, 1);		  /* too short */
	put(PR_TEST, &sample, sizeof(sample), 1); /* not a program's to send */
	put(PR_SWITCH, &sw, sizeof(sw), 1);
	put(255, &sample, sizeof(sample), 1);
	put(PR_FORK, &task, sizeof(task), 1); /* of nobody */
	task.tid = UINT32_MAX;
	put(PR_EXIT, &task, sizeof(task), 1);
	sample.kstack = 1;
	put(PR_SAMPLE, &sample, sizeof(sample), 1); /* no program knows the kernel's stack */
	memset(run.path, 'x', sizeof(run.path));
	put(PR_RUN, &run, sizeof(run), 1); /* without an end */
	memset(map, 'x', sizeof(map));
	((struct pr_map *)map)->pid = 7;
	((struct pr_map *)map)->start = 1;
	((struct pr_map *)map)->end = 2;
	put(PR_MAP, map, sizeof(map), 1);
	pull();
	assert_int_equal(got.n, 0);
	assert_int_equal(source_shared_damaged(src), 11);
	put(PR_COPY, &copy, PR_COPY_LEN(2), 1); /* says that it has 64 pieces */
	pull();
	assert_int_equal(got.n, 1);
	assert_int_equal(((const struct pr_copy *)got.v[0].data)->have, 3);
}

/* ---- nonsense ---- */

static uint64_t seed;

static uint64_t draw(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 16;
}

/* What all later code relies on, checked in another way. */
static void reliable(const struct record *r)
{
	const struct pr_hdr *h = r->data;
	size_t sum = 0;

	assert_true(r->len >= 16 && r->len < 65536 && r->len % 8 == 0);
	assert_int_equal(PR_LEN(h->hdr), r->len);
	assert_true(h->ts <= clock_mono_ns());
	for (uint32_t i = 0; i < r->len; i++) /* it is all there */
		sum += ((const uint8_t *)r->data)[i];
	assert_true(sum < SIZE_MAX);
	if (PR_KIND(h->hdr) == PR_COPY) {
		const struct pr_copy *c = r->data;

		assert_true(r->len <= sizeof(*c));
		for (unsigned i = 0; i < 64; i++)
			if (c->have >> i & 1)
				assert_true(offsetof(struct pr_copy, stack) +
						    (i + 1) * COPY_CHUNK <=
					    r->len);
	}
	if (PR_KIND(h->hdr) == PR_MAP)
		assert_true(strlen(((const struct pr_map *)r->data)->path) < r->len);
}

static void scribble(void)
{
	static const uint32_t kinds[] = {PR_SAMPLE, PR_COPY, PR_FORK, PR_EXEC,
					 PR_EXIT,   PR_MAP,  PR_RUN,  PR_RENAME};
	uint64_t pos = draw() % 4 ? ring->cons : draw();
	uint64_t *words = at(0);

	for (unsigned i = 0; i < 64; i++)
		words[draw() % (SIZE / 8)] = draw() % 3 ? draw() % 4096 : draw() << 40 | draw();
	/* Chains of headers that are right, of records that are not. */
	for (unsigned i = 0; i < 40; i++) {
		uint32_t len = draw() % 40 ? (uint32_t)(draw() % 256) : (uint32_t)(draw() % 65536);
		uint32_t kind = draw() % 8 ? kinds[draw() % 8] : (uint32_t)(draw() % 256);

		if (draw() % 4)
			len = (kind == PR_COPY ? PR_COPY_LEN(len % 9) : len + 16) & 0xfff8;
		*(uint64_t *)at(pos) = ring_header(pos, SALT, kind, len);
		for (unsigned k = 2; k < 4 && draw() % 8; k++) /* and nearly right */
			((uint64_t *)at(pos))[k] = 7ull << 32 | 7;
		pos += len;
	}
	switch (draw() % 8) {
	case 0:
		ring->prod = draw() << 32 | draw();
		break;
	case 1:
		ring->prod = ring->cons - draw() % 64;
		break;
	case 2:
		ring->prod += draw() % 100;
		break;
	case 3:
		ring->cons = draw();
		break;
	default:
		ring->prod = pos;
	}
}

static void test_nonsense(void **state)
{
	size_t n = 0;

	(void)state;
	seed = 1;
	for (int i = 0; i < 20000; i++) {
		scribble();
		pull();
		n += got.n;
		for (size_t k = 0; k < got.n; k++)
			reliable(&got.v[k]);
		source_release(src, draw() % 2 ? SOURCE_ALL : draw());
	}
	assert_true(n > 1000); /* the checks had something to look at */
	assert_true(source_shared_damaged(src) > 1000);
}

static volatile bool stop;

static void *scribbler(void *arg)
{
	seed = 7;
	while (!stop)
		scribble();
	return arg;
}

static void test_while_it_is_read(void **state)
{
	uint64_t until = clock_mono_ns() + NSEC_PER_SEC;
	pthread_t t;

	(void)state;
	stop = false;
	assert_int_equal(pthread_create(&t, NULL, scribbler, NULL), 0);
	while (clock_mono_ns() < until) {
		pull();
		for (size_t k = 0; k < got.n; k++)
			reliable(&got.v[k]);
		source_release(src, SOURCE_ALL);
	}
	stop = true;
	pthread_join(t, NULL);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(test_round_trip), TEST(test_out_of_reach),	    TEST(test_killed),
		TEST(test_slow),       TEST(test_future),	    TEST(test_lies),
		TEST(test_nonsense),   TEST(test_while_it_is_read),
	};

	return cmocka_run_group_tests_name("shared", tests, NULL, NULL);
}
