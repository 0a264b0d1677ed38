// SPDX-License-Identifier: MIT
/*
 * Tables on disk: what was put comes back for the same file and for no other, and whatever else
 * lies there is as good as nothing.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "elf/elf.h"
#include "unwind_tables/kept.h"

#define LIBC "/usr/lib/x86_64-linux-gnu/libc.so.6"
#define LIBM "/usr/lib/x86_64-linux-gnu/libm.so.6"

static char dir[64], entry[512];
static struct kept *kept;
static int libc;
static struct unwind_table *table;

static int entries(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.') {
			snprintf(entry, sizeof(entry), "%s/%s", dir, e->d_name);
			n++;
		}
	closedir(d);
	return n;
}

static int setup(void **state)
{
	struct elf *e;

	strcpy(dir, "/tmp/thaw-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	kept = kept_open(dir, KEPT_BYTES);
	assert_non_null(kept);
	libc = open(LIBC, O_RDONLY | O_CLOEXEC);
	assert_int_equal(elf_open_fd(libc, &e), 0);
	assert_int_equal(unwind_table_build(e, &table), 0);
	elf_free(e);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	kept_close(kept);
	close(libc);
	unwind_table_free(table);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static struct unwind_table *get(struct kept *k, int fd)
{
	struct opener_facts f;

	assert_int_equal(opener_look(fd, &f), 0);
	return kept_get(k, &f);
}

static void put(struct kept *k, int fd)
{
	struct opener_facts f;

	assert_int_equal(opener_look(fd, &f), 0);
	kept_put(k, &f, table);
}

static bool is_there(int fd)
{
	struct unwind_table *t = get(kept, fd);
	bool there = t;

	unwind_table_free(t);
	return there;
}

static void test_same(void **state)
{
	int libm = open(LIBM, O_RDONLY | O_CLOEXEC), again = open(LIBC, O_RDONLY | O_CLOEXEC);
	struct unwind_table *t;

	assert_false(is_there(libc));
	put(kept, libc);
	assert_int_equal(entries(), 1);
	t = get(kept, again);
	assert_non_null(t);
	assert_int_equal(t->first, table->first);
	assert_int_equal(t->n_words, table->n_words);
	assert_memory_equal(t->words, table->words, 4 * t->n_words);
	assert_memory_equal(t->dir, table->dir, 4 * t->n_leaves);
	assert_memory_equal(t->rules, table->rules, t->n_rules * sizeof(*t->rules));
	assert_memory_equal(t->loads, table->loads, t->n_loads * sizeof(*t->loads));
	assert_int_equal(t->build_id_len, table->build_id_len);
	assert_memory_equal(t->build_id, table->build_id, t->build_id_len);
	unwind_table_free(t);
	assert_false(is_there(libm));
	close(libm);
	close(again);
}

/* A file that has changed since, even to the same bytes and times, is another one. */
static void test_changed(void **state)
{
	char path[] = "/tmp/thaw-test-XXXXXX";
	struct timespec long_ago[2] = {{1, 0}, {1, 0}};
	int fd = mkstemp(path);

	assert_int_equal(write(fd, "x", 1), 1);
	put(kept, fd);
	assert_int_equal(entries(), 0); /* it may change once more in the same tick */
	usleep(200000);
	put(kept, fd);
	assert_true(is_there(fd));
	assert_int_equal(pwrite(fd, "y", 1, 0), 1);
	assert_int_equal(futimens(fd, long_ago), 0);
	assert_false(is_there(fd));
	close(fd);
	unlink(path);
}

