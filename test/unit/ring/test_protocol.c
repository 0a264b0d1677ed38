// SPDX-License-Identifier: MIT
/*
 * Hammers the ring's protocol (wire/ring.h) harder than a kernel can: several threads produce into
 * one ring at the same time, signal handlers interrupt them in the middle of a record and produce
 * too, and the real consumer (ring/bpf.c) drains it. Every record must arrive exactly once and
 * whole, or be counted as lost. Run under ThreadSanitizer.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "ring/order.h"
#include "ring/source.h"
#include "wire/probe.h"
#include "wire/ring.h"

#define PRODUCERS 3
#define RING_BYTES 16384u
#define PER_PRODUCER 60000u
#define SALT 0xfeedbeefu

struct test_record {
	struct pr_hdr h;
	uint64_t producer;
	uint64_t seq;
	uint64_t fill[8]; /* of varying length; each word repeats seq */
};

static struct ring_head *ring;
static uint64_t made[2 * PRODUCERS]; /* by thread, then by the handlers that interrupt it */
static uint64_t dropped[2 * PRODUCERS];
static uint64_t got[2 * PRODUCERS];
static volatile int running;

static bool produce(unsigned who)
{
	uint64_t seq = __atomic_fetch_add(&made[who], 1, __ATOMIC_RELAXED);
	unsigned extra = seq % 9;
	uint32_t len = (uint32_t)(offsetof(struct test_record, fill) + 8 * extra);
	uint64_t pos = ring_reserve(ring, RING_BYTES, len);
	struct test_record *rec;

	if (pos >= RING_CONTENDED) {
		__atomic_fetch_add(&dropped[who], 1, __ATOMIC_RELAXED);
		return false;
	}
	rec = (struct test_record *)((uint8_t *)ring + RING_HEAD + (pos & (RING_BYTES - 8)));
	rec->h.ts = seq;
	rec->producer = who;
	rec->seq = seq;
	for (unsigned i = 0; i < extra; i++)
		rec->fill[i] = seq;
	ring_commit((__u64 *)&rec->h.hdr, ring_header(pos, SALT, PR_TEST, len));
	return true;
}

static _Thread_local volatile unsigned my_handler;

static void on_signal(int sig)
{
	(void)sig;
	if (my_handler)
		produce(my_handler);
}

static void *producer(void *arg)
{
	unsigned who = (unsigned)(uintptr_t)arg;

	my_handler = PRODUCERS + who;
	for (unsigned i = 0; i < PER_PRODUCER; i++) {
		/* A full ring, on a machine with few CPUs: let the consumer have one. */
		if (!produce(who))
			usleep(50);
		if (i % 64 == 0)
			raise(SIGUSR1);
	}
	my_handler = 0;
	return NULL;
}

/* Interrupts the producers at arbitrary moments, also between reserve and commit. */
static void *pester(void *arg)
{
	pthread_t *threads = arg;

	while (__atomic_load_n(&running, __ATOMIC_ACQUIRE)) {
		for (int i = 0; i < PRODUCERS; i++)
			pthread_kill(threads[i], SIGUSR1);
		for (volatile int i = 0; i < 2000; i++)
			;
	}
	return NULL;
}

static void consume(struct source *src, record_vec *v)
{
	v->n = 0;
	source_pull(src, v);
	for (size_t i = 0; i < v->n; i++) {
		const struct test_record *rec = v->v[i].data;
		uint32_t len = PR_LEN(rec->h.hdr);
		unsigned extra = (len - (unsigned)offsetof(struct test_record, fill)) / 8;

		assert_true(rec->producer < 2 * PRODUCERS);
		assert_int_equal(PR_KIND(rec->h.hdr), PR_TEST);
		assert_int_equal(extra, rec->seq % 9);
		assert_int_equal(v->v[i].ts, rec->seq);
		for (unsigned k = 0; k < extra; k++)
			assert_int_equal(rec->fill[k], rec->seq);
		got[rec->producer]++;
	}
	source_release(src, SOURCE_ALL);
}

