// SPDX-License-Identifier: MIT
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[1024];

int err_set(int rc, const char *fmt, ...)
{
	char text[sizeof(message)];
	va_list ap;

	/* Not in place: the arguments may contain the message so far. */
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	memcpy(message, text, strlen(text) + 1);
	return rc;
}

int err_add(int rc, const char *fmt, ...)
{
	char head[512], tail[sizeof(message)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(head, sizeof(head), fmt, ap);
	va_end(ap);
	memcpy(tail, message, sizeof(tail));
	if (!tail[0])
		snprintf(tail, sizeof(tail), "%s", strerror(-rc));
	snprintf(message, sizeof(message), "%s: %.*s", head,
		 (int)(sizeof(message) - sizeof(head) - 3), tail);
	return rc;
}

const char *err_msg(void)
{
	return message[0] ? message : "unknown error";
}

void err_clear(void)
{
	message[0] = '\0';
}

void err_put(const char *msg)
{
	size_t n = strnlen(msg, sizeof(message) - 1);

	memmove(message, msg, n);
	message[n] = '\0';
}
