// SPDX-License-Identifier: MIT
/* Who gets the page, who may ask, and who gets nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "serve/check.h"

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef"
#define HOST "127.0.0.1:4567"
#define PAGE "/" TOKEN "/"

static const struct host_check check = {.port = 4567, .token = TOKEN};

static const struct http_asked page = {.method = "GET", .uri = PAGE, .host = HOST};
static const struct http_asked query = {
	.method = "GET", .uri = "/q/lanes?from=1&to=2", .host = HOST, .token = TOKEN};

#define EXPECT(want, like, ...)                                                                    \
	do {                                                                                       \
		struct http_asked a = like;                                                        \
		__VA_ARGS__;                                                                       \
		assert_int_equal(check_asked(&check, &a), want);                                   \
	} while (0)

static void test_ours(void **state)
{
	EXPECT(ASKED_PAGE, page);
	EXPECT(ASKED_PAGE, page, a.method = "HEAD");
	EXPECT(ASKED_PAGE, page, a.host = "localhost:4567");
	EXPECT(ASKED_PAGE, page, a.host = "[::1]:4567");
	EXPECT(ASKED_QUERY, query, a.host = "[::1]:4567"; a.origin = "http://[::1]:4567");
	EXPECT(ASKED_NOTHING, query, a.host = "[::1]:4567"; a.origin = "http://127.0.0.1:4567");
	EXPECT(ASKED_PAGE, page, a.origin = "http://127.0.0.1:4567");
	/* A browser that comes from the file that sends it here. */
	EXPECT(ASKED_PAGE, page, a.site = "cross-site");
	EXPECT(ASKED_QUERY, query);
	EXPECT(ASKED_QUERY, query, a.uri = "/q/open");
	EXPECT(ASKED_QUERY, query, a.site = "same-origin");
	EXPECT(ASKED_QUERY, query, a.host = "localhost:4567"; a.origin = "http://localhost:4567");
}

static void test_hosts(void **state)
{
	static const char *const foreign[] = {
		"",
		"evil.example",
		"evil.example:4567",
		"127.0.0.1",
		"127.0.0.1:4568",
		"127.0.0.1:45670",
		"127.0.0.1:4567.evil.example",
		"localhost",
		"localhost:80",
		"localhost.evil.example:4567",
		"0.0.0.0:4567",
		"[::1]",
		"[::1]:4568",
		"[::]:4567",
		"::1:4567",
		"[::2]:4567",
		"[0:0:0:0:0:0:0:1]:4567",
		"[::1]:4567.evil.example",
		"127.1:4567",
		"2130706433:4567",
		"127.0.0.1:4567 ",
		" 127.0.0.1:4567",
		"127.0.0.1:04567",
		"user@127.0.0.1:4567",
	};

	EXPECT(ASKED_NOTHING, page, a.host = NULL);
	EXPECT(ASKED_NOTHING, query, a.host = NULL);
	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		EXPECT(ASKED_NOTHING, page, a.host = foreign[i]);
		EXPECT(ASKED_NOTHING, query, a.host = foreign[i]);
	}
	EXPECT(ASKED_NOTHING, page, a.twice = true);
	EXPECT(ASKED_NOTHING, query, a.twice = true);
}

static void test_origins(void **state)
{
	static const char *const foreign[] = {
		"",
		"null",
		"http://evil.example",
		"https://127.0.0.1:4567",
		"http://127.0.0.1",
		"http://127.0.0.1:4568",
		"http://localhost:4567", /* not the name that it was asked by */
		"http://127.0.0.1:4567.evil.example",
		"http://127.0.0.1:4567/",
		"file://",
	};

	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		EXPECT(ASKED_NOTHING, page, a.origin = foreign[i]);
		EXPECT(ASKED_NOTHING, query, a.origin = foreign[i]);
	}
	EXPECT(ASKED_NOTHING, query, a.site = "cross-site");
	EXPECT(ASKED_NOTHING, query, a.site = "same-site");
	EXPECT(ASKED_NOTHING, query, a.site = "none");
}

static void test_tokens(void **state)
{
	char wrong[TOKEN_CHARS + 1], uri[TOKEN_CHARS + 3];

	for (size_t i = 0; i < TOKEN_CHARS; i++) {
		strcpy(wrong, TOKEN);
		wrong[i] ^= 1;
		snprintf(uri, sizeof(uri), "/%s/", wrong);
		EXPECT(ASKED_NOTHING, query, a.token = wrong);
		EXPECT(ASKED_NOTHING, page, a.uri = uri);
		strcpy(wrong, TOKEN);
		wrong[i] = '\0';
		EXPECT(ASKED_NOTHING, query, a.token = wrong);
	}
	EXPECT(ASKED_NOTHING, query, a.token = NULL);
	EXPECT(ASKED_NOTHING, query, a.token = TOKEN "0");
	/* The page's token is in its path alone, a question's in its header alone. */
	EXPECT(ASKED_NOTHING, page, a.uri = "/"; a.token = TOKEN);
	EXPECT(ASKED_NOTHING, query, a.uri = "/q/open?token=" TOKEN; a.token = NULL);
}

static void test_paths(void **state)
{
	static const char *const paths[] = {
		"",
		"/",
		"/" TOKEN,
		PAGE "x",
		PAGE "?x",
		PAGE "../",
		"/" PAGE,
		"/favicon.ico",
		"/q",
		"/q/",
		"/q/?x",
		"/q/../etc/passwd",
		"/q/..%2f..%2fetc/passwd",
		"/q/open/",
		"/q/OPEN",
		"/q/op%65n",
		"/q//open",
		"//q/open",
		"/./q/open",
		"/etc/passwd",
		"*",
		"http://127.0.0.1:4567/q/open",
		"http://127.0.0.1:4567" PAGE,
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		EXPECT(ASKED_NOTHING, query, a.uri = paths[i]);
}

static void test_methods(void **state)
{
	static const char *const methods[] = {"",	 "POST",  "PUT",     "DELETE",
					      "OPTIONS", "TRACE", "PATCH",   "CONNECT",
					      "get",	 "GETS",  "PROPFIND"};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		EXPECT(ASKED_NOTHING, page, a.method = methods[i]);
		EXPECT(ASKED_NOTHING, query, a.method = methods[i]);
	}
}

static void test_random(void **state)
{
	struct host_check a, b;

	assert_int_equal(check_init(&a, 1), 0);
	assert_int_equal(check_init(&b, 1), 0);
	assert_int_equal(strspn(a.token, "0123456789abcdef"), TOKEN_CHARS);
	assert_int_equal(strlen(a.token), TOKEN_CHARS);
	assert_string_not_equal(a.token, b.token);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ours),	cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_origins), cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_paths),	cmocka_unit_test(test_methods),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
