// SPDX-License-Identifier: MIT
/* A child that opens files for others: what it hands over, what it does not, and what it has. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/units.h"
#include "symbol/handing.h"
#include "symbol/porter.h"

static struct porter p;
static char path[64];
static int ends[2];

static int setup(void **state)
{
	int fd;

	porter_init(&p, 5 * NSEC_PER_SEC);
	strcpy(path, "/tmp/thaw-test-XXXXXX");
	fd = mkstemp(path);
	assert_int_equal(write(fd, "text", 4), 4);
	close(fd);
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

static int teardown(void **state)
{
	porter_done(&p);
	unlink(path);
	close(ends[0]);
	close(ends[1]);
	return 0;
}

static int fetch(const char *what, struct opener_facts *ret)
{
	return porter_fetch(&p, &(struct opener_want){.pid = (uint32_t)getpid(), .path = what},
			    ret);
}

static size_t descriptors(pid_t pid)
{
	char dir[64];
	size_t n = 0;
	DIR *d;

	snprintf(dir, sizeof(dir), "/proc/%d/fd", (int)pid);
	d = opendir(dir);
	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n - 2;
}

static void test_hands_over(void **state)
{
	struct opener_facts facts;
	struct stat st;
	char byte, text[8];
	int fd;

	assert_int_equal(fetch(path, &facts), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(facts.dev, st.st_dev);
	assert_int_equal(facts.inode, st.st_ino);
	assert_int_equal(facts.size, 4);
	assert_true(facts.seen_ns >= facts.changed_ns);
	assert_false(facts.served);
	assert_int_equal(porter_hand_over(&p, ends[0]), 0);
	assert_int_equal(handing_receive(ends[1], &byte, 1, &fd), 1);
	assert_int_equal(pread(fd, text, sizeof(text), 0), 4);
	assert_memory_equal(text, "text", 4);
	assert_int_equal(write(fd, "x", 1), -1);
	close(fd);
	/* Once. */
	assert_int_equal(porter_hand_over(&p, ends[0]), -EBADF);
}

/* It has nothing of ours, and keeps nothing: three that lead nowhere, and the socket. */
static void test_has_nothing(void **state)
{
	void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char line[512], maps[64];
	struct opener_facts facts;
	pid_t first;
	FILE *f;

	assert_int_equal(porter_start(&p), 0);
	first = p.pid;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(fetch(path, &facts), 0);
		if (i % 2)
			assert_int_equal(porter_drop(&p), 0);
	}
	assert_int_equal(fetch(path, &facts), 0);
	assert_int_equal(descriptors(p.pid), 5);
	assert_int_equal(porter_drop(&p), 0);
	assert_int_equal(descriptors(p.pid), 4);
	assert_int_equal(p.pid, first);
	snprintf(maps, sizeof(maps), "/proc/%d/maps", (int)p.pid);
	f = fopen(maps, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		assert_null(strstr(line, "rw-s"));
	fclose(f);
	munmap(shared, 4096);
}

static void test_refuses(void **state)
{
	struct opener_facts facts;
	char *longest = malloc(10000);

	memset(longest, '/', 9999);
	longest[9999] = '\0';
	assert_int_equal(fetch("/nowhere/at/all", &facts), -ENOENT);
	assert_int_equal(fetch("/dev/null", &facts), -ENOEXEC);
	assert_int_equal(fetch("/proc/self/status", &facts), -ENOEXEC);
	assert_int_equal(fetch("not a path", &facts), -ENOENT);
	assert_int_equal(fetch(longest, &facts), -ENAMETOOLONG);
	assert_int_equal(porter_drop(&p), -EBADF);
	assert_int_equal(fetch(path, &facts), 0);
	free(longest);
}

/* One that is gone costs a question; the next starts another. */
static void test_killed(void **state)
{
	struct opener_facts facts;

	assert_int_equal(fetch(path, &facts), 0);
	kill(p.pid, SIGKILL);
	assert_int_equal(porter_hand_over(&p, ends[0]), -ECHILD);
	assert_int_equal(fetch(path, &facts), 0);
	assert_int_equal(porter_drop(&p), 0);
}

/* It stands still, as one does who waits for a file that does not come. */
static void test_stands_still(void **state)
{
	struct opener_facts facts;
	pid_t pid;

	p.still_ns = NSEC_PER_SEC / 2;
	assert_int_equal(fetch(path, &facts), 0);
	pid = p.pid;
	kill(pid, SIGSTOP);
	assert_int_equal(porter_drop(&p), -EHOSTDOWN);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(fetch(path, &facts), 0);
	kill(p.pid, SIGSTOP);
	p.cancelled = true;
	p.still_ns = 3600 * NSEC_PER_SEC;
	assert_int_equal(porter_drop(&p), -ECANCELED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hands_over, setup, teardown),
		cmocka_unit_test_setup_teardown(test_has_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refuses, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stands_still, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
