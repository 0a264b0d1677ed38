// SPDX-License-Identifier: MIT
/* Perf maps: what the lines mean, whose files are believed, and the way through the child. */
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

#include "base/err.h"
#include "symbol/demangle.h"
#include "symbol/perfmap.h"
#include "symbol/symbol.h"

static const char *look(const char *text, uint64_t address)
{
	static char copy[1024];
	const char *name;

	strcpy(copy, text);
	perfmap_find(copy, strlen(copy), &address, 1, &name);
	return name;
}

static void test_lines(void **state)
{
	static const char text[] = "1000 20 first\n"
				   "2000 10 second with spaces\n"
				   "0x3000 0x8 third\n"
				   "4000 10\n"
				   "4000 zz wrong\n"
				   "4000 0 empty\n"
				   "ffffffffffffffff ff wraps\n"
				   "11112222333344445 1 long\n"
				   "\n"
				   "5000 10 unfinished";

	assert_null(look(text, 0xfff));
	assert_string_equal(look(text, 0x1000), "first");
	assert_string_equal(look(text, 0x101f), "first");
	assert_null(look(text, 0x1020));
	assert_string_equal(look(text, 0x200f), "second with spaces");
	assert_string_equal(look(text, 0x3007), "third");
	assert_null(look(text, 0x4000));
	assert_null(look(text, 0x5000));
	assert_null(look("", 0x5000));
}

/* A JIT puts new code where old code was: the later line is right. */
static void test_later_lines_win(void **state)
{
	static const char text[] = "1000 100 old\n1040 20 new\n1050 4 newest\n";
	uint64_t addresses[] = {0x1000, 0x103f, 0x1040, 0x1050, 0x1054, 0x105f, 0x1060, 0x2000};
	static const char *const want[] = {"old", "old", "new", "newest",
					   "new", "new", "old", NULL};
	const char *names[8];
	char copy[128];

	strcpy(copy, text);
	perfmap_find(copy, strlen(copy), addresses, 8, names);
	for (int i = 0; i < 8; i++)
		if (want[i])
			assert_string_equal(names[i], want[i]);
		else
			assert_null(names[i]);
	assert_string_equal(look("1000 10 a\n1000 10 b\n", 0x1000), "b");
}

static void write_map(char path[64], mode_t mode, uid_t owner)
{
	FILE *f;

	snprintf(path, 64, "/tmp/perf-%d.map", getpid());
	unlink(path);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("1000 10 LazyCompile:~f a.js:1\n2000 10 _ZN3zoo4feedEv\n3000 10 bad\33[2Jname\n", f);
	assert_int_equal(fchmod(fileno(f), mode), 0);
	assert_int_equal(fchown(fileno(f), owner, (gid_t)-1), 0);
	fclose(f);
}

struct got {
	char names[4][64];
};

static void take(void *ctx, size_t first, size_t count, const struct symbols_frame *f, size_t n)
{
	struct got *g = ctx;

	assert_int_equal(n, 1);
	for (size_t i = first; i < first + count; i++)
		snprintf(g->names[i], sizeof(g->names[i]), "%s", f[0].name);
}

static void test_through_the_child(void **state)
{
	uint64_t addresses[] = {0x1000, 0x1001, 0x2004, 0x3000};
	struct symbols_query q = {.pid = (uint32_t)getpid(), .offsets = addresses, .n = 4};
	struct got g = {{{0}}};
	char path[64];

	write_map(path, 0600, geteuid());
	assert_int_equal(symbols_resolve_jit(&q, take, &g), 0);
	assert_string_equal(g.names[0], "LazyCompile:~f a.js:1");
	assert_string_equal(g.names[1], "LazyCompile:~f a.js:1");
	assert_string_equal(g.names[2], "zoo::feed()");
	/* What would clear a screen does not get there. */
	assert_string_equal(g.names[3], "bad?[2Jname");
	unlink(path);
	assert_int_equal(symbols_resolve_jit(&q, take, &g), -ENOENT);
}

static void test_whose_files_are_believed(void **state)
{
	char path[64];
	int fd;

	write_map(path, 0622, geteuid());
	assert_int_equal(perfmap_open((uint32_t)getpid(), &fd), -EPERM);
	assert_non_null(strstr(err_msg(), "others can write"));
	write_map(path, 0620, geteuid());
	assert_int_equal(perfmap_open((uint32_t)getpid(), &fd), -EPERM);
	write_map(path, 0644, geteuid());
	assert_int_equal(perfmap_open((uint32_t)getpid(), &fd), 0);
	close(fd);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(perfmap_open((uint32_t)getpid(), &fd), -ENOEXEC);
	unlink(path);
	if (geteuid() != 0)
		return;
	/* We are root here: somebody else's file about root's process. */
	write_map(path, 0644, 12345);
	assert_int_equal(perfmap_open((uint32_t)getpid(), &fd), -EPERM);
	assert_non_null(strstr(err_msg(), "belongs to user 12345"));
	unlink(path);
}

static void test_demangling(void **state)
{
	static const char *const pairs[][2] = {
		{"main", "main"},
		{"_ZN3foo3barEii", "foo::bar(int, int)"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
		{"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
		{"_Z", "_Z"},
		{"_ZN", "_ZN"},
		{"__libc_start_main", "__libc_start_main"},
	};
	char *bomb = malloc(8192), *out;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		out = demangle(pairs[i][0]);
		assert_string_equal(out, pairs[i][1]);
		free(out);
	}
	/* Each level doubles the result: 30 of them would be gigabytes. */
	strcpy(bomb, "_Z1fI1AE");
	for (int i = 0; i < 500; i++)
		strcat(bomb, "SO_S_");
	out = demangle(bomb);
	assert_true(strlen(out) < 4096);
	free(out);
	memset(bomb, 'P', 8191);
	memcpy(bomb, "_Z1f", 4);
	bomb[8191] = '\0';
	out = demangle(bomb);
	assert_true(strlen(out) < 4096);
	free(out);
	free(bomb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_later_lines_win),
		cmocka_unit_test(test_through_the_child),
		cmocka_unit_test(test_whose_files_are_believed),
		cmocka_unit_test(test_demangling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
