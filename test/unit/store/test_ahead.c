// SPDX-License-Identifier: MIT
/* With a thread that decodes ahead, a capture reads as it does without, whatever is wrong with it.
 */
#include "store_test.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

/* ENOUGH is more than all batches hold: the thread has to wait, too. */
enum { MANY = 60000, ENOUGH = 20000 };

static void write_events(size_t n)
{
	struct writer *w = open_writer(20000);
	struct rng r = {23};
	uint64_t ts = 5000000;

	for (size_t i = 0; i < n; i++) {
		struct event ev = rng_event(&r, 0);

		ev.ts = ts += rng_below(&r, 5000);
		writer_event(w, &ev);
	}
	assert_int_equal(writer_close(w, END_DONE), 0);
}

/* To the end, event by event; how many there were. */
static size_t read_both(struct reader *plain, struct reader *ahead)
{
	struct event a;
	const struct event *b;
	size_t n = 0;
	int ra, rb;

	do {
		ra = reader_next(plain, &a);
		rb = reader_next_ref(ahead, &b);
		assert_int_equal(ra, rb);
		if (ra > 0)
			assert_same_event(b, &a);
		n += ra > 0;
	} while (ra > 0);
	return n;
}

static void assert_reads_the_same(size_t want)
{
	struct reader *plain = open_reader(0), *ahead = open_reader(0);
	size_t n;

	reader_read_ahead(ahead);
	n = read_both(plain, ahead);
	assert_true(!want || n == want);
	assert_string_equal(reader_info(plain)->damage, reader_info(ahead)->damage);
	assert_int_equal(reader_info(plain)->chunks_damaged, reader_info(ahead)->chunks_damaged);
	reader_close(plain);
	reader_close(ahead);
}

static void test_whole(void **state)
{
	write_events(MANY);
	assert_reads_the_same(MANY);
}

static void test_back_and_forth(void **state)
{
	struct reader *plain, *ahead;
	struct rng r = {7};

	write_events(MANY);
	plain = open_reader(0);
	ahead = open_reader(0);
	reader_read_ahead(ahead);
	for (int i = 0; i < 60; i++) {
		size_t some = rng_below(&r, i % 5 ? 9000 : MANY);
		struct event a, b;

		reader_rewind(plain);
		reader_rewind(ahead);
		for (size_t k = 0; k < some; k++) {
			int ra = reader_next(plain, &a), rb = reader_next(ahead, &b);

			assert_int_equal(ra, rb);
			if (!ra)
				break;
			assert_same_event(&b, &a);
		}
	}
	reader_close(plain);
	reader_close(ahead);
}

/* A thread that takes a signal which the others wait for would end the program. */
static void test_takes_no_signals(void **state)
{
	struct timespec soon = {.tv_nsec = 1000000};
	sigset_t set, before;
	struct event ev;
	struct reader *r;

	write_events(ENOUGH);
	r = open_reader(0);
	reader_read_ahead(r);
	assert_int_equal(reader_next(r, &ev), 1);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, &before);
	for (int i = 0; i < 20; i++) {
		kill(getpid(), SIGUSR1);
		nanosleep(&soon, NULL);
		assert_int_equal(sigtimedwait(&set, NULL, &soon), SIGUSR1);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	reader_close(r);
}

/* Asked for, and closed before anything was taken. */
static void test_closed_at_once(void **state)
{
	struct event ev;
	struct reader *r;

	write_events(ENOUGH);
	for (int i = 0; i < 20; i++) {
		r = open_reader(0);
		reader_read_ahead(r);
		reader_read_ahead(r);
		if (i % 2)
			assert_int_equal(reader_next(r, &ev), 1);
		reader_close(r);
	}
}

static void test_damaged(void **state)
{
	struct rng r = {99};
	uint8_t *whole;
	size_t size;
	int fd;

	write_events(ENOUGH);
	size = size_of(temp_path());
	whole = malloc(size);
	assert_non_null(whole);
	fd = open(temp_path(), O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, whole, size, 0), (ssize_t)size);
	for (int i = 0; i < 40; i++) {
		assert_int_equal(pwrite(fd, whole, size, 0), (ssize_t)size);
		for (int k = 0; k <= i % 4; k++) {
			uint8_t byte = (uint8_t)rng_below(&r, 256);

			assert_int_equal(
				pwrite(fd, &byte, 1, (off_t)(200 + rng_below(&r, size - 200))), 1);
		}
		if (i % 7 == 6)
			assert_int_equal(ftruncate(fd, (off_t)(200 + rng_below(&r, size - 200))),
					 0);
		assert_reads_the_same(0);
	}
	close(fd);
	free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_back_and_forth),
		cmocka_unit_test(test_takes_no_signals),
		cmocka_unit_test(test_closed_at_once),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, remove_temp);
}
