// SPDX-License-Identifier: MIT
/* A child that stays: what it answers, what it cannot do, and that nothing it does holds us up. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/units.h"
#include "symbol/sandbox.h"
#include "symbol/handing.h"
#include "symbol/standing.h"

static uint32_t *shared; /* with the child, if it were */

/* The first byte of the file says what to do. */
static int answer(int fd, struct buf *b)
{
	char what = 0;

	if (fd < 0 || pread(fd, &what, 1, 0) != 1)
		return -ENODATA;
	switch (what) {
	case 'c':
		abort();
	case 'l':
		for (;;)
			__asm__ volatile("");
	case 's':
		for (;;) /* it waits for something that does not come */
			(void)!read(SANDBOX_ANSWER, &what, 1);
	case 'e':
		_exit(0);
	case 'b':
		buf_reserve(b, 1 << 21);
		b->len = 1 << 21;
		return 0;
	case 'w':
		*(volatile uint32_t *)shared = 1;
		break;
	case 'p': {
		bool root = geteuid() == 0, opened = open("/etc/passwd", O_RDONLY) >= 0;

		buf_printf(b, "%s%s", root ? "root " : "", opened ? "open " : "");
		break;
	}
	default:
		break;
	}
	buf_printf(b, "%c", what);
	return 0;
}

static const struct standing_rules rules = {
	.answer = answer,
	.cpu_ns = 300 * NSEC_PER_MSEC,
	.still_ns = 500 * NSEC_PER_MSEC,
	.answer_max = 1 << 20,
	.memory = 256 << 20,
	.nice = 5,
};

static struct standing s;

static int hand(void *ctx, int socket)
{
	return handing_send(socket, "", 1, *(int *)ctx);
}

static int ask(char what, struct buf *b)
{
	int fd = memfd_create("question", MFD_CLOEXEC), rc;

	assert_int_equal(write(fd, &what, 1), 1);
	rc = standing_ask_by(&s, hand, &fd, b);
	close(fd);
	return rc;
}

static void assert_answers(char what)
{
	struct buf b = {0};

	assert_int_equal(ask(what, &b), 0);
	assert_int_equal(b.len, 1);
	assert_int_equal(b.p[0], what);
	buf_done(&b);
}

static int setup(void **state)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	standing_init(&s, &rules);
	return 0;
}

static int teardown(void **state)
{
	standing_done(&s);
	munmap(shared, 4096);
	return 0;
}

static void test_answers(void **state)
{
	struct buf b = {0};
	pid_t first;
	int none = -1;

	assert_answers('x');
	first = s.pid;
	for (int i = 0; i < 1000; i++)
		assert_answers((char)('A' + i % 26));
	assert_int_equal(s.pid, first);
	assert_int_equal(standing_ask_by(&s, hand, &none, &b), -ENODATA);
	assert_answers('x');
	assert_int_equal(s.pid, first); /* a file that is none is no reason to start another */
}

/* Each costs its own question, and is no more there afterwards. */
static void test_costs_one(void **state)
{
	struct {
		char what;
		int rc;
	} bad[] = {{'c', -ECHILD}, {'l', -ETIMEDOUT}, {'s', -EHOSTDOWN},
		   {'e', -ECHILD}, {'b', -EMSGSIZE},  {'w', -ECHILD}};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct buf b = {0};
		pid_t pid;

		assert_answers('x');
		pid = s.pid;
		assert_int_equal(ask(bad[i].what, &b), bad[i].rc);
		assert_int_equal(kill(pid, 0), -1);
		assert_answers('x');
	}
	assert_int_equal(*shared, 0);
}

static void test_walls(void **state)
{
	assert_answers('p');
}

static void test_cancelled(void **state)
{
	struct buf b = {0};

	s.cancelled = true;
	assert_int_equal(ask('l', &b), -ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_answers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_costs_one, setup, teardown),
		cmocka_unit_test_setup_teardown(test_walls, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cancelled, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
