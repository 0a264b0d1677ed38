// SPDX-License-Identifier: MIT
/* Kernel symbols: from a text with a known truth, and from the running kernel. */
#include <dirent.h>
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

#include "base/err.h"
#include "base/mem.h"
#include "symbol/kernel_kept.h"
#include "symbol/symbol.h"
#include "symbol/table.h"

static struct symbols *parse(const char *text)
{
	struct symbols *s = NULL;
	struct buf b = {0};

	buf_put(&b, text, strlen(text));
	assert_int_equal(kallsyms_parse(&b, &s), 0);
	return s;
}

static void test_functions_and_modules(void **state)
{
	struct symbols *s = parse("ffffffff81000000 T _text\n"
				  "ffffffff81000000 T startup_64\n"
				  "ffffffff81000200 t local_one\n"
				  "ffffffff81000200 W weak_one\n"
				  "ffffffff81001000 D data_here\n"
				  "ffffffff82000000 T last\n"
				  "ffffffffc0201000 t ext4_read\t[ext4]\n"
				  "ffffffffc0200000 t ext4_write\t[ext4]\n");
	uint64_t distance = 0;

	assert_int_equal(s->syms.n, 5);
	assert_string_equal(symbols_find(s, 0xffffffff81000010, &distance), "startup_64");
	assert_int_equal(distance, 0x10);
	assert_string_equal(symbols_find(s, 0xffffffff81000200, NULL), "weak_one");
	assert_string_equal(symbols_find(s, 0xffffffffc0200fff, NULL), "ext4_write [ext4]");
	assert_string_equal(symbols_find(s, 0xffffffffc0201004, NULL), "ext4_read [ext4]");
	assert_null(symbols_find(s, 0xffffffff80ffffff, NULL));
	/* Between the kernel and its modules lies nothing. */
	assert_null(symbols_find(s, 0xffffffffa0000000, NULL));
	symbols_free(s);
}

static void test_hidden_addresses(void **state)
{
	struct symbols *s = NULL;
	struct buf b = {0};

	buf_printf(&b, "0000000000000000 T _text\n0000000000000000 t other\n");
	assert_int_equal(kallsyms_parse(&b, &s), -EPERM);
	assert_non_null(strstr(err_msg(), "kptr_restrict"));
	assert_null(s);
}

static void test_odd_lines_are_skipped(void **state)
{
	struct symbols *s = parse("\n\nfffffffffffffffff T too_long\nxyz T a\n10 T\n10\n"
				  "10 T \n20 t whole\n30 t");

	assert_int_equal(s->syms.n, 1);
	assert_string_equal(symbols_find(s, 0x21, NULL), "whole");
	symbols_free(s);
}

/*
 * About 60 ms, and five times that under the sanitizers: the limit is there for a mistake of
 * degree. CPU time, because the machine may have other things to do.
 */
static void test_two_hundred_thousand_lines(void **state)
{
	struct symbols *s = NULL;
	struct buf b = {0};
	clock_t started;

	for (unsigned i = 0; i < 200000; i++)
		buf_printf(&b, "%016llx t some_function_with_a_name_%u\n",
			   0xffffffff81000000ull + i * 64ull * 7919 % (200000 * 64), i);
	started = clock();
	assert_int_equal(kallsyms_parse(&b, &s), 0);
	assert_true(clock() - started < 2 * CLOCKS_PER_SEC);
	assert_int_equal(s->syms.n, 200000);
	symbols_free(s);
}

/* Every function of the file itself must be found by its address, or an alias at that address. */
static void test_running_kernel(void **state)
{
	struct symbols *s = NULL;
	uint64_t address, distance;
	char line[512], type;
	size_t checked = 0;
	bool all;
	int rc = symbols_load_kernel_at(NULL, NULL, 0, &s, &all);
	FILE *f;

	if (rc) {
		print_message("no kernel symbols here: %s\n", err_msg());
		skip();
	}
	f = fopen("/proc/kallsyms", "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx %c", &address, &type) != 2 || !strchr("tT", type))
			continue;
		if (strchr(line, '[')) /* modules and BPF programs come and go */
			continue;
		assert_non_null(symbols_find(s, address, &distance));
		assert_int_equal(distance, 0);
		if (checked++ > 50000)
			break;
	}
	fclose(f);
	assert_true(checked > 1000);
	assert_null(symbols_find(s, 0x1000, NULL));
	symbols_free(s);
}