static void test_hammer(void **state)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	pthread_t threads[PRODUCERS], pesterer;
	struct source *src;
	record_vec v = {0};
	uint64_t all_made = 0, all_got = 0, all_dropped = 0;

	ring = aligned_alloc(4096, RING_HEAD + RING_BYTES + RING_SLACK);
	memset(ring, 0, RING_HEAD + RING_BYTES + RING_SLACK);
	src = source_bpf_new(ring, RING_BYTES, SALT, 0);
	sigaction(SIGUSR1, &sa, NULL);
	running = PRODUCERS;
	for (uintptr_t i = 0; i < PRODUCERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, producer, (void *)i), 0);
	assert_int_equal(pthread_create(&pesterer, NULL, pester, threads), 0);
	for (int live = PRODUCERS; live;) {
		consume(src, &v);
		live = 0;
		for (int i = 0; i < PRODUCERS; i++)
			live += __atomic_load_n(&made[i], __ATOMIC_RELAXED) < PER_PRODUCER;
	}
	__atomic_store_n(&running, 0, __ATOMIC_RELEASE);
	pthread_join(pesterer, NULL);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(threads[i], NULL);
	consume(src, &v);
	for (int i = 0; i < 2 * PRODUCERS; i++) {
		assert_int_equal(made[i], got[i] + dropped[i]);
		all_made += made[i];
		all_got += got[i];
		all_dropped += dropped[i];
	}
	assert_true(all_got > 1000);
	for (int i = 0; i < PRODUCERS; i++)
		assert_true(made[PRODUCERS + i] > 0); /* the nesting did happen */
	print_message("%llu made, %llu arrived, %llu counted as lost\n",
		      (unsigned long long)all_made, (unsigned long long)all_got,
		      (unsigned long long)all_dropped);
	source_close(src);
	vec_done(&v);
	free(ring);
}

static uint32_t kinds_passed[8];
static size_t n_passed;

static void note_kind(void *ctx, const struct record *rec)
{
	assert_true(n_passed < ARRAY_LEN(kinds_passed));
	kinds_passed[n_passed++] = PR_KIND(*(const uint64_t *)rec->data);
}

static void put_record(struct ring_head *r, uint32_t kind, uint64_t ts)
{
	uint64_t pos = ring_reserve(r, RING_BYTES, sizeof(struct pr_hdr));
	struct pr_hdr *h = (void *)((uint8_t *)r + RING_HEAD + (pos & (RING_BYTES - 8)));

	h->ts = ts;
	ring_commit((__u64 *)&h->hdr, ring_header(pos, SALT, kind, sizeof(*h)));
}

/* A program reads the clock, an interrupt sends the stack that both have, the program goes on and
 * refers to it: the stack must be there first. */
static void test_stack_of_interrupt(void **state)
{
	struct ring_head *r = mem_zalloc(RING_HEAD + RING_BYTES + RING_SLACK);
	struct source *src = source_bpf_new(r, RING_BYTES, SALT, 0);
	struct order *o = order_new(&src, 1, 0);
	const uint64_t began = 5000000000, interrupt = began + 40000;

	put_record(r, PR_SWITCH, began - 10);
	put_record(r, PR_STACK, interrupt);
	put_record(r, PR_SAMPLE, interrupt);
	put_record(r, PR_WAIT, began);
	n_passed = 0;
	order_drain(o, note_kind, NULL);
	assert_int_equal(n_passed, 4);
	assert_int_equal(kinds_passed[0], PR_STACK);
	assert_int_equal(kinds_passed[1], PR_SWITCH);
	assert_int_equal(kinds_passed[2], PR_WAIT);
	assert_int_equal(kinds_passed[3], PR_SAMPLE);
	order_free(o);
	source_close(src);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_hammer),
					   cmocka_unit_test(test_stack_of_interrupt)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
