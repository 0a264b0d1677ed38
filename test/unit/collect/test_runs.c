// SPDX-License-Identifier: MIT
/* Which programs can be followed, and which were not. */
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

#include "collect/runs.h"
#include "engine/program.h"

static void test_missed(void **state)
{
	struct runs *r = runs_new();
	char names[64];

	(void)state;
	assert_int_equal(runs_missed(r, names, sizeof(names)), 0);
	runs_begin(r, 1, 100, "/bin/answers");
	runs_there(r, 1, 110);
	runs_begin(r, 2, 100, "/bin/static");
	runs_begin(r, 3, 100, "/nowhere/bin/x"); /* a search through PATH */
	runs_begin(r, 3, 101, "");
	runs_begin(r, 3, 102, "/usr/bin/x");
	runs_there(r, 3, 110);
	runs_there(r, 4, 110);
	runs_begin(r, 4, 105, "/bin/spawned"); /* its parent tells of it afterwards */
	runs_begin(r, 1, 200, "/bin/static");  /* and the first becomes another */
	assert_int_equal(runs_missed(r, names, sizeof(names)), 2);
	assert_string_equal(names, "static");
	runs_begin(r, 5, 200, "sudo");
	assert_int_equal(runs_missed(r, names, sizeof(names)), 3);
	assert_string_equal(names, "static, sudo");
	runs_free(r);
}

static void test_room(void **state)
{
	struct runs *r = runs_new();
	char names[20], path[32];

	(void)state;
	for (uint32_t i = 1; i <= 1000; i++) {
		snprintf(path, sizeof(path), "/bin/program-%u", i);
		runs_begin(r, i, 1, path);
	}
	assert_int_equal(runs_missed(r, names, sizeof(names)), 1000);
	assert_string_equal(names, "program-1");
	runs_free(r);
}

static void write_file(const char *path, const void *bytes, size_t len, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	fclose(f);
	chmod(path, mode);
}

static void test_kinds(void **state)
{
	char dir[] = "/tmp/thaw-test-XXXXXX", got[256], script[300], loop[300], file[300];
	char text[400];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(script, sizeof(script), "%s/script", dir);
	snprintf(loop, sizeof(loop), "%s/loop", dir);
	snprintf(file, sizeof(file), "%s/file", dir);
	assert_int_equal(program_kind("/bin/sh", got, sizeof(got)), PROGRAM_DYNAMIC);
	setenv("PATH", "/nowhere:/bin:/usr/bin", 1);
	assert_int_equal(program_kind("sh", got, sizeof(got)), PROGRAM_DYNAMIC);
	assert_string_equal(got, "/bin/sh");
	assert_int_equal(program_kind("no-such-program", got, sizeof(got)), PROGRAM_UNKNOWN);

	write_file(script, "#! /bin/sh -e\n", 14, 0755);
	assert_int_equal(program_kind(script, got, sizeof(got)), PROGRAM_DYNAMIC);
	assert_string_equal(got, "/bin/sh");
	write_file(script, "#! /bin/sh -e\n", 14, 0644);
	assert_int_equal(program_kind(script, got, sizeof(got)), PROGRAM_UNKNOWN);

	snprintf(text, sizeof(text), "#!%s\n", loop);
	write_file(loop, text, strlen(text), 0755);
	assert_int_equal(program_kind(loop, got, sizeof(got)), PROGRAM_UNKNOWN);

	write_file(file, "\177ELF\1\1\1", 7, 0755);
	assert_int_equal(program_kind(file, got, sizeof(got)), PROGRAM_FOREIGN);
	write_file(file, "\177ELF", 4, 0755);
	assert_int_equal(program_kind(file, got, sizeof(got)), PROGRAM_FOREIGN);
	write_file(file, "", 0, 0755);
	assert_int_equal(program_kind(file, got, sizeof(got)), PROGRAM_UNKNOWN);
	unlink(script);
	unlink(loop);
	unlink(file);
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missed),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_kinds),
	};

	return cmocka_run_group_tests_name("runs", tests, NULL, NULL);
}