/* ---- kept for the next recording ---- */

static bool there;
static char folder[64];
static struct kept *kept;

static int open_folder(void **state)
{
	strcpy(folder, "/tmp/thaw-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	kept = kept_open(folder, KEPT_BYTES);
	assert_non_null(kept);
	return 0;
}

static int close_folder(void **state)
{
	char remove[128];

	kept_close(kept);
	snprintf(remove, sizeof(remove), "rm -rf %s", folder);
	return system(remove);
}

/* The only entry. */
static void entry_path(char *path, size_t room)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	path[0] = '\0';
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			snprintf(path, room, "%s/%s", folder, e->d_name);
	closedir(d);
	assert_true(path[0]);
}

#define TEXT 0xffffffff81000000ull
#define ETEXT 0xffffffff81003000ull

static void keep_some(const struct kernel_ref *ref)
{
	struct symbols *s = parse("ffffffff81000000 T startup_64\n"
				  "ffffffff81001000 t one\n"
				  "ffffffff81002000 T two\n"
				  "ffffffff81003000 T _etext\n"
				  "ffffffffc0200000 t ext4_write\t[ext4]\n");

	kernel_kept_put(kept, ref, KERNEL_CODE, s, ETEXT);
	symbols_free(s);
}

static void test_kept_comes_back_at_another_address(void **state)
{
	struct kernel_ref ref = {.id = "0123456789", .id_len = 10, .text = TEXT};
	uint64_t at[] = {TEXT + 0x200010, TEXT + 0x201010, TEXT + 0x201020, TEXT + 0x202fff};
	struct symbols *s;

	keep_some(&ref);
	ref.text = TEXT + 0x200000; /* after another boot */
	s = kernel_kept_get(kept, &ref, KERNEL_CODE, at, ARRAY_LEN(at), "", &there);
	assert_non_null(s);
	assert_int_equal(s->syms.n, 3);
	assert_string_equal(symbols_find(s, at[0], NULL), "startup_64");
	assert_string_equal(symbols_find(s, at[1], NULL), "one");
	assert_string_equal(symbols_find(s, at[2], NULL), "one");
	assert_string_equal(symbols_find(s, at[3], NULL), "two");
	symbols_free(s);
}

#define MODULES                                                                                    \
	"xfs 1000 0 - Live 0xffffffffc0300000\n"                                                   \
	"ext4 4096 2 - Live 0xffffffffc0200000 (E)\n"

/* A module's function is not kept: the whole list has to be read. Other code has no name. */
static void test_kept_has_no_modules(void **state)
{
	struct kernel_ref ref = {.id = "0123456789", .id_len = 10, .text = TEXT};
	uint64_t module[] = {TEXT + 0x10, 0xffffffffc0200004},
		 bpf[] = {TEXT + 0x10, 0xffffffffc0201000};
	struct symbols *s;

	keep_some(&ref);
	assert_null(kernel_kept_get(kept, &ref, KERNEL_CODE, module, 2, MODULES, &there));
	assert_true(there);
	/* A user who may not see addresses cannot tell. */
	assert_null(kernel_kept_get(kept, &ref, KERNEL_CODE, module, 2, "ext4 4096 2 - Live 0x0\n",
				    &there));
	s = kernel_kept_get(kept, &ref, KERNEL_CODE, bpf, 2, MODULES, &there);
	assert_non_null(s);
	assert_string_equal(symbols_find(s, bpf[0], NULL), "startup_64");
	assert_null(symbols_find(s, bpf[1], NULL));
	symbols_free(s);
	assert_null(kernel_kept_get(NULL, &ref, KERNEL_CODE, bpf, 1, "", &there));
	ref.id[9]++; /* another kernel */
	assert_null(kernel_kept_get(kept, &ref, KERNEL_CODE, bpf, 1, "", &there));
}

