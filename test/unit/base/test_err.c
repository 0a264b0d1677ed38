// SPDX-License-Identifier: MIT
/* Error messages on their way up, and across threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"

static void test_context_goes_in_front(void **state)
{
	err_clear();
	assert_int_equal(err_set(-EPROTO, "chunk %d: bad checksum", 7), -EPROTO);
	assert_int_equal(err_add(-EPROTO, "reading %s", "x.thaw"), -EPROTO);
	assert_string_equal(err_msg(), "reading x.thaw: chunk 7: bad checksum");
	err_clear();
	assert_string_equal(err_msg(), "unknown error");
	/* Nobody has said anything: the number speaks. */
	assert_int_equal(err_add(-ENOENT, "opening y"), -ENOENT);
	assert_string_equal(err_msg(), "opening y: No such file or directory");
}

static void test_message_within_a_message(void **state)
{
	err_set(-EIO, "the disk is full");
	err_set(-EIO, "writing stopped (%s)", err_msg());
	assert_string_equal(err_msg(), "writing stopped (the disk is full)");
	err_add(-EIO, "[%s]", err_msg());
	assert_string_equal(err_msg(), "[writing stopped (the disk is full)]: "
				       "writing stopped (the disk is full)");
	err_put(err_msg() + 1);
	assert_non_null(strstr(err_msg(), "writing stopped"));
	assert_int_equal(err_msg()[0], 'w');
}

static void test_long_messages_are_cut(void **state)
{
	char path[3000];

	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	err_set(-EIO, "%s", path);
	assert_true(strlen(err_msg()) > 500 && strlen(err_msg()) < 2000);
	for (int i = 0; i < 5; i++)
		err_add(-EIO, "%s", path);
	assert_true(strlen(err_msg()) > 500 && strlen(err_msg()) < 2000);
	/* A path of ordinary length does not push the cause out. */
	path[400] = '\0';
	err_set(-EIO, "the cause");
	err_add(-EIO, "%s", path);
	assert_non_null(strstr(err_msg(), "the cause"));
}

static void *other_thread(void *mine)
{
	err_set(-EIO, "of the other thread");
	snprintf(mine, 64, "%s", err_msg());
	return NULL;
}

static void test_threads_do_not_mix(void **state)
{
	char theirs[64];
	pthread_t t;

	err_set(-EIO, "of this thread");
	assert_int_equal(pthread_create(&t, NULL, other_thread, theirs), 0);
	pthread_join(t, NULL);
	assert_string_equal(err_msg(), "of this thread");
	err_put(theirs);
	assert_string_equal(err_msg(), "of the other thread");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_context_goes_in_front),
		cmocka_unit_test(test_message_within_a_message),
		cmocka_unit_test(test_long_messages_are_cut),
		cmocka_unit_test(test_threads_do_not_mix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