static void test_damaged(void **state)
{
	struct stat st;
	uint8_t byte;
	int fd;

	put(kept, libc);
	assert_int_equal(entries(), 1);
	fd = open(entry, O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	/* Any byte: of its own head, of the table's head (version, counts), of the arrays. */
	for (off_t at = 0; at < st.st_size; at += at < 160 ? 1 : 9973) {
		assert_int_equal(pread(fd, &byte, 1, at), 1);
		byte ^= 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		assert_false(is_there(libc));
		byte ^= 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	assert_true(is_there(libc));
	for (off_t len = 0; len < st.st_size; len += len < 160 ? 1 : 9973) {
		assert_int_equal(ftruncate(fd, st.st_size - 1 - len), 0);
		assert_false(is_there(libc));
	}
	close(fd);
	/* It is written anew. */
	put(kept, libc);
	assert_true(is_there(libc));
}

static void test_not_ours(void **state)
{
	char elsewhere[] = "/tmp/thaw-test-XXXXXX", linked[600];
	struct kept *k;

	put(kept, libc);
	assert_int_equal(entries(), 1);
	assert_int_equal(chmod(entry, 0622), 0);
	assert_false(is_there(libc));
	assert_int_equal(chmod(entry, 0600), 0);
	assert_true(is_there(libc));
	snprintf(linked, sizeof(linked), "%s/.other", dir);
	assert_int_equal(link(entry, linked), 0);
	assert_false(is_there(libc));
	assert_int_equal(unlink(entry), 0);
	assert_int_equal(symlink(linked, entry), 0);
	assert_false(is_there(libc));
	assert_int_equal(unlink(entry), 0);
	assert_int_equal(mkfifo(entry, 0600), 0); /* nobody waits for a writer */
	assert_false(is_there(libc));
	/* The folder. */
	assert_int_equal(chmod(dir, 0722), 0);
	assert_null(kept_open(dir, KEPT_BYTES));
	assert_int_equal(chmod(dir, 0700), 0);
	close(mkstemp(elsewhere));
	assert_null(kept_open(elsewhere, KEPT_BYTES));
	unlink(elsewhere);
	assert_int_equal(symlink(dir, elsewhere), 0);
	assert_null(kept_open(elsewhere, KEPT_BYTES));
	unlink(elsewhere);
	if (geteuid() == 0) {
		assert_int_equal(chown(dir, 65534, 65534), 0);
		assert_null(kept_open(dir, KEPT_BYTES));
		assert_int_equal(chown(dir, 0, 0), 0);
	}
	k = kept_open(dir, KEPT_BYTES);
	assert_non_null(k);
	kept_close(k);
}

static int new_file(void)
{
	char path[] = "/tmp/thaw-test-XXXXXX";
	int fd = mkstemp(path);

	unlink(path);
	return fd;
}

/* The longest unused goes when there would be too much; a temporary file that was left goes, too.
 */
static void test_bounded(void **state)
{
	int fd[8];
	struct stat st;
	char left[128];
	struct timespec old[2] = {{1, 0}, {1, 0}};

	put(kept, libc);
	assert_int_equal(entries(), 1);
	assert_int_equal(stat(entry, &st), 0);
	unlink(entry);
	kept_close(kept);
	snprintf(left, sizeof(left), "%s/.new-1-1", dir);
	close(open(left, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(utimensat(AT_FDCWD, left, old, 0), 0);
	kept = kept_open(dir, 5 * (uint64_t)st.st_size);
	for (int i = 0; i < 8; i++)
		fd[i] = new_file();
	usleep(200000);
	for (int i = 0; i < 5; i++) {
		put(kept, fd[i]);
		usleep(20000);
	}
	assert_int_equal(entries(), 5);
	assert_int_equal(access(left, F_OK), -1);
	assert_true(is_there(fd[0])); /* now the second is the longest unused */
	put(kept, fd[5]);
	assert_true(entries() <= 5);
	assert_true(is_there(fd[0]));
	assert_false(is_there(fd[1]));
	assert_true(is_there(fd[4]));
	assert_true(is_there(fd[5]));
	for (int i = 0; i < 8; i++)
		close(fd[i]);
}

static void test_no_disk(void **state)
{
	struct kept *k = kept_open("/proc/thaw/unwind", KEPT_BYTES);

	assert_null(k);
	put(k, libc);
	assert_null(get(k, libc));
	kept_close(k);
	/* As if it were full: nothing is there, and nothing is left lying about. */
	kept_close(kept);
	kept = kept_open(dir, 100);
	put(kept, libc);
	assert_int_equal(entries(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same, setup, teardown),
		cmocka_unit_test_setup_teardown(test_changed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_ours, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_disk, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
