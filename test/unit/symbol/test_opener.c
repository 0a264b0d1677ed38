// SPDX-License-Identifier: MIT
/*
 * Paths that lie. The truth is not what the opener returns but what the thing that was not to be
 * opened has seen: inotify on it, a writer that waits for a reader, a lease that is broken.
 */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"
#include "symbol/opener.h"
#include "unit/elf/tiny.h"

#define GONE 0x7fffffffu

static char dir[] = "/tmp/thaw-opener-XXXXXX";

static const char *in_dir(const char *name)
{
	static char paths[8][256];
	static unsigned turn;
	char *path = paths[turn++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void write_file(const char *path, const void *bytes, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
}

static int watch(const char *path)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	assert_true(inotify_add_watch(fd, path, IN_OPEN | IN_ACCESS) >= 0);
	return fd;
}

static bool was_opened(int watch)
{
	char event[512];
	bool opened = read(watch, event, sizeof(event)) > 0;

	close(watch);
	return opened;
}

static int try_open(uint32_t pid, const char *path)
{
	int fd, rc = opener_open(pid, path, &fd);

	if (!rc)
		close(fd);
	return rc;
}

static int try_mapped(const struct opener_want *w)
{
	int fd, rc = opener_mapped(w, &fd);

	if (!rc)
		close(fd);
	return rc;
}

static void test_no_fifo_is_opened(void **state)
{
	const char *fifo = in_dir("fifo"), *link = in_dir("fifo-link");
	struct opener_want w = {.pid = (uint32_t)getpid(), .path = fifo, .inode = 1};
	int seen;

	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(symlink("fifo", link), 0);
	seen = watch(fifo);
	assert_int_equal(try_open(0, fifo), -ENOEXEC);
	assert_int_equal(try_open((uint32_t)getpid(), fifo), -ENOEXEC);
	assert_int_equal(try_open((uint32_t)getpid(), link), -ENOEXEC);
	assert_int_equal(try_mapped(&w), -ENOEXEC);
	w.pid = GONE;
	assert_int_equal(try_mapped(&w), -ENOEXEC);
	assert_non_null(strstr(err_msg(), "not a regular file"));
	assert_false(was_opened(seen));
}

/* /proc/kmsg is a regular file by its mode, and whoever reads it takes lines away from others. */
static void test_no_made_up_file_is_opened(void **state)
{
	static const char *const paths[] = {"/proc/version", "/proc/self/maps", "/proc/kmsg",
					    "/sys/kernel/uevent_seqnum"};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (access(paths[i], F_OK))
			continue;
		assert_int_equal(try_open(0, paths[i]), -ENOEXEC);
		assert_int_equal(try_open((uint32_t)getpid(), paths[i]), -ENOEXEC);
		assert_non_null(strstr(err_msg(), "makes it up"));
	}
	/* Our own open files are nobody's to name. */
	assert_int_equal(try_open(0, "/proc/self/exe"), -ELOOP);
}

static void test_files_in_memory_are_files(void **state)
{
	int fd = memfd_create("code", MFD_CLOEXEC);
	uint64_t at, got;
	void *p;
	int own;

	assert_int_equal(ftruncate(fd, 4096), 0);
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	at = (uintptr_t)p;
	if (opener_mapping((uint32_t)getpid(), at, at + 4096, &own))
		skip(); /* only root may ask */
	assert_int_equal(pread(own, &got, 8, 0), 8);
	close(own);
	close(fd);
	munmap(p, 4096);
}

static void test_the_last_link_is_not_followed(void **state)
{
	int fd;

	write_file(in_dir("plain"), "x", 1);
	assert_int_equal(symlink("plain", in_dir("link")), 0);
	assert_int_equal(try_open(0, in_dir("link")), 0);
	assert_int_equal(opener_open_nofollow(0, in_dir("link"), &fd), -ENOEXEC);
	assert_int_equal(opener_open_nofollow(0, in_dir("plain"), &fd), 0);
	close(fd);
}

