// SPDX-License-Identifier: MIT
#include "serve/check.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/err.h"
#include "base/mem.h"

int check_init(struct host_check *c, uint16_t port)
{
	uint8_t bytes[TOKEN_CHARS / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_set(-errno, "no random numbers from the kernel: %s", strerror(errno));
	c->port = port;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(c->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* Takes equally long whichever character is wrong, so that timing betrays nothing. */
static bool same_token(const struct host_check *c, const char *token, size_t n)
{
	unsigned char differ = 0;

	if (n != TOKEN_CHARS)
		return false;
	for (size_t i = 0; i < TOKEN_CHARS; i++)
		differ |= (unsigned char)(token[i] ^ c->token[i]);
	return !differ;
}

static bool our_host(const struct host_check *c, const char *host)
{
	static const char *const ours[] = {"127.0.0.1", "[::1]", "localhost"};
	char want[32];

	for (size_t i = 0; i < ARRAY_LEN(ours) && host; i++) {
		snprintf(want, sizeof(want), "%s:%u", ours[i], c->port);
		if (!strcmp(host, want))
			return true;
	}
	return false;
}

/* The page asks under the name that it was opened with. */
static bool our_origin(const struct http_asked *a)
{
	return !a->origin || (!strncmp(a->origin, "http://", 7) && !strcmp(a->origin + 7, a->host));
}

static bool page_path(const struct host_check *c, const char *uri)
{
	size_t n = strlen(uri);

	return n == TOKEN_CHARS + 2 && uri[0] == '/' && uri[n - 1] == '/' &&
	       same_token(c, uri + 1, n - 2);
}

static bool query_path(const char *uri)
{
	size_t n = strspn(uri + strlen(CHECK_QUERY), "abcdefghijklmnopqrstuvwxyz_");
	char end = uri[strlen(CHECK_QUERY) + n];

	return n && (!end || end == '?');
}

enum asked_for check_asked(const struct host_check *c, const struct http_asked *a)
{
	if (a->twice || !our_host(c, a->host) || !our_origin(a))
		return ASKED_NOTHING;
	if (strcmp(a->method, "GET") && strcmp(a->method, "HEAD"))
		return ASKED_NOTHING;
	if (strncmp(a->uri, CHECK_QUERY, strlen(CHECK_QUERY)))
		return page_path(c, a->uri) ? ASKED_PAGE : ASKED_NOTHING;
	if (!a->token || !same_token(c, a->token, strlen(a->token)))
		return ASKED_NOTHING;
	if (a->site && strcmp(a->site, "same-origin"))
		return ASKED_NOTHING;
	return query_path(a->uri) ? ASKED_QUERY : ASKED_NOTHING;
}
