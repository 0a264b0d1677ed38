// SPDX-License-Identifier: MIT
/* The environment of a followed program: what it is given, and that it sees nothing of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "preload/preload.h"

static const struct env_words words = {"/proc/12/fd/7", "/lib/thaw/$PLATFORM/libthaw-preload.so"};

static char **followed(char *const *env)
{
	char **to = malloc((env_count(env) + 4) * sizeof(*to));
	char *text = malloc(env_bytes(env, &words)); /* exactly: ASan watches */

	env_with(env, &words, to, text);
	return to;
}

static void same(char **got, const char *const *want)
{
	size_t i = 0;

	for (; want[i]; i++) {
		assert_non_null(got[i]);
		assert_string_equal(got[i], want[i]);
	}
	assert_null(got[i]);
}

static void free_followed(char **env)
{
	char *text = NULL;

	/* The strings of ours are in one piece, which begins with the first of them. */
	for (size_t i = 0; env[i]; i++)
		if (!strncmp(env[i], SHARED_ENV "=", sizeof(SHARED_ENV)))
			text = env[i];
	free(text);
	free(env);
}

static void test_added(void **state)
{
	const char *const env[] = {"A=1", "B=", NULL};
	const char *const want[] = {"A=1",
				    "B=",
				    SHARED_ENV "=/proc/12/fd/7",
				    "LD_PRELOAD=/lib/thaw/$PLATFORM/libthaw-preload.so",
				    "ASAN_OPTIONS=verify_asan_link_order=0",
				    NULL};
	char **got = followed((char *const *)env);

	(void)state;
	same(got, want);
	free_followed(got);
}

static void test_theirs_come_first(void **state)
{
	const char *const env[] = {"LD_PRELOAD=a.so:b.so", "X=y", "ASAN_OPTIONS=detect_leaks=0",
				   NULL};
	const char *const want[] = {"LD_PRELOAD=a.so:b.so:/lib/thaw/$PLATFORM/libthaw-preload.so",
				    "X=y", "ASAN_OPTIONS=detect_leaks=0:verify_asan_link_order=0",
				    SHARED_ENV "=/proc/12/fd/7", NULL};
	char **got = followed((char *const *)env);

	(void)state;
	same(got, want);
	free_followed(got);
}

/* Whatever a program had before, it has after. */
static void test_stripped(void **state)
{
	static const char *const some[] = {
		"PATH=/bin",	    "LD_PRELOAD=a.so",
		"LD_PRELOAD=",	    "LD_PRELOADX=1",
		"EMPTY=",	    "no equals sign",
		"ASAN_OPTIONS=",    "ASAN_OPTIONS=a=b",
		"THAW_PRELOADED=1", "LD_PRELOAD=/lib/thaw/$PLATFORM/libthaw-preload.so.1",
	};
	enum { N = sizeof(some) / sizeof(*some) };

	(void)state;
	for (unsigned set = 0; set < 1u << N; set++) {
		const char *env[N + 1];
		char **got;
		size_t n = 0;

		for (unsigned i = 0; i < N; i++)
			if (set >> i & 1)
				env[n++] = some[i];
		env[n] = NULL;
		got = followed((char *const *)env);
		assert_string_equal(env_get(got, SHARED_ENV), "/proc/12/fd/7");
		assert_non_null(strstr(env_get(got, "LD_PRELOAD"), "libthaw-preload.so"));
		{
			char *text = env_get(got, SHARED_ENV) - sizeof(SHARED_ENV);

			env_strip(got, &words);
			same(got, env);
			free(text);
		}
		free(got);
	}
}

static void test_empty(void **state)
{
	char *const none[] = {NULL};
	char **got = followed(NULL);

	(void)state;
	assert_int_equal(env_count(NULL), 0);
	assert_int_equal(env_count(none), 0);
	assert_int_equal(env_count(got), 3);
	free_followed(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_added),
		cmocka_unit_test(test_theirs_come_first),
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests_name("env", tests, NULL, NULL);
}
