// SPDX-License-Identifier: MIT
/* The process that syncs: it syncs what was noted, tells of a failure, and outlives its owner. */
#include "store/syncer.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/units.h"

#define PATIENCE_NS (20 * NSEC_PER_SEC)

/* Seen by both processes. */
static struct {
	int calls, fails_with, takes_ms;
	ino_t inode;
} * seen;

/* libc's, watched. */
int fdatasync(int fd)
{
	struct stat st;

	usleep((unsigned)seen->takes_ms * 1000);
	seen->inode = fstat(fd, &st) ? 0 : st.st_ino;
	__atomic_fetch_add(&seen->calls, 1, __ATOMIC_SEQ_CST);
	errno = seen->fails_with;
	return seen->fails_with ? -1 : 0;
}

static int calls(void)
{
	return __atomic_load_n(&seen->calls, __ATOMIC_SEQ_CST);
}

static int reset(void **state)
{
	if (!seen)
		seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	memset(seen, 0, sizeof(*seen));
	return 0;
}

static int some_file(ino_t *ret)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	*ret = st.st_ino;
	return fd;
}

static void test_last_sync(void **state)
{
	struct syncer *s = syncer_new();
	int error = -1, fd;
	ino_t inode;

	assert_non_null(s);
	fd = some_file(&inode);
	assert_int_equal(syncer_watch(s, fd), 0);
	close(fd); /* it has one of its own */
	syncer_note(s);
	syncer_end(s, PATIENCE_NS, &error);
	assert_int_equal(error, 0);
	assert_int_equal(calls(), 1);
	assert_int_equal(seen->inode, inode);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
}

static void test_nothing_written_nothing_synced(void **state)
{
	struct syncer *s = syncer_new();
	int error, fd;
	ino_t inode;

	fd = some_file(&inode);
	assert_int_equal(syncer_watch(s, fd), 0);
	close(fd);
	syncer_end(s, PATIENCE_NS, &error);
	assert_int_equal(calls(), 0);
	syncer_end(NULL, PATIENCE_NS, &error);
	syncer_end(syncer_new(), PATIENCE_NS, &error); /* without a file */
	assert_int_equal(calls(), 0);
}

static void test_error_is_told(void **state)
{
	struct syncer *s = syncer_new();
	int error, fd;
	ino_t inode;

	seen->fails_with = EIO;
	fd = some_file(&inode);
	assert_int_equal(syncer_watch(s, fd), 0);
	assert_int_equal(syncer_error(s), 0);
	syncer_note(s);
	syncer_end(s, PATIENCE_NS, &error);
	assert_int_equal(error, EIO);
	close(fd);
}

/* A file system that cannot sync is no reason to stop. */
static void test_no_sync_is_no_error(void **state)
{
	struct syncer *s = syncer_new();
	int error, fd;
	ino_t inode;

	seen->fails_with = EINVAL;
	fd = some_file(&inode);
	assert_int_equal(syncer_watch(s, fd), 0);
	syncer_note(s);
	syncer_end(s, PATIENCE_NS, &error);
	assert_int_equal(calls(), 1);
	assert_int_equal(error, 0);
	close(fd);
}

/* By itself, while the owner does something else. */
static void test_syncs_meanwhile(void **state)
{
	struct syncer *s = syncer_new();
	int error, fd;
	ino_t inode;

	fd = some_file(&inode);
	assert_int_equal(syncer_watch(s, fd), 0);
	syncer_note(s);
	for (int i = 0; i < 1000 && !calls(); i++)
		usleep(10000);
	assert_int_equal(calls(), 1);
	syncer_end(s, PATIENCE_NS, &error);
	assert_int_equal(calls(), 1);
	close(fd);
}

/* The owner is killed, with a disk that is slow: what it has written is synced all the same. */
static void test_owner_dies(void **state)
{
	int fd, status;
	ino_t inode;
	pid_t owner;

	seen->takes_ms = 300;
	fd = some_file(&inode);
	owner = fork();
	if (!owner) {
		struct syncer *s = syncer_new();

		if (!s || syncer_watch(s, fd))
			_exit(1);
		syncer_note(s);
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(owner, &status, 0), owner);
	assert_true(WIFSIGNALED(status));
	for (int i = 0; i < 1000 && !calls(); i++)
		usleep(10000);
	assert_int_equal(calls(), 1);
	assert_int_equal(seen->inode, inode);
	close(fd);
}

/* It keeps nobody: neither the one who waits, nor one who reads what the owner wrote to a pipe. */
static void test_keeps_nobody_waiting(void **state)
{
	int ends[2], error, fd;
	struct pollfd p = {.events = POLLIN};
	struct syncer *s;
	char byte;
	ino_t inode;

	assert_int_equal(pipe(ends), 0);
	s = syncer_new();
	seen->takes_ms = 2000;
	fd = some_file(&inode);
	assert_int_equal(syncer_watch(s, fd), 0);
	syncer_note(s);
	syncer_end(s, NSEC_PER_MSEC, &error);
	assert_int_equal(error, 0);
	assert_int_equal(calls(), 0); /* not yet */
	close(ends[1]);
	p.fd = ends[0];
	assert_int_equal(poll(&p, 1, 1000), 1);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	assert_int_equal(calls(), 0);
	close(ends[0]);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_last_sync, reset),
		cmocka_unit_test_setup(test_nothing_written_nothing_synced, reset),
		cmocka_unit_test_setup(test_error_is_told, reset),
		cmocka_unit_test_setup(test_no_sync_is_no_error, reset),
		cmocka_unit_test_setup(test_syncs_meanwhile, reset),
		cmocka_unit_test_setup(test_owner_dies, reset),
		cmocka_unit_test_setup(test_keeps_nobody_waiting, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
