// SPDX-License-Identifier: MIT
/*
 * Build ids of files that change while they are recorded: written again in place, and another file
 * that got the inode of one that was deleted. The truth is what was written into them.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "scout/build_ids.h"
#include "unit/elf/tiny.h"

static char dir[] = "/tmp/thaw-build-ids-XXXXXX";
static char path[64];

/* A file with a build id of these bytes. */
static void put(const char *to, uint8_t byte)
{
	static const struct tiny_sym sym = {"alpha", 0, 8, 2, 1};
	uint8_t *at = NULL;
	struct tiny t;
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);

	tiny_make(&t, &sym, 1);
	for (size_t i = 0; !at && i + 20 <= t.len; i++)
		if (!memcmp(t.bytes + i, tiny_id, 20))
			at = t.bytes + i;
	assert_non_null(at);
	memset(at, byte, 20);
	assert_int_equal(write(fd, t.bytes, t.len), t.len);
	close(fd);
}

/* As if this process had mapped it: by its path, because there is no such mapping. */
static uint8_t ask(struct build_ids *b)
{
	struct opener_want f = {.pid = (uint32_t)getpid(), .path = path};
	struct build_id id;
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	f.dev = st.st_dev;
	f.inode = st.st_ino;
	id = build_ids_ask(b, &f);
	if (!id.len)
		return 0;
	assert_int_equal(id.len, 20);
	for (size_t i = 1; i < 20; i++)
		assert_int_equal(id.id[i], id.id[0]);
	return id.id[0];
}

/* Waits until a file's last change is old enough to differ from the next one. */
static void grow_old(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 120000000}, NULL);
}

static void test_written_in_place(void **state)
{
	struct build_ids *b = build_ids_new();

	put(path, 0x11);
	grow_old();
	assert_int_equal(ask(b), 0x11);
	assert_int_equal(ask(b), 0x11);
	put(path, 0x22);
	assert_int_equal(ask(b), 0x22);
	build_ids_free(b);
}

/* Faster than the file system's clock ticks: size and times are the same, the content is not. */
static void test_written_within_a_tick(void **state)
{
	struct build_ids *b = build_ids_new();

	for (unsigned i = 1; i < 200; i++) {
		put(path, (uint8_t)i);
		assert_int_equal(ask(b), i);
	}
	build_ids_free(b);
}

/* False: somebody else on this machine got the inode, or the file system gives none twice. */
static bool given_again(struct build_ids *b)
{
	struct stat first, second;

	put(path, 0x33);
	grow_old();
	assert_int_equal(ask(b), 0x33);
	assert_int_equal(stat(path, &first), 0);
	unlink(path);
	put(path, 0x44);
	assert_int_equal(stat(path, &second), 0);
	return second.st_ino == first.st_ino;
}

static void test_inode_given_to_another_file(void **state)
{
	struct build_ids *b = build_ids_new();
	bool again = false;

	for (unsigned i = 0; i < 64 && !again; i++)
		again = given_again(b);
	if (again)
		assert_int_equal(ask(b), 0x44);
	build_ids_free(b);
	if (!again)
		skip();
}

/* The path leads to another file than the one that was mapped: its build id is not asked for. */
static void test_another_file_has_the_path(void **state)
{
	struct opener_want f = {.pid = (uint32_t)getpid(), .path = path};
	struct build_ids *b = build_ids_new();
	struct stat st;

	put(path, 0x55);
	assert_int_equal(stat(path, &st), 0);
	f.dev = st.st_dev;
	f.inode = st.st_ino + 1;
	assert_int_equal(build_ids_ask(b, &f).len, 0);
	build_ids_free(b);
}

static int setup(void **state)
{
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/program", dir);
	return 0;
}

static int teardown(void **state)
{
	unlink(path);
	return rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_written_in_place),
		cmocka_unit_test(test_written_within_a_tick),
		cmocka_unit_test(test_inode_given_to_another_file),
		cmocka_unit_test(test_another_file_has_the_path),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