/* Whoever opens a file with a lease waits until its owner lets go: 45 seconds. */
static void test_a_lease_is_not_waited_for(void **state)
{
	const char *path = in_dir("leased");
	int fd;

	write_file(path, "x", 1);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	signal(SIGIO, SIG_IGN);
	if (fcntl(fd, F_SETLEASE, F_WRLCK))
		skip();
	alarm(20);
	assert_int_equal(try_open(0, path), -EWOULDBLOCK);
	alarm(0);
	close(fd);
}

static void test_our_file_for_one_that_is_gone(void **state)
{
	static const struct tiny_sym sym = {"alpha", 0, 8, 2, 1};
	const char *path = in_dir("program");
	struct opener_want w = {.pid = GONE, .path = path};
	uint8_t other[20] = {1};
	struct tiny t;
	struct stat st;
	int seen;

	tiny_make(&t, &sym, 1);
	write_file(path, t.bytes, t.len);
	assert_int_equal(stat(path, &st), 0);
	seen = watch(path);
	/* Nothing is known of what was mapped; or it was another file: ours is not even opened. */
	assert_int_equal(try_mapped(&w), -ESRCH);
	w.inode = st.st_ino + 1;
	w.dev = st.st_dev;
	assert_int_equal(try_mapped(&w), -ESTALE);
	w.build_id = tiny_id;
	w.build_id_len = 20;
	assert_int_equal(try_mapped(&w), -ESTALE);
	w.inode = st.st_ino;
	w.dev = st.st_dev + 1;
	assert_int_equal(try_mapped(&w), -ESTALE);
	assert_false(was_opened(seen));
	/* The same in all that is known. */
	w.dev = st.st_dev;
	assert_int_equal(try_mapped(&w), 0);
	w.build_id = other;
	assert_int_equal(try_mapped(&w), -ESTALE);
	w.build_id_len = 0;
	assert_int_equal(try_mapped(&w), 0);
	w.inode = 0;
	w.build_id_len = 20;
	assert_int_equal(try_mapped(&w), -ESTALE);
	w.build_id = tiny_id;
	assert_int_equal(try_mapped(&w), 0);
}

/* Runs a test where openat2() is not there; what it returned, or 99 if it could not be taken away.
 */
static int without_openat2(int (*fn)(void))
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {.len = 4, .filter = f};
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
			_exit(99);
		_exit(fn());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int walk_by_hand(void)
{
	char up[512];

	if (try_open(0, in_dir("inside/file")) ||
	    try_open((uint32_t)getpid(), in_dir("inside/file")))
		return 1;
	if (try_open((uint32_t)getpid(), in_dir("linked/file")) != -ELOOP ||
	    !strstr(err_msg(), "openat2"))
		return 2;
	snprintf(up, sizeof(up), "%s/inside/../inside/file", dir);
	if (try_open((uint32_t)getpid(), up) != -EXDEV)
		return 3;
	if (try_open(0, in_dir("inside/nothing")) != -ENOENT)
		return 4;
	return try_open(0, in_dir("fifo")) == -ENOEXEC ? 0 : 5;
}

static void test_without_openat2(void **state)
{
	int rc;

	assert_int_equal(mkdir(in_dir("inside"), 0755), 0);
	write_file(in_dir("inside/file"), "x", 1);
	assert_int_equal(symlink("inside", in_dir("linked")), 0);
	assert_int_equal(try_open((uint32_t)getpid(), in_dir("linked/file")), 0);
	rc = without_openat2(walk_by_hand);
	if (rc == 99)
		skip();
	assert_int_equal(rc, 0);
}

static int setup(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_fifo_is_opened),
		cmocka_unit_test(test_no_made_up_file_is_opened),
		cmocka_unit_test(test_files_in_memory_are_files),
		cmocka_unit_test(test_the_last_link_is_not_followed),
		cmocka_unit_test(test_a_lease_is_not_waited_for),
		cmocka_unit_test(test_our_file_for_one_that_is_gone),
		cmocka_unit_test(test_without_openat2),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
