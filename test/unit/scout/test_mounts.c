// SPDX-License-Identifier: MIT
/* Which file system a path is on, by lines as /proc/PID/mountinfo has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "scout/mounts.h"

static void fill(struct mounts *m)
{
	static const char *const lines[] = {
		"21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n",
		"36 21 0:52 / /mnt/nfs rw,nosuid shared:7 master:2 - nfs4 server:/export rw,hard\n",
		"37 21 0:53 / /mnt/a\\040b\\134c rw - fuse.sshfs user@host:/x\\040y rw\n",
		"38 36 0:54 / /mnt/nfs/deep rw - tmpfs tmpfs rw\n",
		"39 21 8:17 / /mnt/nfs rw - xfs /dev/sdb1 rw\n",
		"40 21 7:0 /sub /mnt/stick rw - fuseblk /dev/loop0 rw\n",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_true(mounts_add_line(m, lines[i]));
}

static const char *type_of(const struct mounts *m, const struct mounted *at)
{
	return at ? mounts_text(m, at->type) : "none";
}

static void test_over(void **state)
{
	struct mounts m = {0};

	fill(&m);
	assert_string_equal(type_of(&m, mounts_over(&m, "/etc/passwd")), "ext4");
	assert_string_equal(type_of(&m, mounts_over(&m, "")), "ext4");
	/* Mounted over: the later one hides the other, but not what is deeper. */
	assert_string_equal(type_of(&m, mounts_over(&m, "/mnt/nfs/x")), "xfs");
	assert_string_equal(type_of(&m, mounts_over(&m, "/mnt/nfs/deep/x")), "tmpfs");
	/* A name that only begins like one. */
	assert_string_equal(type_of(&m, mounts_over(&m, "/mnt/nfs2")), "ext4");
	assert_string_equal(type_of(&m, mounts_over(&m, "/mnt/a b\\c/file")), "fuse.sshfs");
	assert_string_equal(type_of(&m, mounts_at(&m, "/mnt/nfs")), "xfs");
	assert_null(mounts_at(&m, "/mnt"));
	mounts_done(&m);
}

static void test_by_id(void **state)
{
	struct mounts m = {0};

	fill(&m);
	assert_string_equal(type_of(&m, mounts_by_id(&m, 36)), "nfs4");
	assert_string_equal(mounts_text(&m, mounts_by_id(&m, 36)->source), "server:/export");
	assert_string_equal(mounts_text(&m, mounts_by_id(&m, 37)->source), "user@host:/x y");
	assert_null(mounts_by_id(&m, 99));
	assert_false(mounts_is_local(&m, mounts_by_id(&m, 36)));
	assert_false(mounts_is_local(&m, mounts_by_id(&m, 37)));
	assert_false(mounts_is_local(&m, mounts_by_id(&m, 40)));
	assert_true(mounts_is_local(&m, mounts_by_id(&m, 21)));
	assert_true(mounts_is_local(&m, mounts_by_id(&m, 38)));
	mounts_done(&m);
}

static void test_damaged(void **state)
{
	static const char *const lines[] = {"",
					    "\n",
					    "21",
					    "21 1 8:1",
					    "x 1 8:1 / / rw - ext4 a rw",
					    "21 1 8:1 / / rw",
					    "21 1 8:1 / / rw -"};
	struct mounts m = {0};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_false(mounts_add_line(&m, lines[i]));
	assert_null(mounts_over(&m, "/"));
	/* An escape that is cut off is itself. */
	assert_true(mounts_add_line(&m, "21 1 8:1 / /a\\04 rw - ext4 \\9 rw"));
	assert_string_equal(mounts_text(&m, m.list.v[0].point), "/a\\04");
	assert_string_equal(mounts_text(&m, m.list.v[0].source), "\\9");
	mounts_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_over),
		cmocka_unit_test(test_by_id),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