/* Data is kept apart from functions, also if there is none with a name. */
static void test_kept_data(void **state)
{
	struct kernel_ref ref = {.id = "0123456789", .id_len = 10, .text = TEXT};
	uint64_t at[] = {TEXT + 0x4000, TEXT + 0x4008};
	static const char lines[] = "ffffffff81004000 D tasklist_lock\n"
				    "ffffffff81005000 d files_lock\n"
				    "ffffffff81006000 B _end\n";
	struct buf text = {0};
	struct symbols_data d;
	struct symbols *s;

	keep_some(&ref);
	assert_null(kernel_kept_get(kept, &ref, KERNEL_DATA, at, 2, "", &there));
	assert_false(there);
	buf_put(&text, lines, sizeof(lines) - 1);
	assert_int_equal(kallsyms_parse_data(&text, &s), 0);
	kernel_kept_put(kept, &ref, KERNEL_DATA, s, TEXT + 0x6000);
	symbols_free(s);
	s = kernel_kept_get(kept, &ref, KERNEL_DATA, at, 2, "", &there);
	assert_non_null(s);
	assert_true(symbols_data_at(s, at[1], &d));
	assert_string_equal(d.name, "tasklist_lock");
	assert_int_equal(d.begin, at[0]);
	symbols_free(s);
}

static void test_kept_damaged(void **state)
{
	struct kernel_ref ref = {.id = "0123456789", .id_len = 10, .text = TEXT};
	uint64_t at = TEXT + 0x1000;
	struct symbols *s;
	char path[512];
	struct stat st;
	int fd, byte;

	keep_some(&ref);
	entry_path(path, sizeof(path));
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	for (off_t i = 0; i < st.st_size; i++) {
		assert_int_equal(pread(fd, &byte, 1, i), 1);
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, i), 1);
		assert_null(kernel_kept_get(kept, &ref, KERNEL_CODE, &at, 1, "", &there));
		byte ^= 1;
		assert_int_equal(pwrite(fd, &byte, 1, i), 1);
	}
	s = kernel_kept_get(kept, &ref, KERNEL_CODE, &at, 1, "", &there);
	assert_non_null(s);
	symbols_free(s);
	for (off_t len = st.st_size - 1; len >= 0; len--) {
		assert_int_equal(ftruncate(fd, len), 0);
		assert_null(kernel_kept_get(kept, &ref, KERNEL_CODE, &at, 1, "", &there));
	}
	close(fd);
}

/* What is kept of this machine's kernel has the names that /proc/kallsyms has. */
static void test_kept_running_kernel(void **state)
{
	struct symbols *all = NULL, *some = NULL, *others = NULL;
	uint64_t at[2000], n = 0, elsewhere = 0x1000;
	struct stat before, after;
	char path[512];
	struct kernel_ref ref;
	bool whole = false;

	if (!kernel_ref_here(&ref) || symbols_load_kernel_at(NULL, NULL, 0, &all, &whole)) {
		print_message("no kernel symbols here: %s\n", err_msg());
		skip();
	}
	for (uint64_t a = ref.text + 64; n < ARRAY_LEN(at) && a < ref.text + (16u << 20); a += 4099)
		if (symbols_find(all, a, NULL))
			at[n++] = a;
	assert_true(n > 500);
	assert_int_equal(symbols_load_kernel_at(kept, at, n, &some, &whole), 0);
	assert_true(whole);
	symbols_free(some);
	assert_int_equal(symbols_load_kernel_at(kept, at, n, &some, &whole), 0);
	assert_false(whole);
	entry_path(path, sizeof(path));
	assert_int_equal(stat(path, &before), 0);
	/* It belongs to no symbol: no reason to read all of it. */
	assert_int_equal(symbols_load_kernel_at(kept, &elsewhere, 1, &others, &whole), 0);
	assert_false(whole);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino); /* it was not written again */
	symbols_free(others);
	for (size_t i = 0; i < n; i++) {
		assert_non_null(symbols_find(some, at[i], NULL));
		assert_string_equal(symbols_find(some, at[i], NULL),
				    symbols_find(all, at[i], NULL));
	}
	symbols_free(some);
	symbols_free(all);
}

#define kept_test(f) cmocka_unit_test_setup_teardown(f, open_folder, close_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions_and_modules),
		cmocka_unit_test(test_hidden_addresses),
		cmocka_unit_test(test_odd_lines_are_skipped),
		cmocka_unit_test(test_two_hundred_thousand_lines),
		cmocka_unit_test(test_running_kernel),
		kept_test(test_kept_comes_back_at_another_address),
		kept_test(test_kept_has_no_modules),
		kept_test(test_kept_data),
		kept_test(test_kept_damaged),
		kept_test(test_kept_running_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
