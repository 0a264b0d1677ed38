// SPDX-License-Identifier: MIT
/* The server and its two threads: many clients at once, some of which go away, and its end. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "query/query.h"
#include "serve/serve.h"
#include "store/writer.h"

enum { CLIENTS = 6, REQUESTS = 60, THREADS = 8, SWITCHES = 200000 };

static char path[] = "/tmp/thaw-test-XXXXXX";

/* Large enough that it is still being loaded when the first questions come. */
static int make_capture(void **state)
{
	struct writer_opts opts = {.no_sync = true};
	struct writer *w = NULL;
	struct event ev;
	int fd = mkstemp(path);

	close(fd);
	if (writer_open(path, &opts, &w))
		return -1;
	for (uint32_t i = 1; i <= THREADS; i++) {
		memset(&ev, 0, sizeof(ev));
		ev.kind = EV_THREAD;
		ev.ts = 1000;
		ev.thread.tid = i;
		ev.thread.pid = 1;
		ev.thread.name = "thread";
		writer_event(w, &ev);
	}
	for (uint32_t i = 0; i < SWITCHES; i++) {
		memset(&ev, 0, sizeof(ev));
		ev.kind = EV_SWITCH;
		ev.ts = 2000 + 1000ull * i;
		ev.switch_.prev = 1 + i % THREADS;
		ev.switch_.next = 1 + (i + 1) % THREADS;
		ev.switch_.state = 1;
		writer_event(w, &ev);
	}
	return writer_close(w, END_DONE);
}

static int remove_capture(void **state)
{
	return unlink(path);
}

static struct serve *start(void)
{
	struct query *q = NULL;
	struct serve *s = NULL;

	if (query_open(path, &q) || serve_start(q, "a capture", 0, &s))
		fail_msg("%s", err_msg());
	return s;
}

struct where {
	unsigned port;
	char token[64];
	bool ipv6;
};

static struct where where_is(const struct serve *s)
{
	struct where w = {0};

	assert_int_equal(
		sscanf(serve_address(s), "http://127.0.0.1:%u/%48[0-9a-f]/", &w.port, w.token), 2);
	return w;
}

static int connect_to_ipv6(const struct where *w)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6,
				  .sin6_port = htons((uint16_t)w->port),
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&at, sizeof(at))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Can anybody listen there? */
static bool has_ipv6(void)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	bool has = fd >= 0 && !bind(fd, (struct sockaddr *)&at, sizeof(at));

	if (fd >= 0)
		close(fd);
	return has;
}

static int connect_to(const struct where *w)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)w->port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&at, sizeof(at))) {
		close(fd);
		return -1;
	}
	return fd;
}

static void send_request(int fd, const struct where *w)
{
	char text[256];
	int n = snprintf(text, sizeof(text),
			 "GET /q/open HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX-Thaw-Token: %s\r\n"
			 "Connection: close\r\n\r\n",
			 w->port, w->token);

	if (send(fd, text, (size_t)n, MSG_NOSIGNAL) < 0)
		return;
}

/* Asks, and reads every other answer; the others are left to themselves. Counts the good ones. */
static void *client(void *arg)
{
	const struct where *w = arg;
	uintptr_t good = 0;

	for (unsigned i = 0; i < REQUESTS; i++) {
		char answer[64] = "";
		int fd = w->ipv6 ? connect_to_ipv6(w) : connect_to(w);

		if (fd < 0)
			continue;
		send_request(fd, w);
		if (i % 2 && recv(fd, answer, sizeof(answer) - 1, MSG_WAITALL) > 0)
			good += !strncmp(answer, "HTTP/1.1 200", 12);
		close(fd);
	}
	return (void *)good;
}

/* Half of them by IPv6, where there is. */
static void test_many_clients(void **state)
{
	struct serve *s = start();
	struct where w[2] = {where_is(s), where_is(s)};
	pthread_t threads[CLIENTS];
	uintptr_t good = 0;

	w[1].ipv6 = has_ipv6();
	for (unsigned i = 0; i < CLIENTS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, client, &w[i % 2]), 0);
	for (unsigned i = 0; i < CLIENTS; i++) {
		void *ret;

		pthread_join(threads[i], &ret);
		good += (uintptr_t)ret;
	}
	assert_int_equal(good, CLIENTS * REQUESTS / 2);
	while (!serve_stop(s))
		;
}

static void test_loaded(void **state)
{
	struct serve *s = start();
	struct pollfd p = {serve_fd(s), POLLIN, 0};

	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_int_equal(serve_loaded(s), 0);
	while (!serve_stop(s))
		;
}

/* It can end at any time: while it loads, and while questions wait. */
static void test_end(void **state)
{
	for (unsigned i = 0; i < 8; i++) {
		struct serve *s = start();
		struct where w = where_is(s);
		int fds[4];

		for (unsigned k = 0; k < 4; k++) {
			fds[k] = connect_to(&w);
			assert_true(fds[k] >= 0);
			send_request(fds[k], &w);
		}
		usleep(1000 * i);
		while (!serve_stop(s))
			;
		for (unsigned k = 0; k < 4; k++)
			close(fds[k]);
	}
}

static void test_port_in_use(void **state)
{
	struct serve *s = start(), *other = NULL;
	struct where w = where_is(s);
	struct query *q = NULL;

	assert_int_equal(query_open(path, &q), 0);
	assert_int_equal(serve_start(q, "a capture", (uint16_t)w.port, &other), -EADDRINUSE);
	assert_null(other);
	while (!serve_stop(s))
		;
}

/* Nothing but loopback: no other address of this machine, of either family. */
static void test_loopback_alone(void **state)
{
	struct serve *s = start();
	struct where w = where_is(s);
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons((uint16_t)w.port)};
	struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)w.port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	/* 127.0.0.2 is this machine, too, and free for whoever wants it. */
	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	assert_int_equal(connect(fd, (struct sockaddr *)&any, sizeof(any)), -1);
	assert_int_equal(errno, ECONNREFUSED);
	close(fd);
	if (has_ipv6()) {
		/* ::ffff:127.0.0.2, which a socket for all of IPv6 would answer */
		fd = socket(AF_INET6, SOCK_STREAM, 0);
		assert_int_equal(inet_pton(AF_INET6, "::ffff:127.0.0.2", &any6.sin6_addr), 1);
		assert_int_equal(connect(fd, (struct sockaddr *)&any6, sizeof(any6)), -1);
		close(fd);
	}
	while (!serve_stop(s))
		;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_clients),
		cmocka_unit_test(test_loaded),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_port_in_use),
		cmocka_unit_test(test_loopback_alone),
	};

	return cmocka_run_group_tests(tests, make_capture, remove_capture);
}
